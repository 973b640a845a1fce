package schedules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

const everyMinute = `{"graph":"instant","input":{"region":"north"},"cron":"* * * * *"}`

func TestAScheduleStartsAnExecutionForADueInstant(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		stored := r.put(tenantA, "nightly", everyMinute)
		if stored.NextAt != at(1) || stored.Zone != "UTC" || stored.Overlap != Skip {
			t.Fatalf("got %+v", stored)
		}
		r.run()
		if n := len(r.executions(tenantA)); n != 0 {
			t.Fatalf("%d executions before anything is due", n)
		}
		r.later(time.Minute)
		r.run()
		rows := r.ledger("nightly")
		if len(rows) != 1 || rows[0].Outcome != Started || rows[0].DueAt != at(1) || rows[0].DecidedAt != at(1) {
			t.Fatalf("got %+v", rows)
		}
		s := r.state(rows[0].ExecutionID)
		want := `{"region":"north","schedule":{"id":"nightly","dueAt":"2026-01-05T09:01:00.000Z",` +
			`"localTime":"2026-01-05T09:01:00Z","origin":"schedule"}}`
		if string(s.Input) != want || s.Status != flow.Completed {
			t.Errorf("got %s %s, want %s", s.Status, s.Input, want)
		}
		now, err := r.Get(t.Context(), tenantA, "nightly")
		if err != nil || now.NextAt != at(2) || now.ExecutionID != rows[0].ExecutionID || now.StartedAt != at(1) {
			t.Errorf("got %+v, %v", now, err)
		}
	})
}

func TestOverlapIsSkippedQueuedOrCancelled(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for _, p := range []Overlap{Skip, Queue, Cancel} {
			r.put(tenantA, string(p), `{"graph":"work","cron":"* * * * *","overlap":"`+string(p)+`"}`)
		}
		r.later(time.Minute)
		first := r.last("cancel")
		r.later(time.Minute)
		r.end(r.last("queue"))
		r.later(time.Second) // less than a quarter of the minute that it was active
		waits := r.words("queue")
		r.later(20 * time.Second)
		r.later(39 * time.Second)
		for id, want := range map[string][]string{
			"skip":   {"STARTED", "SKIPPED OVERLAP", "SKIPPED OVERLAP"},
			"queue":  {"STARTED", "STARTED", "QUEUED"},
			"cancel": {"STARTED", "STARTED", "STARTED"},
		} {
			if diff := cmp.Diff(want, r.words(id)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", id, diff)
			}
		}
		if diff := cmp.Diff([]string{"STARTED", "QUEUED"}, waits); diff != "" {
			t.Errorf("queue after a second (-want +got):\n%s", diff)
		}
		if s := r.state(first); s.Status != flow.Canceled {
			t.Errorf("the first execution of cancel is %s", s.Status)
		}
		if rows := r.ledger("cancel"); rows[1].Overlapped != first || rows[2].Overlapped != rows[1].ExecutionID {
			t.Errorf("got %+v", rows)
		}
	})
}

func TestWhatCameWhileNobodyLookedIsCaughtUpOrMissed(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put(tenantA, "short", `{"graph":"instant","cron":"* * * * *","catchUp":"2m"}`)
		r.put(tenantA, "queue", `{"graph":"instant","cron":"* * * * *","catchUp":"2m","overlap":"queue"}`)
		r.later(6*time.Minute + time.Second)
		want := []string{"MISSED x4", "SKIPPED SUPERSEDED", "STARTED"}
		if diff := cmp.Diff(want, r.words("short")); diff != "" {
			t.Errorf("short (-want +got):\n%s", diff)
		}
		r.later(time.Second)
		if diff := cmp.Diff([]string{"MISSED x4", "STARTED", "STARTED"}, r.words("queue")); diff != "" {
			t.Errorf("queue (-want +got):\n%s", diff)
		}
	})
}

func TestAPausedScheduleSkips(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put(tenantA, "nightly", everyMinute)
		r.clock.forward(time.Minute) // what is due by now is started first
		paused, err := r.Pause(t.Context(), ann, "nightly", "closed", nil)
		if err != nil || !paused.Paused || paused.PauseReason != "closed" {
			t.Fatalf("got %+v, %v", paused, err)
		}
		r.later(2*time.Minute + time.Second)
		resumed, err := r.Resume(t.Context(), ann, "nightly", nil)
		if err != nil || resumed.Paused || resumed.NextAt != at(4) {
			t.Fatalf("got %+v, %v", resumed, err)
		}
		r.later(time.Minute)
		if diff := cmp.Diff([]string{"STARTED", "SKIPPED PAUSED x2", "STARTED"}, r.words("nightly")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestAKeyPausesOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put(tenantA, "nightly", everyMinute)
		key, err := canonical.ParseIdempotencyKey("k", "POST /schedules/nightly/pause", nil)
		if err != nil {
			t.Fatal(err)
		}
		first, err := r.Pause(t.Context(), ann, "nightly", "closed", &key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Resume(t.Context(), ann, "nightly", nil); err != nil {
			t.Fatal(err)
		}
		again, err := r.Pause(t.Context(), ann, "nightly", "closed", &key)
		if diff := cmp.Diff(fmt.Sprint(first), fmt.Sprint(again)); err != nil || diff != "" {
			t.Errorf("%v (-first +again):\n%s", err, diff)
		}
		if now, err := r.Get(t.Context(), tenantA, "nightly"); err != nil || now.Paused {
			t.Errorf("got %+v, %v, want it to be resumed still", now, err)
		}
	})
}

func TestAChangeCountsFromNowOn(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put(tenantA, "nightly", everyMinute)
		r.clock.forward(time.Minute)
		r.put(tenantA, "nightly", `{"graph":"instant","cron":"*/10 * * * *"}`)
		if got := r.words("nightly"); !slices.Equal(got, []string{"STARTED"}) {
			t.Errorf("what was due before the change: got %q", got)
		}
		r.later(9 * time.Minute)
		if rows := r.ledger("nightly"); len(rows) != 2 || rows[1].DueAt != at(10) {
			t.Errorf("got %+v", rows)
		}
		same := r.put(tenantA, "nightly", `{"cron":"*/10 * * * *","graph":"instant","zone":"UTC"}`)
		if same.UpdatedAt != at(1) {
			t.Errorf("what says the same was changed at %s", same.UpdatedAt)
		}
	})
}

func TestWhatWaitsIsGivenUpWithItsPolicyOrItsSchedule(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for _, id := range []string{"changed", "deleted"} {
			r.put(tenantA, id, `{"graph":"work","cron":"* * * * *","overlap":"queue"}`)
		}
		r.later(time.Minute)
		r.later(time.Minute)
		r.put(tenantA, "changed", `{"graph":"work","cron":"* * * * *","overlap":"skip"}`)
		if err := r.Delete(t.Context(), ann, "deleted"); err != nil {
			t.Fatal(err)
		}
		for id, reason := range map[string]string{"changed": Changed, "deleted": Deleted} {
			if diff := cmp.Diff([]string{"STARTED", "SKIPPED " + reason}, r.words(id)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", id, diff)
			}
		}
		_, err := r.Get(t.Context(), tenantA, "deleted")
		if fault.KindOf(err) != fault.NotFound {
			t.Errorf("got %v, want it to be gone", err)
		}
		r.later(time.Minute)
		if n := len(r.ledger("deleted")); n != 2 {
			t.Errorf("a deleted schedule has %d rows", n)
		}
	})
}

func TestAScheduleWhoseStartIsRefusedGoesOn(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put(tenantA, "bad", everyMinute)
		r.put(tenantA, "good", everyMinute)
		r.write(t.Context(), "test", func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE schedules_schedule SET body = $3 WHERE tenant_id = $1 AND id = $2", tenantA,
				"bad", strings.Replace(everyMinuteStored, "instant", "gone", 1))
			return err
		})
		r.later(time.Minute)
		rows := r.ledger("bad")
		if len(rows) != 1 || rows[0].Reason != Refused ||
			!strings.Contains(rows[0].Message, "graph gone does not exist") {
			t.Errorf("got %+v", rows)
		}
		if diff := cmp.Diff([]string{"STARTED"}, r.words("good")); diff != "" {
			t.Errorf("good (-want +got):\n%s", diff)
		}
	})
}

const everyMinuteStored = `{"graph":"instant","input":{},"cron":"* * * * *","zone":"UTC","nonexistent":"shift",` +
	`"ambiguous":"first","overlap":"skip","catchUp":"1h0m0s"}`

func TestChangesAreInTheAuditLog(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put(tenantA, "nightly", everyMinute)
		if _, err := r.Pause(t.Context(), ann, "nightly", "closed", nil); err != nil {
			t.Fatal(err)
		}
		if err := r.Delete(t.Context(), ann, "nightly"); err != nil {
			t.Fatal(err)
		}
		entries, _, err := audit.New(r.db).List(t.Context(), audit.Query{Tenant: tenantA, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Action+" "+e.Subject+" "+e.Actor+" "+e.Reason)
		}
		want := []string{
			"schedule.delete nightly ann ", "schedule.pause nightly ann closed", "schedule.put nightly ann ",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestOneOfThoseWhoStoreAScheduleAtOnceCreatesIt lets several processes store new schedules of the same ids.
func TestOneOfThoseWhoStoreAScheduleAtOnceCreatesIt(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		d, err := ParseDefinition([]byte(everyMinute))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			var all sync.WaitGroup
			var made atomic.Int64
			start := make(chan struct{})
			for range 8 {
				other := New(r.db, r.cfg)
				all.Go(func() {
					<-start
					_, created, err := other.Put(t.Context(), ann, fmt.Sprint("s-", i), d)
					if err != nil {
						t.Error(err)
					}
					if created {
						made.Add(1)
					}
				})
			}
			close(start)
			all.Wait()
			if made.Load() != 1 {
				t.Errorf("s-%d was created %d times", i, made.Load())
			}
		}
	})
}

// TestProcessesThatDecideAtOnceStartEachInstantOnce lets several processes look at the same schedules.
func TestProcessesThatDecideAtOnceStartEachInstantOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		const schedules = 120
		for i := range schedules {
			r.put(tenantA, fmt.Sprintf("s-%03d", i), everyMinute)
		}
		for minute := range 3 {
			r.clock.forward(time.Minute)
			var all sync.WaitGroup
			errs := make(chan error, 4)
			for range cap(errs) {
				other := New(r.db, r.cfg)
				all.Go(func() {
					for worked := true; worked; {
						var err error
						if worked, _, err = other.step(t.Context()); err != nil {
							errs <- err
							return
						}
					}
				})
			}
			all.Wait()
			close(errs)
			for err := range errs {
				t.Error(err)
			}
			r.clock.forward(claimFor + time.Second) // of claims that another process overtook
			r.run()
			r.clock.forward(-claimFor - time.Second)
			if n := len(r.executions(tenantA)); n != min(1000, schedules*(minute+1)) {
				t.Fatalf("minute %d: %d executions", minute, n)
			}
		}
	})
}

func TestAClaimOfAProcessThatDiedRunsOut(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put(tenantA, "nightly", everyMinute)
		r.clock.forward(time.Minute)
		if held, err := r.claim(t.Context(), tenantA, ""); err != nil || len(held) != 1 {
			t.Fatal(held, err)
		}
		r.run()
		if n := len(r.executions(tenantA)); n != 0 {
			t.Fatalf("%d executions of a schedule that another process has claimed", n)
		}
		r.later(claimFor)
		if diff := cmp.Diff([]string{"STARTED"}, r.words("nightly")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestADecisionThatComesTooLateChangesNothing(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put(tenantA, "nightly", everyMinute)
		r.clock.forward(time.Minute)
		held, err := r.claim(t.Context(), tenantA, "")
		if err != nil {
			t.Fatal(err)
		}
		r.later(claimFor) // another process decides
		if err := r.decideAll(t.Context(), tenantA, held); err != nil {
			t.Fatal(err)
		}
		if n := len(r.executions(tenantA)); n != 1 || len(r.ledger("nightly")) != 1 {
			t.Errorf("%d executions, ledger %q", n, r.words("nightly"))
		}
	})
}

// broken is an engine whose transactions end before or after the commit as the test says.
type broken struct {
	Engine
	before, after error
}

func (b *broken) Do(ctx context.Context, u engine.Unit) ([]engine.Result, error) {
	if b.before != nil {
		return nil, b.before
	}
	results, err := b.Engine.Do(ctx, u)
	return results, errors.Join(err, b.after)
}

func TestWhatCouldNotBeDoneIsDoneLaterOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put(tenantA, "nightly", everyMinute)
		away := fault.Overloaded("away")
		for name, b := range map[string]*broken{
			"before the commit": {Engine: r.engine, before: away}, "after it": {Engine: r.engine, after: away},
		} {
			cfg := r.cfg
			cfg.Engine = b
			r.clock.forward(time.Minute)
			if _, _, err := New(r.db, cfg).step(t.Context()); !fault.Passes(err) {
				t.Errorf("%s: got %v", name, err)
			}
			r.later(claimFor)
			r.clock.forward(-claimFor)
		}
		if diff := cmp.Diff([]string{"STARTED", "STARTED"}, r.words("nightly")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if n := len(r.executions(tenantA)); n != 2 {
			t.Errorf("%d executions, want 2", n)
		}
	})
}

func TestATenantWithThousandsOfDueSchedulesDoesNotHoldUpOthers(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.graph(tenantB, "instant", "")
		for i := range 3 * MaxClaimed {
			r.put(tenantA, fmt.Sprintf("s-%03d", i), everyMinute)
		}
		r.clock.forward(time.Second)
		r.put(tenantB, "one", everyMinute)
		r.clock.forward(time.Minute)
		if _, _, err := r.step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a, b := len(r.executions(tenantA)), len(r.executions(tenantB)); a != MaxClaimed || b != 1 {
			t.Errorf("after one look: %d and %d executions, want %d and 1", a, b, MaxClaimed)
		}
	})
}
