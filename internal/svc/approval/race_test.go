package approval

import (
	"strings"
	"sync"
	"testing"

	"renga.dev/renga/internal/crm"
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
// recall or a cancel of the execution: one outcome, one event, the lock as the outcome
// says, and both sides win some.
func TestOfTwoWhoDecideAtOnceOneCounts(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Manager", crm.ByAny, ofRole(managers))))
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
	if got.Status != want || r.count("records_lock") != 0 {
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
