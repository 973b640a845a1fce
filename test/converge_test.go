package test

import (
	"fmt"
	"net/http"
	"testing"

	"renga.dev/renga/test/tier"
)

// TestEverythingConvergesAfterKills does anything to records, owners, roles, groups, teams,
// territories, rules, approvals, leads and campaigns, to executions that wait for people and messages, and to a
// schedule, while services get events again, the carrier loses all that it has, and the process is killed in the middle
// of everything that follows. When it is quiet, a recount of every service finds nothing, and waits, messages and
// instants are those of the executions.
func TestEverythingConvergesAfterKills(t *testing.T) {
	tier.System(t)
	kills, operations := 3, 50
	if long() {
		kills, operations = 25, 300
	}
	o := &turmoil{company: newCompany(t, 11), ids: map[string][]string{}, done: map[string]int{}}
	o.begin()
	for n := range kills {
		for range operations {
			o.step()
		}
		o.replay(services[o.rand.IntN(len(services))])
		for range operations / 5 { // what is under way when the process dies
			o.step()
		}
		if n == kills/2 {
			o.forget()
		} else {
			o.killed()
		}
	}
	o.workflowsConverge()
	o.settle()
	accepted := 0
	for _, n := range o.done {
		accepted += n
	}
	t.Logf("%d of %d operations were accepted: %v", accepted, o.steps, o.done)
	if accepted < o.steps/2 || len(o.done) < len(o.operations())*2/3 {
		t.Errorf("too weak: %d of %d operations were accepted, of %d kinds", accepted, o.steps, len(o.done))
	}
	o.consistent()
}

// turmoil is a company in which anything happens.
type turmoil struct {
	*company
	ids       map[string][]string // of records that were created, by object
	approvals []string
	done      map[string]int // operations that were accepted, by kind
	steps     int
}

// Definitions of the turmoil.
const (
	turmoilQueue     = 60
	turmoilTerritory = 70 // and the one behind it
)

// begin defines what the operations are about.
func (o *turmoil) begin() {
	o.put("/metadata/roles/"+officeID(4), map[string]any{"name": "Other"})
	o.put("/metadata/groups/"+officeID(turmoilQueue), map[string]any{
		"name": "Desk", "type": "queue",
		"members": []any{},
	})
	o.put("/sharing/territories/"+officeID(turmoilTerritory), map[string]any{"name": "Japan", "access": "Read"})
	o.put("/sharing/territories/"+officeID(turmoilTerritory+1), map[string]any{
		"name": "West", "access": "Edit",
		"parentTerritoryId": officeID(turmoilTerritory),
	})
	o.put("/graphs/greet", map[string]any{
		"nodes": []map[string]string{{"nodeId": "start", "type": "Start"}, {"nodeId": "done", "type": "Success"}},
		"edges": []map[string]string{{"from": "start", "to": "done"}},
	})
	o.workflows()
	o.put("/metadata/approval-processes/"+officeID(80), map[string]any{
		"name": "Deals", "object": "Opportunity", "lockedFields": []string{"Amount"},
		"steps": []any{
			map[string]any{"name": "Boss", "approvers": []any{map[string]string{"type": "Role", "id": officeID(1)}}},
			map[string]any{"name": "Both", "decide": "all", "approvers": []any{map[string]string{
				"type": "User",
				"id":   officeID(20),
			}, map[string]string{"type": "User", "id": officeID(22)}}},
		},
	})
	for _, object := range []string{"Account", "Account", "Campaign", "Lead", "Lead", "Opportunity"} {
		o.make(object)
	}
	o.done, o.steps = map[string]int{}, 0
}

// operation is something that happens, as often as its weight says.
type operation struct {
	kind   string
	weight int
	do     func() bool
}

// operations are all that may happen.
func (o *turmoil) operations() []operation {
	return []operation{
		{"create", 5, func() bool {
			return o.make(o.one("Account", "Contact", "Lead", "Lead", "Opportunity", "Opportunity", "Quote",
				"Campaign"))
		}},
		{"update", 4, o.edit},
		{"owner", 3, o.give},
		{"delete", 1, o.remove},
		{"convert", 2, o.convert},
		{"team", 2, o.mate},
		{"member", 2, o.member},
		{"role", 1, o.role},
		{"user", 1, o.user},
		{"queue", 1, o.queue},
		{"territory", 2, o.territory},
		{"default", 1, o.owd},
		{"rule", 1, o.sharingRule},
		{"workflow", 1, o.workflow},
		{"validation", 1, o.validation},
		{"submit", 2, o.submit},
		{"decide", 2, o.decide},
		{"recall", 1, o.recall},
		{"field", 1, o.field},
		{"claim", 4, o.claim},
		{"message", 3, o.message},
		{"resume", 1, o.resumeClaim},
		{"cancel", 1, o.cancelClaim},
		{"backfill", 1, o.backfill},
		{"schedule", 1, o.pauseSchedule},
	}
}

// step lets one thing happen.
func (o *turmoil) step() {
	o.steps++
	all, sum := o.operations(), 0
	for _, op := range all {
		sum += op.weight
	}
	n := o.rand.IntN(sum)
	for _, op := range all {
		if n -= op.weight; n < 0 {
			if op.do() {
				o.done[op.kind]++
			}
			return
		}
	}
}

func (o *turmoil) one(of ...string) string { return of[o.rand.IntN(len(of))] }

func (o *turmoil) flip() bool { return o.rand.IntN(2) == 0 }

// some is a record of an object, which may be gone.
func (o *turmoil) some(object string) string {
	if len(o.ids[object]) == 0 {
		return officeID(999)
	}
	return o.ids[object][o.rand.IntN(len(o.ids[object]))]
}

func (o *turmoil) somebody() string { return officeID(20 + o.rand.IntN(3)) }

// holder is somebody who may own records.
func (o *turmoil) holder() string {
	if o.rand.IntN(5) == 0 {
		return officeID(turmoilQueue)
	}
	return o.somebody()
}

// try sends a request that may be refused, and says whether it was done.
func (o *turmoil) try(method, path string, body, answer any, header ...string) bool {
	o.t.Helper()
	status, text := o.ask(method, path, body, answer, header...)
	if status >= 500 {
		o.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	return status < 300
}

func (o *turmoil) tryPut(path string, body any) bool {
	o.t.Helper()
	return o.try(http.MethodPut, path, body, nil)
}

// fieldsOf are fields of an object.
func (o *turmoil) fieldsOf(object string) map[string]any {
	word := o.one("red", "blue", "東京", "Acme")
	switch object {
	case "Lead":
		return map[string]any{"LastName": word, "Company": word, "Status": o.one("Open - Not Contacted",
			"Working - Contacted"), "LeadSource": o.one("Web", "Other")}
	case "Contact":
		return map[string]any{"LastName": word, "AccountId": o.some("Account")}
	case "Opportunity":
		return map[string]any{
			"Name": word, "StageName": o.one("Prospecting", "Negotiation", "Closed Won", "Closed Lost"),
			"CloseDate": o.one("2026-01-31", "2026-02-28"),
			"Amount":    o.rand.IntN(1000), "AccountId": o.some("Account"), "CampaignId": o.some("Campaign"),
		}
	case "Quote":
		return map[string]any{
			"Name": word, "OpportunityId": o.some("Opportunity"), "Subtotal": o.rand.IntN(1000),
			"DiscountPercent": o.rand.IntN(50),
		}
	case "Campaign":
		return map[string]any{"Name": word, "ActualCost": o.rand.IntN(100) - 10}
	}
	return map[string]any{"Name": word, "Phone": word}
}

func (o *turmoil) make(object string) bool {
	var r struct{ ID string }
	if !o.try(http.MethodPost, "/records/"+object, map[string]any{"ownerId": o.holder(), "fields": o.fieldsOf(object)},
		&r) {
		return false
	}
	o.ids[object] = append(o.ids[object], r.ID)
	return true
}

// object is one of which there are records.
func (o *turmoil) object() string {
	return o.one("Account", "Lead", "Opportunity", "Opportunity", "Campaign", "Contact", "Quote")
}

func (o *turmoil) edit() bool {
	object := o.object()
	fields := o.fieldsOf(object)
	for name := range fields { // some of them
		if o.flip() && len(fields) > 1 {
			delete(fields, name)
		}
	}
	return o.try(http.MethodPatch, "/records/"+object+"/"+o.some(object), map[string]any{"fields": fields}, nil,
		"If-Match", "*")
}

func (o *turmoil) give() bool {
	object := o.object()
	return o.try(http.MethodPatch, "/records/"+object+"/"+o.some(object), map[string]any{"ownerId": o.holder()}, nil,
		"If-Match", "*")
}

func (o *turmoil) remove() bool {
	object := o.object()
	return o.try(http.MethodDelete, "/records/"+object+"/"+o.some(object), nil, nil, "If-Match", "*")
}

func (o *turmoil) convert() bool {
	var made struct{ AccountID, ContactID, OpportunityID string }
	body := map[string]any{"match": o.flip()}
	if o.flip() {
		body["opportunity"] = map[string]any{
			"Name": "Deal", "StageName": "Prospecting", "CloseDate": "2026-03-31",
			"Amount": 7,
		}
	}
	if !o.try(http.MethodPost, "/records/Lead/"+o.some("Lead")+"/convert", body, &made) {
		return false
	}
	o.ids["Account"], o.ids["Contact"] = append(o.ids["Account"], made.AccountID), append(o.ids["Contact"],
		made.ContactID)
	if made.OpportunityID != "" {
		o.ids["Opportunity"] = append(o.ids["Opportunity"], made.OpportunityID)
	}
	return true
}

func (o *turmoil) mate() bool {
	object := o.one("Account", "Opportunity")
	path := "/records/" + object + "/" + o.some(object) + "/team/" + o.somebody()
	if o.rand.IntN(3) == 0 {
		return o.try(http.MethodDelete, path, nil, nil)
	}
	return o.tryPut(path, map[string]string{"teamRole": "Sales Rep", "accessLevel": o.one("Read", "Edit")})
}

func (o *turmoil) member() bool {
	kind := o.one("Lead", "Lead", "Contact")
	path := "/records/Campaign/" + o.some("Campaign") + "/members/" + kind + "/" + o.some(kind)
	if o.rand.IntN(4) == 0 {
		return o.try(http.MethodDelete, path, nil, nil)
	}
	return o.tryPut(path, map[string]any{"status": o.one("Registered", "Attended"), "hasResponded": o.flip()})
}

func (o *turmoil) role() bool {
	body := map[string]any{"name": o.one("Rep", "Seller")}
	if above := o.one(officeID(1), officeID(4), ""); above != "" {
		body["parentRoleId"] = above
	}
	return o.tryPut("/metadata/roles/"+officeID(2), body)
}

func (o *turmoil) user() bool {
	n := o.rand.IntN(3)
	return o.tryPut("/metadata/users/"+officeID(20+n), map[string]any{
		"name": fmt.Sprint("user ", n), "permissionSetIds": []string{officeID(3)}, "isActive": o.rand.IntN(5) > 0,
		"roleId": o.one(officeID(1), officeID(2), officeID(4)),
	})
}

func (o *turmoil) queue() bool {
	members := []any{}
	for n := range 3 {
		if o.flip() {
			members = append(members, map[string]string{"type": "User", "id": officeID(20 + n)})
		}
	}
	return o.tryPut("/metadata/groups/"+officeID(turmoilQueue), map[string]any{
		"name": "Desk", "type": "queue",
		"members": members,
	})
}

func (o *turmoil) territory() bool {
	at := "/sharing/territories/" + officeID(turmoilTerritory+o.rand.IntN(2))
	path := at + "/accounts/" + o.some("Account")
	switch o.rand.IntN(4) {
	case 0:
		path = at + "/users/" + o.somebody()
	case 1:
		body := map[string]any{"name": "West", "access": o.one("Read", "Edit")}
		if o.flip() {
			body["parentTerritoryId"] = officeID(turmoilTerritory)
		}
		return o.tryPut("/sharing/territories/"+officeID(turmoilTerritory+1), body)
	}
	return o.try(o.one(http.MethodPut, http.MethodPut, http.MethodDelete), path, nil, nil)
}

func (o *turmoil) owd() bool {
	return o.tryPut("/metadata/owd/"+o.one("Account", "Lead", "Opportunity"),
		map[string]any{"access": o.one("Private", "Private", "ReadOnly")})
}

func (o *turmoil) sharingRule() bool {
	return o.tryPut("/metadata/sharing-rules/"+officeID(41), map[string]any{
		"name": "red", "object": "Account", "kind": "criteria", "criteria": `record.Name == "` + o.one("red", "blue") +
			`"`,
		"target": map[string]string{"type": "User", "id": officeID(22)}, "access": "Read", "isActive": o.flip(),
	})
}

func (o *turmoil) workflow() bool {
	return o.tryPut("/metadata/workflow-rules/"+officeID(51), map[string]any{
		"name": "Welcome", "object": "Account", "on": []string{"create", "update"}, "when": "after",
		"condition": `record.Name != "` + o.one("red", "blue") + `" && record.Rating != "Hot"`,
		"isActive":  o.rand.IntN(4) > 0, "actions": []map[string]any{
			{"key": "tell", "type": "notify", "message": "new"},
			{"key": "todo", "type": "createTask", "message": "call"},
			{"key": "rate", "type": "updateField", "field": "Rating", "value": "Hot"},
			{"key": "go", "type": "startGraph", "graphId": "greet"},
		},
	})
}

func (o *turmoil) validation() bool {
	return o.tryPut("/metadata/validation-rules/"+officeID(52), map[string]any{
		"name": "VR-1", "object": "Campaign", "condition": "record.ActualCost < 0", "message": "It costs something.",
		"isActive": o.flip(),
	})
}

func (o *turmoil) submit() bool {
	var a struct{ ID string }
	if !o.try(http.MethodPost, "/approvals", map[string]string{
		"object":   "Opportunity",
		"recordId": o.some("Opportunity"),
	}, &a) {
		return false
	}
	o.approvals = append(o.approvals, a.ID)
	return true
}

// approval is one that was submitted, one of the last.
func (o *turmoil) approval() string {
	if len(o.approvals) == 0 {
		return officeID(999)
	}
	last := o.approvals[max(len(o.approvals)-3, 0):]
	return last[o.rand.IntN(len(last))]
}

func (o *turmoil) decide() bool {
	header := []string{"X-User-Id", o.somebody()}
	if o.rand.IntN(3) == 0 {
		header = nil // the system, in the place of all
	}
	return o.try(http.MethodPost, "/approvals/"+o.approval()+"/decide", map[string]string{"decision": o.one("APPROVED",
		"APPROVED", "REJECTED")}, nil, header...)
}

func (o *turmoil) recall() bool {
	return o.try(http.MethodPost, "/approvals/"+o.approval()+"/recall", map[string]string{}, nil)
}

// field adds a field by which records are found, or keeps one out of the index.
func (o *turmoil) field() bool {
	if o.flip() {
		return o.tryPut("/metadata/objects/Account/fields/Phone", map[string]any{
			"label":      "Phone",
			"searchable": o.flip(),
		})
	}
	return o.tryPut("/metadata/objects/Lead/fields/Note__c", map[string]any{
		"label": o.one("Note", "Remark"),
		"type":  "text", "maxLength": 40,
	})
}
