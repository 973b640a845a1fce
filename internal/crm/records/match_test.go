package records

import (
	"fmt"
	"testing"

	"renga.dev/renga/internal/crm/model"
)

// TestAMatchGoesByWhatTheCallerReads converts leads with what somebody guesses, who may not
// read the fields that they would be found by: a guess that is right is answered like one
// that is wrong.
func TestAMatchGoesByWhatTheCallerReads(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		reads := func(fields ...string) map[string]model.FieldPermission {
			all := map[string]model.FieldPermission{}
			for _, f := range fields {
				all[f] = model.FieldPermission{Read: true}
			}
			return all
		}
		all := func(d model.Definition) model.Definition {
			d.Value.(*model.PermissionSet).ViewAll = true
			return d
		}
		r.Define(tenantA, user(ann, "Ann", sales), user(ben, "Ben", sales, restricted), all(set(sales, nil)),
			set(restricted, reads("Contact.Email", "Account.Name")))
		acme := r.create(system, "Account", `{"Name":"Acme"}`)
		r.create(system, "Contact", `{"LastName":"Ng","Email":"ng@acme.example","AccountId":"`+acme.ID+`"}`)
		convert := func(who, company, email string, want Conversion) (outcome string) {
			t.Helper()
			lead := r.create(Caller{Tenant: tenantA, Subject: who}, "Lead", `{"LastName":"Li of `+company+email+
				`","Company":"`+company+`","Email":"`+email+`","Status":"Open - Not Contacted"}`)
			want.LeadID, want.Match = lead.ID, true
			_, _, err := r.records.Convert(t.Context(), Caller{Tenant: tenantA, Subject: who, CorrelationID: "test"},
				want,
				func(c Converted) ([]byte, error) {
					outcome = fmt.Sprint("created ", c.Created)
					return []byte("{}"), nil
				})
			if err != nil {
				return err.Error()
			}
			return outcome
		}
		if right, wrong := convert(ann, "X", "ng@acme.example", Conversion{AccountID: acme.ID}), convert(ann, "X",
			"no@acme.example", Conversion{AccountID: acme.ID}); right != wrong {
			t.Errorf("the address of a contact, which she may not read, is shown: %q, and for a wrong guess %q", right,
				wrong)
		}
		if right, wrong := convert(ann, "Acme", "", Conversion{}), convert(ann, "Amce", "",
			Conversion{}); right != wrong {
			t.Errorf("the name of an account, which she may not read, is shown: %q, and for a wrong guess %q", right,
				wrong)
		}
		if got := convert(ben, "Acme", "ng@acme.example", Conversion{}); got != "created []" {
			t.Errorf("who may read both has %s", got)
		}
	})
}
