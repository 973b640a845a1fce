package approval

import (
	"testing"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/events"
)

// under is a user who reports to another.
func under(manager string, d model.Definition) model.Definition {
	d.Value.(*model.User).ManagerID = manager
	return d
}

// TestTheManagerDecides has a step for the manager of who submits and one for the manager of
// the owner. Who that is follows the users.
func TestTheManagerDecides(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		byManager := func(of string) model.Member { return model.Member{Type: model.TypeManager, ID: of} }
		r.define(processOf(step("Of the submitter", model.ByAny, byManager(model.OfSubmitter)),
			step("Of the owner", model.ByAll, byManager(model.OfOwner), ofUser(leo))))
		quote := r.quote(`"DiscountPercent":10`)
		if _, _, err := r.Submit(t.Context(), as(sal), Order{Object: "Quote", RecordID: quote}, nil); codeOf(
			err) != CodeNoApprover {
			t.Errorf("without a manager: got %v", err)
		}
		r.define(under(mia, user(sal, "Sal", "", salesSet)))
		v := r.submit(quote)
		if first := v.StageDetails[0]; len(first.Approvers) != 1 || first.Approvers[0].UserID != mia ||
			first.Approvers[0].Via[0] != byManager(sal) {
			t.Errorf("got %+v", first)
		}
		r.assigned(mia, v.ID)
		r.assigned(max)
		r.refuses(max, v.ID, Approved, CodeNotFound)
		r.define(under(max, user(sal, "Sal", "", salesSet))) // another one now
		r.assigned(mia)
		r.assigned(max, v.ID)
		r.refuses(mia, v.ID, Approved, CodeNotFound)
		r.decide(max, v.ID, Approved)
		r.assigned(max, v.ID)
		r.assigned(leo, v.ID)
		if got := r.decide(leo, v.ID, Approved); got.Status != Pending {
			t.Errorf("got %+v", got)
		}
		r.define(user(sal, "Sal", "", salesSet)) // and nobody: leo is all who are left
		r.take(events.PermissionChanged{ChangeType: "UserManagerChanged", Subject: events.PermissionSubject{
			Type: "User",
			ID:   sal,
		}, EffectiveAt: 1})
		if err := r.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := r.parsed(r.Get(t.Context(), as(sal), v.ID)); got.Status != Approved || got.Decision.DecidedBy != leo {
			t.Errorf("got %+v", got)
		}
		r.consistent()
	})
}
