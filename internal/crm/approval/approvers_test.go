package approval

import (
	"strings"
	"testing"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

func TestApproversAreWhoTheyAreNow(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("All", model.ByAll, ofRole(managers), ofGroup(legal)), step("VP", model.ByAny,
			ofUser(vic))))
		v := r.submit(r.quote(`"Subtotal":100,"DiscountPercent":10`))
		r.decide(mia, v.ID, Approved)
		r.define(user(nat, "Nat", managers, readerSet)) // one more
		r.assigned(nat, v.ID)
		r.decide(leo, v.ID, Approved)
		if _, _, err := r.Delegate(t.Context(), as(nat), v.ID, vic, "", nil); err != nil {
			t.Fatal(err)
		}
		// one has another role, one may not read quotes
		r.define(user(nat, "Nat", "", readerSet), user(max, "Max", managers))
		changed := events.PermissionChanged{ChangeType: "PermissionSetUpdated", Subject: events.PermissionSubject{
			Type: "User", ID: max,
		}, EffectiveAt: 1}
		r.take(changed)
		r.take(changed) // again
		if err := r.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := r.parsed(r.Get(t.Context(), as(vic), v.ID))
		if got.CurrentStageIndex != 1 || got.Status != Pending {
			t.Errorf("all who are left have approved: got %+v", got)
		}
		if n := r.count("approval_stale") + r.count("approval_deputy"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		// he has left
		r.define(model.Definition{Kind: model.KindUser, ID: vic, Value: &model.User{
			ID: vic, Name: "Vic",
			PermissionSetIDs: []string{readerSet},
		}})
		r.take(events.RoleHierarchyChanged{
			ChangeType: "RoleUpdated", RoleID: managers, RoleName: "Managers",
			EffectiveAt: 1,
		})
		if err := r.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Recall(t.Context(), as(""), v.ID, "nobody is left", nil); err != nil { // who may modify all
			t.Error(err)
		}
		r.consistent()
	})
}

// TestAStagePassesWhenTheLastOfAGroupLeavesIt is about an event that the document lists for
// core, which hands it on.
func TestAStagePassesWhenTheLastOfAGroupLeavesIt(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		group := func(members ...model.Member) model.Definition {
			return model.Definition{Kind: model.KindGroup, ID: legal, Value: &model.Group{
				ID: legal, Name: "Legal",
				Type: model.PublicGroup, Members: members,
			}}
		}
		r.define(group(ofUser(leo), ofUser(nat)), processOf(step("All", model.ByAll, ofGroup(legal))))
		v := r.submit(r.quote(`"Subtotal":100,"DiscountPercent":10`))
		r.decide(leo, v.ID, Approved)
		r.define(group(ofUser(leo)))
		body, err := events.NewPayload(events.GroupMemberChanged{
			ChangeType: "MemberRemoved", GroupID: legal, GroupName: "Legal", GroupType: "public", MemberType: "User",
			MemberID: nat, EffectiveAt: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Handle(&events.Event{ID: uid(0x77), Type: "GroupMemberChanged", Tenant: tenantA, Payload: body},
			r.core())
		if err := r.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := r.parsed(r.Get(t.Context(), as(sal), v.ID)); got.Status != Approved || got.Decision.DecidedBy != leo {
			t.Errorf("got %+v", got)
		}
		r.consistent()
	})
}

func TestACancelOfTheExecutionRecallsTheApproval(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Both", model.ByAll, ofUser(mia), ofUser(max)), step("VP", model.ByAny, ofUser(vic))))
		quote := r.quote(`"Subtotal":100,"DiscountPercent":10`)
		v := r.submit(quote)
		r.decide(mia, v.ID, Approved)
		if err := r.cancel(v.ExecutionID); err != nil {
			t.Fatal(err)
		}
		r.refuses(max, v.ID, Approved, CodeEnded) // which would pass the stage
		r.refuses(max, v.ID, Rejected, CodeEnded)
		if err := r.discount(quote, "12"); codeOf(err) != records.CodeFieldLocked {
			t.Errorf("before it is recalled: got %v", err)
		}
		r.outbox()
		for range 2 {
			if err := r.settle(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.outbox(); strings.Count(got, "ApprovalDecided") != 1 ||
			!strings.Contains(got, `"decision":"RECALLED"`) || !strings.Contains(got, `"comment":"an operator"`) ||
			!strings.Contains(got, `"decidedBy":"`+model.SystemUser(tenantA)+`"`) {
			t.Errorf("got %s", got)
		}
		if err := r.discount(quote, "12"); err != nil || r.count("approval_ended") != 0 {
			t.Errorf("got %v", err)
		}
		r.consistent()

		v = r.submit(quote)
		if err := r.cancel(v.ExecutionID); err != nil {
			t.Fatal(err)
		}
		// before the operator's cancel is noticed
		if _, _, err := r.Recall(t.Context(), as(sal), v.ID, "", nil); err != nil {
			t.Error(err)
		}
		if err := r.settle(t.Context()); err != nil || strings.Count(r.outbox(), "ApprovalDecided") != 1 {
			t.Errorf("it ended twice, or not at all: %v", err)
		}
	})
}

// cancel cancels an execution, as operators do; an error is that it had ended.
func (r *rig) cancel(id string) error {
	r.Helper()
	execution, err := flow.ParseID(id)
	if err != nil {
		r.Fatal(err)
	}
	results, err := r.cfg.Engine.Do(r.Context(), engine.Unit{Commands: []engine.Request{{
		Tenant: tenantA, Execution: execution, Command: flow.Cancel{Reason: "an operator"},
		Actor: flow.Actor{Kind: flow.KindUser, ID: "op"}, CorrelationID: "test",
	}}})
	if err != nil {
		r.Fatal(err)
	}
	if refused := results[0].Answer.Refused; refused != nil {
		return fault.New(fault.Conflict, CodeEnded, "%s", refused.Reason)
	}
	return nil
}

// TestAWaitThatIsResumedByHandApprovesNothing lets somebody who may send commands to
// executions push one on.
func TestAWaitThatIsResumedByHandApprovesNothing(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers)), step("VP", model.ByAny, ofUser(vic))))
		push := func(id string, stage int) {
			t.Helper()
			execution, err := flow.ParseID(id)
			if err != nil {
				t.Fatal(err)
			}
			c, err := resume(stage, Approved, "somebody")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.cfg.Engine.Do(t.Context(),
				engine.Unit{Commands: []engine.Request{{
					Tenant: tenantA, Execution: execution, Command: c,
					CorrelationID: "test",
				}}}); err != nil {
				t.Fatal(err)
			}
		}
		first, second := r.submit(r.quote(`"Subtotal":100,"DiscountPercent":10`)),
			r.submit(r.quote(`"Subtotal":100,"DiscountPercent":10`))
		push(first.ExecutionID, 0)
		if got := r.decide(mia, first.ID, Approved); got.CurrentStageIndex != 1 || got.Status != Pending {
			t.Errorf("got %+v", got)
		}
		if got := r.decide(vic, first.ID, Approved); got.Status != Approved {
			t.Errorf("got %+v", got)
		}
		push(second.ExecutionID, 0)
		push(second.ExecutionID, 1)
		r.refuses(mia, second.ID, Approved, CodeEnded)
		if err := r.settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := r.parsed(r.Get(t.Context(), as(sal), second.ID)); got.Status != Recalled {
			t.Errorf("got %+v", got)
		}
		r.consistent()
	})
}
