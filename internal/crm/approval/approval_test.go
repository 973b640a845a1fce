package approval

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
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
	r.See(func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	})
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
		give(mia, out, canonical.CodeInvalid)
		give(mia, sal, canonical.CodeInvalid) // who submitted
		give(mia, mia, canonical.CodeInvalid)
		give(mia, uid(0x99), canonical.CodeInvalid)
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
			r.Clock.Add(1000)
			ids = append(ids, v.ID)
		}
		trips := func(f Filter) uint64 { // the fewest of some lists: others use the database too
			t.Helper()
			fewest := uint64(math.MaxUint64)
			for range 10 {
				before := r.DB.Stats().Trips
				page, total, err := r.List(t.Context(), as(nat), f, 0, 100)
				if err != nil || total != len(ids) || len(page) != len(ids) {
					t.Fatalf("listed %d of %d (%v), want %d", len(page), total, err, len(ids))
				}
				fewest = min(fewest, r.DB.Stats().Trips-before)
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
func (r *rig) take(p events.Payload) {
	r.Helper()
	body, err := events.NewPayload(p)
	if err != nil {
		r.Fatal(err)
	}
	r.Handle(&events.Event{ID: uid(0x77), Type: p.EventType(), Tenant: tenantA, Payload: body}, r.Consumer())
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
