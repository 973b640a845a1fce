package records

import (
	"testing"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
)

// TestMembersThatTheCallerDoesNotSeeAreNotThere puts leads and a contact of several owners
// into a campaign: whoever sees the campaign sees those of them that it sees at all.
func TestMembersThatTheCallerDoesNotSeeAreNotThere(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		all := model.ObjectPermission{Create: true, Read: true, Update: true, Delete: true}
		r.Define(tenantA, user(ann, "Ann", sales), model.Definition{
			Kind: model.KindPermissionSet, ID: sales,
			Value: &model.PermissionSet{
				ID: sales, Name: "Campaigns", Objects: map[string]model.ObjectPermission{"Campaign": all, "Lead": all},
			},
		})
		admin, anns := Caller{Tenant: tenantA, CorrelationID: "test"}, Caller{
			Tenant: tenantA, Subject: ann,
			CorrelationID: "test",
		}
		campaign := r.create(anns, "Campaign", `{"Name":"Spring"}`)
		own := r.create(anns, "Lead", `{"LastName":"Na","Company":"Initech","Status":"Working - Contacted"}`)
		hidden := r.create(system, "Lead", `{"LastName":"No","Company":"Initech","Status":"Working - Contacted"}`)
		contact := r.create(system, "Contact", `{"LastName":"everybody reads"}`)
		put := func(c Caller, object, id string) error {
			status := "Sent"
			_, _, err := r.records.PutMember(t.Context(), c, campaign.ID, object, id, MemberDraft{Status: &status})
			return err
		}
		for _, v := range []View{own, hidden} {
			if err := put(admin, "Lead", v.ID); err != nil {
				t.Fatal(err)
			}
		}
		if err := put(admin, "Contact", contact.ID); err != nil {
			t.Fatal(err)
		}
		sees := func(c Caller, want ...string) {
			t.Helper()
			page, total, err := r.records.Members(t.Context(), c, campaign.ID, 0, 10)
			if err != nil || total != len(want) || len(page) != len(want) {
				t.Fatalf("got %v of %d, %v; want %v", page, total, err, want)
			}
			for i := range page {
				if page[i].MemberID != want[i] {
					t.Errorf("got %v, want %v", page, want)
				}
			}
		}
		sees(admin, contact.ID, min(own.ID, hidden.ID), max(own.ID, hidden.ID))
		sees(anns, own.ID) // no permission set lets Ann read contacts
		unknown := "0199c1a4-0000-7000-8000-0000000000ff"
		for _, id := range []string{hidden.ID, unknown} {
			if err := put(anns, "Lead", id); codeOf(err) != CodeRecordNotFound {
				t.Errorf("changing %s: got %v", id, err)
			}
			err := r.records.RemoveMember(t.Context(), anns, campaign.ID, "Lead", id)
			if e, _ := fault.As(err); e == nil || e.Code != "CAMPAIGN_MEMBER_NOT_FOUND" {
				t.Errorf("removing %s: got %v", id, err)
			}
		}
		if err := put(anns, "Contact", contact.ID); codeOf(err) != CodeAccessDenied {
			t.Errorf("a contact: got %v", err)
		}
		sees(admin, contact.ID, min(own.ID, hidden.ID), max(own.ID, hidden.ID))
		if err := r.records.RemoveMember(t.Context(), anns, campaign.ID, "Lead", own.ID); err != nil {
			t.Error(err)
		}
		sees(anns)
	})
}
