package model

import "testing"

func TestPermissionSetsAddUp(t *testing.T) {
	all := ObjectPermission{Create: true, Read: true, Update: true, Delete: true}
	m := NewModel(tenant).With(
		1,
		set(1, PermissionSet{Objects: map[string]ObjectPermission{"Account": {Read: true}}}),
		set(2, PermissionSet{Objects: map[string]ObjectPermission{"Account": {Read: true, Update: true}, "Lead": all}}),
		set(3, PermissionSet{ViewAll: true}), set(4, PermissionSet{ModifyAll: true}),
		user(1, "", true, id(1), id(2)), user(2, "", true, id(1)), user(3, "", true, id(3)), user(4, "", true, id(4)),
		user(5, "", false, id(4)), user(6, "", true),
	)
	for _, tt := range []struct {
		user, object             string
		create, read, update, to bool
	}{
		{id(1), "Account", false, true, true, false},
		{id(1), "Lead", true, true, true, true},
		{id(2), "Account", false, true, false, false},
		{id(2), "Lead", false, false, false, false},
		{id(3), "Lead", false, true, false, false},
		{id(4), "Lead", true, true, true, true},
		{id(5), "Lead", false, false, false, false},
		{id(6), "Lead", false, false, false, false},
		{id(9), "Lead", false, false, false, false},
		{id(4), "Nothing", false, false, false, false},
		{SystemUser(tenant), "Quote", true, true, true, true},
		{SystemUser(tenant), "Nothing", false, false, false, false},
	} {
		got := [4]bool{m.Can(tt.user, tt.object, CreateOp), m.Can(tt.user, tt.object, ReadOp), m.Can(tt.user, tt.object,
			UpdateOp), m.Can(tt.user, tt.object, DeleteOp)}
		if want := [4]bool{tt.create, tt.read, tt.update, tt.to}; got != want {
			t.Errorf("%s %s: got %v, want %v", tt.user, tt.object, got, want)
		}
	}
	for who, want := range map[string][2]bool{
		id(1): {}, id(3): {true, false}, id(4): {true, true}, id(5): {},
		SystemUser(tenant): {true, true},
	} {
		if got := [2]bool{m.ViewAll(who), m.ModifyAll(who)}; got != want {
			t.Errorf("%s views and modifies all: got %v, want %v", who, got, want)
		}
	}
}

func TestAFieldThatASetNamesIsForThoseWhoAreGivenIt(t *testing.T) {
	use := map[string]ObjectPermission{"Opportunity": {Create: true, Read: true, Update: true}}
	m := NewModel(tenant).With(
		1,
		set(1, PermissionSet{Objects: use}),
		set(2, PermissionSet{Fields: map[string]FieldPermission{"Opportunity.Amount": {Read: true}}}),
		set(3, PermissionSet{Fields: map[string]FieldPermission{"Opportunity.Amount": {Read: true, Edit: true}}}),
		set(4, PermissionSet{Objects: map[string]ObjectPermission{"Opportunity": {Read: true}}}),
		set(5, PermissionSet{ModifyAll: true}),
		user(1, "", true, id(1)), user(2, "", true, id(1), id(2)), user(3, "", true, id(1), id(2), id(3)),
		user(4, "", true, id(3), id(4)),
		user(5, "", true, id(5)), user(6, "", true, id(3)),
	)
	for _, tt := range []struct {
		user, field string
		read, edit  bool
	}{
		{id(1), "Amount", false, false},
		{id(1), "NextStep", true, true},
		{id(1), "IsWon", true, false},
		{id(1), "Nothing", false, false},
		{id(2), "Amount", true, false},
		{id(3), "Amount", true, true},
		{id(4), "Amount", true, false},  // may not update the object
		{id(5), "Amount", false, false}, // records are not fields
		{id(6), "Amount", false, false}, // may not use the object
		{id(6), "NextStep", false, false},
		{SystemUser(tenant), "Amount", true, true},
		{SystemUser(tenant), "IsWon", true, false},
	} {
		v := m.View(tt.user, "Opportunity")
		if got := v.Reads(tt.field); got != tt.read {
			t.Errorf("%s reads %s: %t, want %t", tt.user, tt.field, got, tt.read)
		}
		if got := v.Edits(tt.field); got != tt.edit {
			t.Errorf("%s edits %s: %t, want %t", tt.user, tt.field, got, tt.edit)
		}
	}
}

func TestWhatIsSensitiveIsReadAndNotShown(t *testing.T) {
	v := NewModel(tenant).View(SystemUser(tenant), "Contact")
	if !v.Reads("Email") || v.Shows("Email") || !v.Shows("Title") || v.Shows("Nothing") {
		t.Errorf("got Email %t, %t; Title %t; Nothing %t", v.Reads("Email"), v.Shows("Email"), v.Shows("Title"),
			v.Shows("Nothing"))
	}
	none := NewModel(tenant).View(SystemUser(tenant), "Nothing")
	if none.May.Read || none.Reads("Name") || none.Edits("Name") || none.Shows("Name") {
		t.Error("a view of nothing lets somebody do something")
	}
}
