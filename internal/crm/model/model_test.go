package model

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const tenant = "00000000-0000-0000-0000-00000000000a"

// id makes ids that are easy to read.
func id(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }

func user(n int, role string, active bool, sets ...string) Definition {
	return Definition{KindUser, id(n), 1, &User{
		ID: id(n), Name: fmt.Sprint("user ", n), RoleID: role, IsActive: active,
		PermissionSetIDs: sets,
	}}
}

func role(n int, parent string) Definition {
	return Definition{KindRole, id(n), 1, &Role{ID: id(n), Name: fmt.Sprint("role ", n), ParentRoleID: parent}}
}

func set(n int, s PermissionSet) Definition {
	s.ID = id(n)
	return Definition{KindPermissionSet, id(n), 1, &s}
}

func TestEveryTenantHasTheStandardObjects(t *testing.T) {
	m := NewModel(tenant)
	var names []string
	ids := map[string]string{}
	for _, o := range m.Objects() {
		names = append(names, o.Name)
		for _, f := range o.Fields {
			key := FieldKey(o.Name, f.Name)
			if other := ids[f.ID]; other != "" || !ValidID(f.ID) {
				t.Errorf("%s has the id %s, as %q has", key, f.ID, other)
			}
			ids[f.ID] = key
			if f.Object != o.Name || f.Custom || f.Type == Picklist != (f.Values != nil) ||
				f.Type == Reference != (f.ReferenceTo != nil) ||
				f.Type.Textual() != (f.MaxLength > 0) || !slices.Contains(FieldTypes, f.Type) {
				t.Errorf("%s is not sound: %+v", key, f)
			}
			for _, to := range f.ReferenceTo {
				if m.Object(to) == nil {
					t.Errorf("%s refers to %s, which does not exist", key, to)
				}
			}
		}
		if o.Field("Name") == nil {
			t.Errorf("%s has no name", o.Name)
		}
	}
	if diff := cmp.Diff([]string{"Account", "Contact", "Lead", "Opportunity", "Quote", "Campaign"}, names); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if m.OWD("Account") != Private || m.OWD("Nothing") != Private || m.TeamRoles("Account") == nil ||
		m.TeamRoles("Lead") != nil {
		t.Error("sharing settings are not as they begin")
	}
	if m.Object("Nothing").Field("Name") != nil || m.Field("Account", "Nothing") != nil ||
		m.Sensitive("Nothing", "Name") {
		t.Error("what does not exist has fields")
	}
}

func TestStagesAreTheValuesOfTheirField(t *testing.T) {
	m := NewModel(tenant)
	if s := m.Stage("Closed Won"); s == nil || !s.IsClosed || !s.IsWon || s.Probability != 100 {
		t.Errorf("got %+v", s)
	}
	next := m.With(3, Definition{KindStages, "Opportunity", 3, &Stages{[]Stage{
		{"A", 1, "Pipeline", false, false},
		{"B", 100, "Closed", true, true},
	}}})
	if got := next.Field("Opportunity", "StageName").Values; !slices.Equal(got, []string{"A", "B"}) {
		t.Errorf("got %q", got)
	}
	if d, _ := next.Get(KindField, "Opportunity.StageName"); d.Version != 3 || !slices.Equal(d.Value.(*Field).Values,
		[]string{"A", "B"}) {
		t.Errorf("got %+v", d)
	}
	if got := m.Field("Opportunity", "StageName").Values; len(got) != 10 {
		t.Errorf("the model before has changed: %q", got)
	}
}

func TestAModelDoesNotChange(t *testing.T) {
	m := NewModel(tenant)
	custom := &Field{
		ID: id(1), Object: "Account", Name: "Tier__c", Type: Text, MaxLength: 10, Custom: true,
		Sensitive: true,
	}
	next := m.With(1, user(7, "", true), Definition{KindField, "Account.Tier__c", 1, custom})
	if m.User(id(7)) != nil || m.Field("Account", "Tier__c") != nil || m.Count(KindUser) != 1 || m.Revision != 0 {
		t.Error("the model before has changed")
	}
	if next.User(id(7)) == nil || !next.Sensitive("Account", "Tier__c") || next.Count(KindUser) != 2 ||
		next.Revision != 1 {
		t.Error("the model after lacks what was changed")
	}
	gone := next.With(2, Definition{KindUser, id(7), 2, nil}, Definition{KindField, "Account.Tier__c", 2, nil})
	if gone.User(id(7)) != nil || gone.Field("Account", "Tier__c") != nil || next.User(id(7)) == nil {
		t.Error("what is gone is there, or the model before has changed")
	}
}

func TestRolesAndGroupsResolveToUsers(t *testing.T) {
	led := user(13, id(3), true)
	led.Value.(*User).ManagerID = id(12)
	m := NewModel(tenant).With(
		1,
		role(1, ""), role(2, id(1)), role(3, id(2)), role(4, id(1)),
		user(11, id(1), true), user(12, id(2), true), led, user(14, id(4), false), user(15, "", true),
		Definition{KindGroup, id(21), 1, &Group{ID: id(21), Type: Queue, Members: []Member{
			{TypeRole, id(2)},
			{TypeUser, id(12)},
			{TypeUser, id(15)},
		}}},
		Definition{KindGroup, id(22), 1, &Group{ID: id(22), Type: PublicGroup, Members: []Member{{TypeUser, id(12)}}}},
	)
	for name, got := range map[string][2][]string{
		"above 3":               {{id(2), id(1)}, m.RoleAncestors(id(3))},
		"above 1":               {nil, m.RoleAncestors(id(1))},
		"below 1":               {{id(2), id(4), id(3)}, m.rolesBelow(id(1))},
		"below nothing":         {nil, m.rolesBelow("nothing")},
		"groups of 12":          {{id(21), id(22)}, m.GroupsOf(id(12))},
		"groups of 13":          {nil, m.GroupsOf(id(13))},
		"members of 21":         {{id(12), id(15)}, m.MembersOf(id(21))},
		"manager":               {{id(12)}, m.Resolve(Member{TypeManager, id(13)})},
		"nobody's manager":      {nil, m.Resolve(Member{TypeManager, id(12)})},
		"reports":               {{id(13)}, m.ReportsOf(id(12))},
		"role and subordinates": {{id(12), id(13)}, m.Resolve(Member{TypeRoleAndSubordinates, id(2)})},
		"a role":                {{id(12)}, m.Resolve(Member{TypeRole, id(2)})},
		"a user":                {{id(12)}, m.Resolve(Member{TypeUser, id(12)})},
		"a user that is none":   {nil, m.Resolve(Member{TypeUser, id(99)})},
		"a group":               {{id(12), id(15)}, m.Resolve(Member{TypeGroup, id(21)})},
	} {
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%s: want %q, got %q", name, got[0], got[1])
		}
	}
	for owner, want := range map[string]bool{
		id(12): true, id(14): false, id(21): true, id(22): false, id(99): false,
		SystemUser(tenant): true,
	} {
		if m.Owner(owner) != want {
			t.Errorf("%s may own records: %t, want %t", owner, m.Owner(owner), want)
		}
	}
}

func TestACallerIsAUser(t *testing.T) {
	u := &User{ID: id(1), Subject: "auth0|anna", IsActive: true}
	m := NewModel(tenant).With(1, Definition{KindUser, u.ID, 1, u})
	for subject, want := range map[string]string{
		"": SystemUser(tenant), id(1): id(1), "auth0|anna": id(1), "AUTH0|ANNA": "", "nobody": "",
		SystemUser(tenant): "",
	} {
		got := ""
		if u := m.Who(subject); u != nil {
			got = u.ID
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", subject, got, want)
		}
	}
}

func TestConditionsNameFieldsOfTheirObject(t *testing.T) {
	o := NewModel(tenant).Object("Opportunity")
	p, err := o.Condition(`record.Amount >= 1000 && record.OwnerId == "o" && record.NextStep == null`, false)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := p.Eval(map[string]any{"record": o.Vars("i", "o", map[string]any{"Amount": 1000.0})}); err != nil ||
		!ok {
		t.Errorf("got %v, %v", ok, err)
	}
	for _, src := range []string{`record.Amout > 1`, `old.Amount > 1`, `record.Amount +`, `record["Nope"] == 1`, `1`} {
		if _, err := o.Condition(src, false); err == nil {
			t.Errorf("%s: got no error", src)
		}
	}
	if _, err := o.Condition(`old.Amount > record.Amount`, true); err != nil {
		t.Error(err)
	}
	if !Uses(`record.Amount > 1`, "Amount") || Uses(`record.Amount > 1`, "Name") || Uses("", "Name") {
		t.Error("Uses does not tell")
	}
}
