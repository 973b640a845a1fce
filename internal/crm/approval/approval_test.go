package approval

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

func TestFieldsAreLockedFromTheSubmissionToTheDecision(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers)), step("VP", model.ByAny, ofUser(vic))))
		for _, end := range []struct {
			name string
			do   func(id string)
		}{
			{"approved", func(id string) { r.decide(mia, id, Approved); r.decide(vic, id, Approved) }},
			{"rejected", func(id string) { r.decide(max, id, Approved); r.decide(vic, id, Rejected) }},
			{"recalled", func(id string) {
				if _, _, err := r.Recall(t.Context(), as(sal), id, "never mind", nil); err != nil {
					t.Fatal(err)
				}
			}},
		} {
			quote := r.quote(`"Subtotal":100,"DiscountPercent":10`)
			if err := r.discount(quote, "11"); err != nil {
				t.Fatal(err)
			}
			v := r.submit(quote)
			if err := r.discount(quote, "12"); codeOf(err) != records.CodeFieldLocked ||
				!strings.Contains(err.Error(), v.ID) {
				t.Errorf("%s: got %v, want the field locked", end.name, err)
			}
			if _, err := r.apply(as(sal), "Quote", records.Op{Kind: records.Delete, ID: quote}, ""); codeOf(
				err) != records.CodeLocked {
				t.Errorf("%s: delete: got %v", end.name, err)
			}
			r.consistent()
			end.do(v.ID)
			if err := r.discount(quote, "12"); err != nil {
				t.Errorf("%s: got %v, want the field free", end.name, err)
			}
			r.consistent()
		}
	})
}

func TestStagesFollowEachOther(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		never := step("Never", model.ByAny, ofUser(nat))
		never.Condition = "record.DiscountPercent > 50.0"
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers), ofUser(mia)), never, step("Both", model.ByAll,
			ofUser(vic), ofGroup(legal))))
		quote := r.quote(`"Subtotal":100,"DiscountPercent":10`)
		v := r.submit(quote)
		if got := strings.Join(v.Stages, " "); got != "Manager Both" || v.Status != Pending ||
			v.CurrentStageIndex != 0 || v.SubmittedBy != sal || v.Comment != "please" {
			t.Errorf("got %+v", v)
		}
		// out does not read quotes
		want := []ApproverView{
			{UserID: mia, Via: []model.Member{ofRole(managers), ofUser(mia)}},
			{UserID: max, Via: []model.Member{ofRole(managers)}},
		}
		if diff := cmp.Diff(want, v.StageDetails[0].Approvers); diff != "" {
			t.Errorf("approvers (-want +got):\n%s", diff)
		}
		r.refuses(sal, v.ID, Approved, CodeNotApprover)
		r.refuses(vic, v.ID, Approved, CodeNotFound) // its turn has not come
		v = r.decide(mia, v.ID, Approved)
		if v.CurrentStageIndex != 1 || v.Status != Pending || v.StageDetails[0].Status != "APPROVED" ||
			v.StageDetails[1].Status != stageOpen {
			t.Errorf("got %+v", v)
		}
		r.refuses(max, v.ID, Approved, CodeNotFound)
		zero := 0
		if _, _, err := r.Decide(t.Context(), as(vic), v.ID, Ballot{Decision: Approved, Stage: &zero}, nil); codeOf(
			err) != CodeStage {
			t.Errorf("a stage that has passed: got %v", err)
		}
		v = r.decide(vic, v.ID, Approved)
		if v.Status != Pending || len(v.StageDetails[1].Votes) != 1 {
			t.Errorf("one of two has approved: got %+v", v)
		}
		r.refuses(vic, v.ID, Rejected, CodeVoted)
		v = r.decide(leo, v.ID, Approved)
		if v.Status != Approved || v.Decision == nil || v.Decision.DecidedBy != leo ||
			v.StageDetails[1].Status != "APPROVED" {
			t.Errorf("got %+v", v)
		}
		if e := r.execution(v.ExecutionID); e.Status != flow.Completed {
			t.Errorf("the execution is %v", e.Status)
		}
		if _, _, err := r.Recall(t.Context(), as(sal), v.ID, "", nil); codeOf(err) != CodeEnded ||
			fault.KindOf(err) != fault.Conflict {
			t.Errorf("a recall that is late: got %v", err)
		}
	})
}

func (r *rig) execution(id string) *flow.State {
	r.Helper()
	parsed, err := flow.ParseID(id)
	if err != nil {
		r.Fatal(err)
	}
	v, err := r.cfg.Engine.Execution(r.Context(), tenantA, parsed, 0)
	if err != nil {
		r.Fatal(err)
	}
	return &v.State
}

func TestWhatCannotBeSubmittedIsRefused(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		quote := r.quote(`"Subtotal":100,"DiscountPercent":10`)
		small := r.quote(`"Subtotal":100,"DiscountPercent":1`)
		empty := r.quote(`"Subtotal":100`)
		try := func(c Caller, o Order, code string) {
			t.Helper()
			if o.Object == "" {
				o.Object = "Quote"
			}
			if _, _, err := r.Submit(t.Context(), c, o, nil); codeOf(err) != code {
				t.Errorf("%+v: got %v, want %s", o, err, code)
			}
		}
		try(as(sal), Order{RecordID: quote}, CodeNoProcess)
		none := processOf(step("Nobody", model.ByAny, ofUser(sal), ofUser(out)))
		r.define(none)
		try(as(sal), Order{RecordID: quote}, CodeNoApprover) // herself, and one who does not read quotes
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers))))
		try(as(sal), Order{RecordID: small}, CodeNoProcess)
		try(as(sal), Order{RecordID: empty}, CodeNoProcess)
		try(as(sal), Order{RecordID: small, ProcessID: process}, CodeNoProcess)
		try(as(sal), Order{RecordID: quote, ProcessID: uid(0x99)}, CodeNoProcess)
		try(as(sal), Order{RecordID: uid(0x99)}, records.CodeRecordNotFound)
		try(as(sal), Order{Object: "Quota", RecordID: quote}, records.CodeObjectUnknown)
		try(as(mia), Order{RecordID: quote}, records.CodeRecordNotFound) // she does not see it
		try(as(out), Order{RecordID: quote}, records.CodeAccessDenied)
		try(Caller{Tenant: tenantB}, Order{RecordID: quote}, records.CodeRecordNotFound)
		two := processOf(step("Manager", model.ByAny, ofRole(managers)))
		two.ID = uid(0x32)
		two.Value.(*model.ApprovalProcess).ID = two.ID
		r.define(two)
		try(as(sal), Order{RecordID: quote}, CodeManyProcess)
		if n := r.count("approval_instance") + r.count("records_lock") + r.count("engine_execution"); n != 0 {
			t.Errorf("%d rows are left of what was refused", n)
		}
		if _, _, err := r.Submit(t.Context(), as(sal), Order{Object: "Quote", RecordID: quote, ProcessID: two.ID},
			nil); err != nil {
			t.Fatal(err)
		}
		try(as(sal), Order{RecordID: quote, ProcessID: process}, CodePending)
	})
}

func (r *rig) count(table string) (n int) {
	r.Helper()
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	})
	if err != nil {
		r.Fatal(err)
	}
	return n
}

func TestADelegateDecidesInThePlaceOfAnApprover(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Both", model.ByAll, ofUser(mia), ofUser(vic))))
		v := r.submit(r.quote(`"Subtotal":100,"DiscountPercent":10`))
		give := func(from, to, code string) {
			t.Helper()
			if _, _, err := r.Delegate(t.Context(), as(from), v.ID, to, "away", nil); codeOf(err) != code {
				t.Errorf("got %v, want %q", err, code)
			}
		}
		give(mia, out, wire.CodeInvalid)
		give(mia, sal, wire.CodeInvalid) // who submitted
		give(mia, mia, wire.CodeInvalid)
		give(mia, uid(0x99), wire.CodeInvalid)
		give(sal, nat, CodeNotApprover)
		give(nat, leo, CodeNotFound)
		give(mia, nat, "")
		r.refuses(mia, v.ID, Approved, CodeNotApprover) // it is not hers any more
		give(nat, leo, "")                              // on it goes
		r.refuses(nat, v.ID, Approved, CodeNotFound)
		r.assigned(mia)
		r.assigned(leo, v.ID)
		give(leo, mia, "") // and back
		r.assigned(leo)
		r.assigned(mia, v.ID)
		give(mia, vic, "") // who has a place of his own
		got := r.decide(vic, v.ID, Approved)
		if got.Status != Approved || len(got.StageDetails[0].Votes) != 2 {
			t.Errorf("got %+v", got)
		}
	})
}

// assigned reports what waits for a user, when it is not that.
func (r *rig) assigned(who string, want ...string) {
	r.Helper()
	page, total, err := r.List(r.Context(), as(who), Filter{Assigned: true}, 0, 10)
	if err != nil {
		r.Fatal(err)
	}
	var got []string
	for i := range page {
		got = append(got, page[i].ID)
	}
	if !slices.Equal(got, want) || total != len(want) {
		r.Errorf("%d wait for %s: %v, want %v", total, who, got, want)
	}
}

// TestAListAsksAsOftenHoweverManyAreDelegated counts trips to PostgreSQL: one for each
// approval would make the list of a busy delegate slow. What is listed is the same on both.
func TestAListAsksAsOftenHoweverManyAreDelegated(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Both", model.ByAll, ofUser(mia), ofUser(vic))))
		var ids []string
		delegate := func() {
			t.Helper()
			v := r.submit(r.quote(`"Subtotal":100,"DiscountPercent":10`))
			if _, _, err := r.Delegate(t.Context(), as(mia), v.ID, nat, "away", nil); err != nil {
				t.Fatal(err)
			}
			r.clock.Add(1000)
			ids = append(ids, v.ID)
		}
		trips := func(f Filter) uint64 { // the fewest of some lists: others use the database too
			t.Helper()
			fewest := uint64(math.MaxUint64)
			for range 10 {
				before := r.db.Stats().Trips
				page, total, err := r.List(t.Context(), as(nat), f, 0, 100)
				if err != nil || total != len(ids) || len(page) != len(ids) {
					t.Fatalf("listed %d of %d (%v), want %d", len(page), total, err, len(ids))
				}
				fewest = min(fewest, r.db.Stats().Trips-before)
			}
			return fewest
		}
		delegate()
		one, oneAssigned := trips(Filter{}), trips(Filter{Assigned: true})
		for range 4 {
			delegate()
		}
		if got := trips(Filter{}); got != one {
			t.Errorf("a list of 5 takes %d trips, of one %d", got, one)
		}
		if got := trips(Filter{Assigned: true}); got != oneAssigned {
			t.Errorf("a list of 5 that wait takes %d trips, of one %d", got, oneAssigned)
		}
		r.decide(vic, ids[0], Approved) // a vote of one approval is not that of another
		r.assigned(nat, ids...)
		if got := r.decide(nat, ids[0], Approved); got.Status != Approved {
			t.Errorf("got %+v", got)
		}
		r.assigned(nat, ids[1:]...)
	})
}

// take lets the consumer take an event.
func (r *rig) take(p wire.Payload) {
	r.Helper()
	body, err := wire.NewPayload(p)
	if err != nil {
		r.Fatal(err)
	}
	err = r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		return r.on(ctx, tx, &wire.Event{ID: uid(0x77), Type: p.EventType(), Tenant: tenantA, Payload: body})
	})
	if err != nil {
		r.Fatal(err)
	}
}

func TestWhoMayModifyAllDecidesInThePlaceOfAll(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Both", model.ByAll, ofUser(mia), ofUser(vic), ofUser(max)), step("VP", model.ByAll,
			ofUser(leo))))
		v := r.submit(r.quote(`"Subtotal":100,"DiscountPercent":10`))
		r.decide(mia, v.ID, Approved)
		if _, _, err := r.Delegate(t.Context(), as(""), v.ID, vic, "", nil); err != nil { // max has left without a word
			t.Fatal(err)
		}
		r.assigned(max)
		r.assigned("")
		got := r.decide("", v.ID, Approved)
		if got.CurrentStageIndex != 1 || len(got.StageDetails[0].Votes) != 3 {
			t.Errorf("got %+v", got)
		}
		r.define(user(leo, "Leo", "")) // nobody is left
		got = r.decide("", v.ID, Approved)
		if got.Status != Approved || len(got.StageDetails[1].Votes) != 1 || got.Decision.DecidedBy != model.SystemUser(
			tenantA) {
			t.Errorf("got %+v", got)
		}
	})
}

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
		changed := wire.PermissionChanged{ChangeType: "PermissionSetUpdated", Subject: wire.PermissionSubject{
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
		r.take(wire.RoleHierarchyChanged{
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
		body, err := wire.NewPayload(wire.GroupMemberChanged{
			ChangeType: "MemberRemoved", GroupID: legal, GroupName: "Legal", GroupType: "public", MemberType: "User",
			MemberID: nat, EffectiveAt: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		err = r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			return r.records.Consumer().Handle(ctx, tx, &wire.Event{
				ID: uid(0x77), Type: "GroupMemberChanged",
				Tenant: tenantA, Payload: body,
			})
		})
		if err != nil {
			t.Fatal(err)
		}
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

func TestAnApprovalIsShownToWhoSeesTheRecordOrDecides(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers))))
		quote := r.quote(`"Subtotal":100,"DiscountPercent":10`)
		v := r.submit(quote)
		sees := func(c Caller, want bool) {
			t.Helper()
			_, err := r.Get(t.Context(), c, v.ID)
			page, total, failed := r.List(t.Context(), c, Filter{}, 0, 10)
			if failed != nil || (err == nil) != want || (total == 1) != want || len(page) != total || err != nil &&
				codeOf(err) != CodeNotFound {
				t.Errorf("%s: got %v, and %d in the list, want %v (%v)", c.Subject, err, total, want, failed)
			}
		}
		hidden := func(with FieldPermissions) { r.define(restrict(with)) }
		sees(as(sal), true)
		sees(as(mia), true) // decides
		sees(as(nat), false)
		sees(as(out), false) // a manager who may not read quotes
		sees(as(""), true)
		sees(Caller{Tenant: tenantB}, false)
		got := r.parsed(r.Get(t.Context(), as(mia), v.ID))
		if diff := cmp.Diff(map[string]any{"Name": "Q", "DiscountPercent": 10.0, "GrandTotal": 90.0},
			got.Record); diff != "" {
			t.Errorf("the record (-want +got):\n%s", diff)
		}
		hidden(FieldPermissions{"Quote.DiscountPercent": {Read: true}})
		got = r.parsed(r.Get(t.Context(), as(mia), v.ID))
		if diff := cmp.Diff(map[string]any{"Name": "Q", "GrandTotal": 90.0}, got.Record); diff != "" ||
			len(got.LockedFields) != 1 {
			t.Errorf("with a field that is hidden (-want +got):\n%s\n%v", diff, got.LockedFields)
		}
		r.define(user(mia, "Mia", "", readerSet)) // no manager any more
		sees(as(mia), false)
		r.decide(max, v.ID, Rejected)
		sees(as(max), false) // it is over, and he does not see the quote
		sees(as(sal), true)
		if _, err := r.apply(as(sal), "Quote", records.Op{Kind: records.Delete, ID: quote}, ""); err != nil {
			t.Fatal(err)
		}
		sees(as(sal), false)
	})
}

// TestAnApprovalIsHiddenFromWhoDoesNotDecideAnyMore: who submitted it is no approver although the
// step names its role, and a place goes with the approver that it is of. Neither sees the
// record.
func TestAnApprovalIsHiddenFromWhoDoesNotDecideAnyMore(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers))))
		sees := func(who, id string, want bool) {
			t.Helper()
			_, err := r.Get(t.Context(), as(who), id)
			page, total, failed := r.List(t.Context(), as(who), Filter{}, 0, 10)
			_, waiting, failed2 := r.List(t.Context(), as(who), Filter{Assigned: true}, 0, 10)
			if failed != nil || failed2 != nil || (err == nil) != want || (total == 1) != want || len(page) != total ||
				err != nil && codeOf(err) != CodeNotFound || waiting == 1 && !want {
				t.Errorf("%s: got %v, %d in the list and %d to decide, want %v (%v, %v)", who, err, total, waiting,
					want, failed, failed2)
			}
		}
		r.define(user(sal, "Sal", managers, salesSet))
		v := r.submit(r.quote(`"Subtotal":100,"DiscountPercent":10`))
		sees(sal, v.ID, true) // its owner
		if _, err := r.apply(as(""), "Quote", records.Op{Kind: records.Update, ID: v.RecordID, OwnerID: nat},
			""); err != nil {
			t.Fatal(err)
		}
		sees(sal, v.ID, false)
		if _, _, err := r.Delegate(t.Context(), as(mia), v.ID, leo, "away", nil); err != nil {
			t.Fatal(err)
		}
		sees(leo, v.ID, true)
		r.define(user(mia, "Mia", "", readerSet)) // no manager any more, and so her place is gone
		sees(mia, v.ID, false)
		sees(leo, v.ID, false)
		sees(max, v.ID, true)
		r.define(user(mia, "Mia", managers, readerSet))
		sees(leo, v.ID, true)
	})
}

func TestAnApprovalShowsNoSensitiveValues(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(settling())
		v := r.submit(r.quote(`"Subtotal":100,"DiscountPercent":10`))
		for _, name := range []string{"DiscountPercent", "Status"} {
			f := *model.StandardField("Quote", name)
			f.Sensitive = true
			r.define(model.Definition{Kind: model.KindField, ID: "Quote." + name, Value: &f})
		}
		for _, who := range []string{mia, sal, ""} { // the approver, who sees the record, and the system user
			got := r.parsed(r.Get(t.Context(), as(who), v.ID))
			if diff := cmp.Diff(map[string]any{"Name": "Q", "GrandTotal": 90.0}, got.Record); diff != "" ||
				len(got.LockedFields) != 2 {
				t.Errorf("%q (-want +got):\n%s\nlocked %v", who, diff, got.LockedFields)
			}
		}
		ended := r.decide(mia, v.ID, Approved)
		if ended.Outcome == nil || len(ended.Outcome.Fields) != 0 {
			t.Errorf("the outcome is %+v", ended.Outcome)
		}
	})
}

// FieldPermissions are what one set gives of fields.
type FieldPermissions = map[string]model.FieldPermission

// restrict makes a set that nobody has and that names fields.
func restrict(fields FieldPermissions) model.Definition {
	const id = "00000000-0000-4000-8000-000000000003"
	return model.Definition{Kind: model.KindPermissionSet, ID: id, Value: &model.PermissionSet{
		ID: id, Name: "Secrets",
		Objects: map[string]model.ObjectPermission{}, Fields: fields,
	}}
}

func TestListsAreFiltered(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers))))
		first, second, third := r.quote(`"DiscountPercent":10`), r.quote(`"DiscountPercent":10`),
			r.quote(`"DiscountPercent":10`)
		a := r.submit(first)
		r.clock.Add(1000)
		b := r.submit(second)
		r.clock.Add(1000)
		c := r.submit(third)
		r.decide(mia, b.ID, Approved)
		pending, approved := Pending, Approved
		for _, tt := range []struct {
			who    string
			f      Filter
			offset int
			want   []string
			total  int
		}{
			{sal, Filter{}, 0, []string{c.ID, b.ID}, 3},
			{sal, Filter{}, 2, []string{a.ID}, 3},
			{sal, Filter{Status: &pending}, 0, []string{c.ID, a.ID}, 2},
			{sal, Filter{Status: &approved}, 0, []string{b.ID}, 1},
			{sal, Filter{Object: "Quote", RecordID: first}, 0, []string{a.ID}, 1},
			{sal, Filter{Object: "Lead"}, 0, nil, 0},
			{sal, Filter{SubmittedBy: sal}, 0, []string{c.ID, b.ID}, 3},
			{sal, Filter{SubmittedBy: mia}, 0, nil, 0},
			{sal, Filter{Assigned: true}, 0, nil, 0},
			{mia, Filter{Assigned: true}, 0, []string{a.ID, c.ID}, 2},
			{mia, Filter{Assigned: true}, 1, []string{c.ID}, 2},
			{mia, Filter{Assigned: true, RecordID: third}, 0, []string{c.ID}, 1},
			{mia, Filter{Assigned: true, Status: &approved}, 0, nil, 0},
		} {
			page, total, err := r.List(t.Context(), as(tt.who), tt.f, tt.offset, 2)
			var got []string
			for i := range page {
				got = append(got, page[i].ID)
			}
			if err != nil || total != tt.total || !slices.Equal(got, tt.want) {
				t.Errorf("%+v: got %v of %d (%v), want %v of %d", tt.f, got, total, err, tt.want, tt.total)
			}
		}
		for _, object := range []string{"Invoice", "\x00"} {
			_, _, err := r.List(t.Context(), as(mia), Filter{Object: object}, 0, 2)
			if told, ok := fault.As(err); !ok || told.Kind != fault.Invalid ||
				!strings.Contains(told.Message, "the objects are Account, ") {
				t.Errorf("%q, which is no object: got %v", object, err)
			}
		}
	})
}

func TestARequestWithAKeyIsDoneOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers))))
		quote := r.quote(`"DiscountPercent":10`)
		key := func(name, body string) *wire.Once {
			once, err := wire.ParseOnce(name, "POST /approvals", []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			return &once
		}
		order := Order{Object: "Quote", RecordID: quote}
		first, replay, err := r.Submit(t.Context(), as(sal), order, key("k", `{"a":1}`))
		if err != nil || replay {
			t.Fatal(err)
		}
		again, replay, err := r.Submit(t.Context(), as(sal), order, key("k", `{"a":1}`))
		if err != nil || !replay || string(first) != string(again) {
			t.Errorf("got %s %v", again, err)
		}
		if _, _, err := r.Submit(t.Context(), as(sal), order, key("k", `{"a":2}`)); codeOf(
			err) != "IDEMPOTENCY_CONFLICT" {
			t.Errorf("got %v", err)
		}
		v := r.parsed(first, nil)
		ballot := Ballot{Decision: Approved}
		if _, _, err := r.Decide(t.Context(), as(mia), v.ID, ballot, key("d", `{}`)); err != nil {
			t.Fatal(err)
		}
		if _, replay, err := r.Decide(t.Context(), as(mia), v.ID, ballot, key("d", `{}`)); err != nil || !replay {
			t.Errorf("got %v", err)
		}
		if n := r.count("approval_instance"); n != 1 || strings.Count(r.outbox(), "Decided") != 1 {
			t.Errorf("%d approvals", n)
		}
		// What who submitted may not read any more is not in what is answered again.
		if v.Record["DiscountPercent"] != 10.0 || !slices.Contains(v.LockedFields, "DiscountPercent") {
			t.Fatalf("got %s", first)
		}
		r.define(model.Definition{Kind: model.KindPermissionSet, ID: uid(0x77), Value: &model.PermissionSet{
			ID: uid(0x77), Name: "Insiders", Fields: map[string]model.FieldPermission{"Quote.DiscountPercent": {
				Read: true,
			}},
		}})
		again, replay, err = r.Submit(t.Context(), as(sal), order, key("k", `{"a":1}`))
		if now := r.parsed(again, err); !replay || now.ID != v.ID || now.Status != Pending ||
			strings.Contains(string(again), "DiscountPercent") || now.Record["Name"] != v.Record["Name"] {
			t.Errorf("without the field: got %s", again)
		}
		r.retain(0)
		r.clock.Add(31 * 24 * 60 * 60 * 1000)
		r.retain(2)
	})
}

// retain deletes the idempotency keys that have expired.
func (r *rig) retain(want int64) {
	r.Helper()
	err := r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		n, err := idempotency.Retain(ctx, tx, wire.Stamp(r.clock.Load()), idempotency.DefaultRetention, 10)
		if n != want {
			r.Errorf("%d keys were deleted, want %d", n, want)
		}
		return err
	})
	if err != nil {
		r.Error(err)
	}
}

func TestARecordThatChangesIsLookedAtAnew(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		p := processOf(step("Manager", model.ByAny, ofRole(managers)))
		p.Value.(*model.ApprovalProcess).Condition = `record.Description != "withdrawn"`
		r.define(p)
		quote := r.quote(`"DiscountPercent":10`)
		v := r.submit(quote)
		meets := func(want bool) {
			t.Helper()
			if got := r.parsed(r.Get(t.Context(), as(sal), v.ID)); got.MeetsCondition != want {
				t.Errorf("it meets the condition: %v", got.MeetsCondition)
			}
		}
		meets(true)
		updated := wire.RecordUpdated{ObjectName: "Quote", RecordID: quote, OwnerID: sal, ChangedFields: []string{
			"Description",
		}, RecordVersion: 1}
		if _, err := r.apply(as(sal), "Quote", records.Op{Kind: records.Update, ID: quote},
			`{"Description":"withdrawn"}`); err != nil {
			t.Fatal(err)
		}
		r.take(updated)
		meets(false)
		if _, err := r.apply(as(sal), "Quote", records.Op{Kind: records.Update, ID: quote},
			`{"Description":null}`); err != nil {
			t.Fatal(err)
		}
		r.take(updated) // however old it is, what is true counts
		meets(true)
		p.Value.(*model.ApprovalProcess).IsActive = false
		r.define(p)
		r.take(wire.ApprovalConfigChanged{
			ChangeType: "ProcessDeactivated", ObjectName: "Quote", ProcessID: process,
			ProcessName: "P", EffectiveAt: 1,
		})
		meets(false)
		if got := r.decide(mia, v.ID, Approved); got.Status != Approved { // what was submitted goes on
			t.Errorf("got %+v", got)
		}
	})
}

func TestARecountFindsLocksThatAreWrong(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers))))
		var ids []string
		for range 3 {
			ids = append(ids, r.submit(r.quote(`"DiscountPercent":10`)).ID)
		}
		r.decide(mia, ids[2], Approved)
		r.consistent()
		lock := func(id string, fields ...string) model.FieldLock {
			return model.FieldLock{ApprovalID: id, Object: "Quote", RecordID: uid(0x98), Fields: fields, At: 1}
		}
		err := r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			return errors.Join(records.Locks{}.Unlock(ctx, tx, tenantA, ids[0]), records.Locks{}.Lock(ctx, tx, tenantA,
				lock(ids[1], "Name")),
				records.Locks{}.Lock(ctx, tx, tenantA, lock(ids[2], "Name")))
		})
		if err != nil {
			t.Fatal(err)
		}
		found, err := r.Recount(t.Context(), tenantA)
		if err != nil || len(found) != 3 || !strings.Contains(found[0], ids[0]) ||
			!strings.Contains(found[0], "not locked") ||
			!strings.Contains(found[1], "other fields") || !strings.Contains(found[2], "not pending") {
			t.Errorf("got %q (%v)", found, err)
		}
	})
}
