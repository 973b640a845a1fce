package demo

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"renga.dev/renga/client"
)

// namespace is the namespace of the ids of demo data.
var namespace = uuid.MustParse("6f0c8a52-2f5e-5c52-9a7c-72656e676101")

// id is the id of something that is defined: it follows from the seed and a name.
func (d *company) id(kind, name string) string {
	return uuid.NewSHA1(namespace, []byte(strconv.FormatInt(d.seed, 10)+" "+kind+" "+name)).String()
}

// definition is something to define.
type definition struct {
	kind client.DefinitionKind
	id   string
	body map[string]any
}

// employee is somebody who works for the demo company.
type employee struct{ id, name, role string }

// territory is a territory with its users.
type territory struct {
	client.Territory
	users []string
}

const (
	repsPerRegion = 6
	dayLayout     = "2006-01-02"
)

// marker is the definition that marks demo data: where it stands, some was loaded.
func (d *company) marker() definition {
	return definition{client.DefinePermissionSet, d.id("permission set", "marker"), map[string]any{
		"name": "Demo data", "description": fmt.Sprintf(markerForm, d.seed, d.size, d.day.Format(dayLayout)),
	}}
}

// markerForm is what the marker says; readMarker reads it.
const markerForm = "Demo data of seed %d with %d records, dated %s. Loading it again needs this definition."

// readMarker is what a marker says.
func readMarker(text string) (size int, day time.Time, ok bool) {
	var seed int64
	var date string
	if n, err := fmt.Sscanf(text, "Demo data of seed %d with %d records, dated %s", &seed, &size, &date); err != nil ||
		n != 3 {
		return 0, time.Time{}, false
	}
	day, err := time.Parse(dayLayout+".", date)
	return size, day, err == nil
}

// organize defines who works for the company and what they may.
func (d *company) organize() {
	d.define(client.DefineField, "Account.Tier__c", map[string]any{
		"label": "Tier", "type": "picklist", "values": []string{"Bronze", "Silver", "Gold", "Platinum"},
	})
	d.define(client.DefineField, "Account.CreditLimit__c", map[string]any{
		"label": "Credit Limit", "type": "currency",
		"sensitive": true,
	})
	d.define(client.DefineField, "Opportunity.Review__c", map[string]any{
		"label": "Deal Review", "type": "picklist",
		"values": []string{"Requested", "Done"},
	})
	d.permit()
	d.hire()
	d.group()
	d.define(client.DefineOWD, "Campaign", map[string]any{"access": "ReadOnly"})
	d.share()
	d.divide()
	d.automate()
}

func (d *company) define(kind client.DefinitionKind, id string, body map[string]any) {
	d.definitions = append(d.definitions, definition{kind, id, body})
}

// permit defines the permission sets.
func (d *company) permit() {
	all := map[string]any{"create": true, "read": true, "update": true, "delete": true}
	read := map[string]any{"read": true}
	for _, s := range []struct {
		name string
		body map[string]any
	}{
		{"Sales", map[string]any{"objects": map[string]any{
			"Account": all, "Contact": all, "Lead": all,
			"Opportunity": all, "Quote": all, "Campaign": read,
		}}},
		{"Marketing", map[string]any{"objects": map[string]any{
			"Account": read, "Contact": read, "Lead": all,
			"Campaign": all,
		}}},
		{"Finance", map[string]any{
			"objects": map[string]any{
				"Account": map[string]any{"read": true, "update": true}, "Contact": read,
				"Opportunity": read, "Quote": read,
			},
			"fields": map[string]any{"Account.CreditLimit__c": map[string]any{"read": true, "edit": true}},
		}},
		{"Service", map[string]any{"objects": map[string]any{"Account": read, "Contact": map[string]any{
			"read":   true,
			"update": true,
		}}}},
		{"Management", map[string]any{"viewAll": true, "fields": map[string]any{
			"Account.CreditLimit__c": map[string]any{"read": true},
		}}},
	} {
		s.body["name"] = s.name
		d.define(client.DefinePermissionSet, d.id("permission set", s.name), s.body)
	}
}

// roles are the roles above and beside those of the regions: name, the one above, the
// permission set and how many users they have.
var roles = []struct {
	name, above, set string
	users            int
}{
	{"代表取締役社長", "", "Management", 1},
	{"営業本部長", "代表取締役社長", "Sales", 1},
	{"国内営業部長", "営業本部長", "Sales", 1},
	{"Sales Director EMEA", "営業本部長", "Sales", 1},
	{"Sales Director Americas", "営業本部長", "Sales", 1},
	{"マーケティング部長", "代表取締役社長", "Marketing", 1},
	{"Marketing Specialist", "マーケティング部長", "Marketing", 3},
	{"CFO", "代表取締役社長", "Management", 1},
	{"経理担当", "CFO", "Finance", 3},
	{"Head of Service", "代表取締役社長", "Service", 1},
	{"Service Agent", "Head of Service", "Service", 4},
}

// directors are the roles above the managers of the regions, by the territory above them.
var directors = map[string]string{"jp": "国内営業部長", "emea": "Sales Director EMEA", "americas": "Sales Director Americas"}

// hire defines the roles and the users.
func (d *company) hire() {
	rng := d.dice("users")
	for _, r := range roles {
		d.role(r.name, r.above)
	}
	for _, r := range regions {
		d.role(r.manager, directors[r.parent])
		d.role(r.rep, r.manager)
	}
	for _, r := range roles {
		japanese := r.name[0] >= utf8.RuneSelf // as the name of the role is
		for range r.users {
			d.user(rng, r.name, r.set, japanese)
		}
	}
	for _, r := range regions {
		d.user(rng, r.manager, "Sales", r.japanese)
		for range repsPerRegion {
			d.reps[r.code] = append(d.reps[r.code], d.user(rng, r.rep, "Sales", r.japanese))
		}
	}
}

func (d *company) role(name, above string) {
	body := map[string]any{"name": name}
	if above != "" {
		body["parentRoleId"] = d.id("role", above)
		d.above[name] = above
	}
	d.define(client.DefineRole, d.id("role", name), body)
}

// user hires somebody.
func (d *company) user(rng *dice, role, set string, japanese bool) string {
	n := len(d.users) + 1
	p := rng.person(japanese)
	u := employee{d.id("user", strconv.Itoa(n)), p.full(japanese), role}
	d.users = append(d.users, u)
	address := fmt.Sprintf("%s.%s.%d-%d@renga.example", p.given.latin, p.family.latin, d.seed, n)
	body := map[string]any{
		"name": u.name, "email": address, "subject": address, "roleId": d.id("role", role),
		"permissionSetIds": []string{d.id("permission set", set)},
	}
	if bosses := d.ofRole(d.above[role]); len(bosses) > 0 {
		body["managerId"] = bosses[0] // hired before
	}
	d.define(client.DefineUser, u.id, body)
	return u.id
}

// ofRole are the users of a role.
func (d *company) ofRole(role string) (ids []string) {
	for _, u := range d.users {
		if u.role == role {
			ids = append(ids, u.id)
		}
	}
	return ids
}

// group defines the groups, and the queues that own the leads that nobody has taken.
func (d *company) group() {
	var key []any
	for _, r := range regions {
		key = append(key, member("User", d.reps[r.code][0]))
	}
	d.define(client.DefineGroup, d.id("group", "key accounts"), map[string]any{
		"name": "重要顧客チーム", "type": "public",
		"members": key,
	})
	d.define(client.DefineGroup, d.id("group", "deal desk"), map[string]any{
		"name": "Deal Desk", "type": "public", "members": []any{
			member("Role", d.id("role", "経理担当")),
			member("Role", d.id("role", "CFO")),
		},
	})
	for _, of := range []struct{ parent, name string }{
		{"jp", "新規リード（国内）"},
		{"emea", "Inbound Leads EMEA"},
		{"americas", "Inbound Leads Americas"},
	} {
		var members []any
		for _, r := range regions {
			if r.parent == of.parent {
				members = append(members, member("Role", d.id("role", r.rep)))
			}
		}
		d.define(client.DefineGroup, d.id("queue", of.parent), map[string]any{
			"name": of.name, "type": "queue",
			"members": members,
		})
	}
}

func member(kind, id string) map[string]any { return map[string]any{"type": kind, "id": id} }

// share defines the sharing rules.
func (d *company) share() {
	for _, r := range []struct {
		name string
		body map[string]any
	}{
		{"Platinum accounts for the key account team", map[string]any{
			"object": "Account", "kind": "criteria", "criteria": `record.Tier__c == "Platinum"`,
			"target": member("Group", d.id("group", "key accounts")), "access": "Edit",
		}},
		{"Large open deals for the deal desk", map[string]any{
			"object": "Opportunity", "kind": "criteria", "criteria": `record.Amount >= 10000000 && !record.IsClosed`,
			"target": member("Group", d.id("group", "deal desk")), "access": "Read",
		}},
		{"Discounts for the deal desk", map[string]any{
			"object": "Quote", "kind": "criteria", "criteria": `record.DiscountPercent > 20`, "target": member("Group",
				d.id("group", "deal desk")), "access": "Read",
		}},
		{"国内の取引先をサービスへ", map[string]any{
			"object": "Account", "kind": "owner", "source": member("RoleAndSubordinates", d.id("role", "国内営業部長")),
			"target": member("Role", d.id("role", "Service Agent")), "access": "Read",
		}},
		{"Leads of all sales for marketing", map[string]any{
			"object": "Lead", "kind": "owner", "source": member("RoleAndSubordinates", d.id("role", "営業本部長")),
			"target": member("RoleAndSubordinates", d.id("role", "マーケティング部長")), "access": "Edit",
		}},
	} {
		r.body["name"] = r.name
		d.define(client.DefineSharingRule, d.id("sharing rule", r.name), r.body)
	}
}

// divide makes the territories; each region is one, below one of its part of the world.
func (d *company) divide() {
	add := func(code, name, parent, access string, users ...string) {
		t := client.Territory{ID: d.id("territory", code), Name: name, Access: access}
		if parent != "" {
			t.ParentID = d.id("territory", parent)
		}
		d.territories = append(d.territories, territory{t, users})
	}
	add("world", "世界", "", "Read", d.ofRole("営業本部長")...)
	add("jp", "日本", "world", "Read", d.ofRole("国内営業部長")...)
	add("emea", "EMEA", "world", "Read", d.ofRole("Sales Director EMEA")...)
	add("americas", "Americas", "world", "Read", d.ofRole("Sales Director Americas")...)
	for _, r := range regions {
		add(r.code, r.name, r.parent, "Edit", append(d.ofRole(r.manager), d.reps[r.code]...)...)
	}
}
