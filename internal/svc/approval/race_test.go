package approval

import (
	"strings"
	"sync"
	"testing"

	"renga.dev/renga/internal/flow"
)

// races is how often two try something at once, in each of three ways.
func races() int {
	if long() {
		return 1000
	}
	return 34
}

// TestOfTwoWhoDecideAtOnceOneCounts lets two approvers decide, and a decision meet a
// recall or a cancel of the execution: one outcome, one event, and the record as the outcome
// says, written once however often core takes the event; and both sides win some.
func TestOfTwoWhoDecideAtOnceOneCounts(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(settling())
		decide := func(who string, d Status) func(id string) error {
			return func(id string) error {
				_, _, err := r.Decide(t.Context(), as(who), id, Ballot{Decision: d}, nil)
				return err
			}
		}
		recall := func(id string) error {
			_, _, err := r.Recall(t.Context(), as(sal), id, "", nil)
			return err
		}
		cancel := func(id string) error {
			if err := r.cancel(r.parsed(r.Get(t.Context(), as(sal), id)).ExecutionID); err != nil {
				return err
			}
			return r.settle(t.Context())
		}
		for _, race := range []struct {
			name string
			one  func(id string) error
			two  func(id string) error
			ends [2]Status
		}{
			{"two decisions", decide(mia, Approved), decide(max, Rejected), [2]Status{Approved, Rejected}},
			{"a decision and a recall", decide(mia, Approved), recall, [2]Status{Approved, Recalled}},
			{"a decision and a cancel", decide(mia, Approved), cancel, [2]Status{Approved, Recalled}},
		} {
			quote := r.quote(`"DiscountPercent":10`)
			var won [2]int
			for i := range races() {
				v := r.submit(quote)
				var failed [2]error
				var both sync.WaitGroup
				order := []func(){
					func() { failed[0] = race.one(v.ID) },
					func() { failed[1] = race.two(v.ID) },
				}
				both.Go(order[i%2])
				both.Go(order[1-i%2])
				both.Wait()
				if (failed[0] == nil) == (failed[1] == nil) {
					t.Fatalf("%s: %v, %v", race.name, failed[0], failed[1])
				}
				winner := 0
				if failed[0] != nil {
					winner = 1
				}
				won[winner]++
				if code := codeOf(failed[1-winner]); code != CodeEnded && code != CodeNotFound { // the managers do not see what has ended
					t.Fatalf("%s: %v", race.name, failed[1-winner])
				}
				r.outcomeOf(v, race.ends[winner])
				r.writtenOnce(v, race.ends[winner])
			}
			if won[0] == 0 || won[1] == 0 {
				t.Errorf("%s: %d and %d were first", race.name, won[0], won[1])
			}
			t.Logf("%s: %d and %d were first", race.name, won[0], won[1])
		}
		r.consistent()
	})
}

// outcomeOf holds an approval that two have raced for against its outcome.
func (r *rig) outcomeOf(v View, want Status) {
	r.Helper()
	got := r.parsed(r.Get(r.Context(), as(sal), v.ID))
	if got.Status != want || r.count("records_lock") != 1 { // until the outcome is written
		r.Fatalf("it is %v with %d locks, want %v", got.Status, r.count("records_lock"), want)
	}
	ends := flow.Completed
	if want == Recalled {
		ends = flow.Canceled
	}
	if status := r.execution(v.ExecutionID).Status; status != ends {
		r.Fatalf("the execution of what was %v is %v", want, status)
	}
	events := r.outbox()
	if n := strings.Count(events, "ApprovalDecided "); n != 1 || strings.Count(events, `"decision":"`+want.String()+`"`) != 1 {
		r.Fatalf("got %s", events)
	}
}

// writtenOnce lets core take the events of an approval, twice, and holds the record against
// its outcome.
func (r *rig) writtenOnce(v View, end Status) {
	r.Helper()
	if got := r.parsed(r.Get(r.Context(), as(sal), v.ID)); got.Outcome == nil || got.Outcome.Status != OutcomeWaiting {
		r.Fatalf("before core took the event: %+v", got.Outcome)
	}
	_, before := r.status(v.RecordID)
	r.deliver(1)
	got, version := r.status(v.RecordID)
	if want := [...]string{Approved: "Approved", Rejected: "Rejected", Recalled: "Draft"}[end]; got != want || version < before {
		r.Fatalf("the record of what was %v is %s at %v, before at %v", end, got, version, before)
	}
	if n := r.count("records_lock"); n != 0 {
		r.Fatalf("%d locks are left", n)
	}
	last := r.delivered
	r.delivered = r.passed // the events of this race once more
	r.deliver(1)
	r.passed = last
	if again, at := r.status(v.RecordID); again != got || at != version {
		r.Fatalf("taken twice, it is %s at %v, before %s at %v", again, at, got, version)
	}
	if settled := r.parsed(r.Get(r.Context(), as(sal), v.ID)).Outcome; settled.Status != OutcomeWritten {
		r.Fatalf("got %+v", settled)
	}
}
