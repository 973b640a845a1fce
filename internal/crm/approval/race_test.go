package approval

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
	"renga.dev/renga/internal/workflow/flow"
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
				// the managers do not see what has ended
				if code := codeOf(failed[1-winner]); code != CodeEnded && code != CodeNotFound {
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
	if n := strings.Count(events, "ApprovalDecided "); n != 1 || strings.Count(events, `"decision":"`+want.String()+
		`"`) != 1 {
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
	if want := [...]string{Approved: "Approved", Rejected: "Rejected", Recalled: "Draft"}[end]; got != want ||
		version < before {
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

// meeting lets two requests go on together: each waits for the other when it has read the
// model to look at the approval and, where transactions run beside each other, when it has
// read it to write.
type meeting struct {
	kit.Models
	write bool // PostgreSQL: SQLite has one writer
}

// guest is a request that takes part in a meeting.
type guest struct {
	met  int
	here chan<- struct{}
	too  <-chan struct{}
}

type guestKey struct{}

// guests are two that wait for each other, until one has left.
func guests() [2]*guest {
	a, b := make(chan struct{}, 2), make(chan struct{}, 2)
	return [2]*guest{{here: a, too: b}, {here: b, too: a}}
}

func (m meeting) Model(ctx context.Context, tx *sqldb.Tx, tenant string) (*model.Model, error) {
	model, err := m.Models.Model(ctx, tx, tenant)
	if g, ok := ctx.Value(guestKey{}).(*guest); ok {
		if g.met++; g.met == 1 || g.met == 2 && m.write {
			g.here <- struct{}{}
			select {
			case <-g.too:
			case <-time.After(time.Minute):
				return nil, errors.New("the other request did not come within a minute")
			}
		}
	}
	return model, err
}

// TestAnApprovalIsOpenUntilItsDecisionIsCommitted asks as core does, which locks the record, while
// a decision is being written: it waits, and does not lock what has ended.
func TestAnApprovalIsOpenUntilItsDecisionIsCommitted(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		if r.DB.Dialect() == sqldb.SQLite {
			t.Skip("SQLite has one writer")
		}
		r.staff()
		r.define(settling())
		v := r.submit(r.quote(`"DiscountPercent":10`))
		open := true
		waits := sqltest.Waits(t, r.DB, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE approval_instance SET status = 1 WHERE tenant_id = $1 AND id = $2", tenantA,
				v.ID)
			return err
		}, func(ctx context.Context, tx *sqldb.Tx) (err error) {
			open, err = r.Open(ctx, tx, tenantA, v.ID)
			return err
		})
		if !waits || open {
			t.Errorf("waits %t, open %t; want that it waits and is not open any more", waits, open)
		}
		// And what was found open stays so until the end of the transaction.
		v = r.submit(r.quote(`"DiscountPercent":10`))
		if !sqltest.Waits(t, r.DB, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := r.Open(ctx, tx, tenantA, v.ID)
			return err
		}, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE approval_instance SET status = 1 WHERE tenant_id = $1 AND id = $2", tenantA,
				v.ID)
			return err
		}) {
			t.Error("a decision does not wait for who found the approval open")
		}
	})
}

// TestTwoWhoMustBothApproveDecideAtOnce lets the two approvers of a stage for all decide when
// neither has seen the other's decision: both count, the approval ends, and its execution
// moves on. One that was left pending would wait for nobody.
func TestTwoWhoMustBothApproveDecideAtOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Both", model.ByAll, ofUser(mia), ofUser(max)), step("Then", model.ByAll, ofUser(mia),
			ofUser(max))))
		r.cfg.Models = meeting{r.cfg.Models, r.DB.Dialect() == sqldb.Postgres}
		for round := range 10 {
			v := r.submit(r.quote(`"DiscountPercent":10`))
			for stage := range 2 {
				var failed [2]error
				var both sync.WaitGroup
				all := guests()
				for i, who := range []string{mia, max} {
					both.Go(func() {
						defer close(all[i].here)
						ctx := context.WithValue(t.Context(), guestKey{}, all[i])
						_, _, failed[i] = r.Decide(ctx, as(who), v.ID, Ballot{Decision: Approved}, nil)
					})
				}
				both.Wait()
				if failed[0] != nil || failed[1] != nil {
					t.Fatalf("round %d, stage %d: %v, %v", round, stage, failed[0], failed[1])
				}
				got := r.parsed(r.Get(t.Context(), as(sal), v.ID))
				if stage == 0 && (got.Status != Pending || got.CurrentStageIndex != 1) || stage == 1 &&
					got.Status != Approved {
					t.Fatalf("round %d: after stage %d it is %v in stage %d", round, stage, got.Status,
						got.CurrentStageIndex)
				}
			}
			if status := r.execution(v.ExecutionID).Status; status != flow.Completed {
				t.Fatalf("round %d: the execution of what was approved is %v", round, status)
			}
			if events := r.outbox(); strings.Count(events, "ApprovalDecided ") != 1 {
				t.Fatalf("round %d: got %s", round, events)
			}
		}
		if n := r.count("approval_vote"); n != 40 {
			t.Errorf("%d decisions are kept, want 40", n)
		}
		r.consistent()
	})
}
