package automation_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/model"
)

// job defines a job and lets automation hear of it.
func (r *rig) job(n int, name, cron, zone, more string) {
	r.Helper()
	r.define(model.KindScheduledJob, id(n), fmt.Sprintf(`{"name":%q,"cron":%q,"timeZone":%q,%s}`, name, cron, zone,
		more))
	r.quiet()
}

// show is a job as it is listed.
func (r *rig) show(n int) automation.Job {
	r.Helper()
	all, err := r.auto.Jobs(r.Context(), tenant)
	if err != nil {
		r.Fatal(err)
	}
	at := slices.IndexFunc(all, func(j automation.Job) bool { return j.ID == id(n) })
	if at < 0 {
		return automation.Job{}
	}
	return all[at]
}

func TestAJobComesAtItsTimesAndActsOnItsRecordsOnce(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		r.auto.SetChunk(3)
		r.graph("greet")
		for n := range 10 {
			r.create("Account", fmt.Sprintf(`{"Name":"A%d","NumberOfEmployees":%d}`, n, n))
		}
		r.at("2026-01-10T12:00:00Z")
		r.job(50, "Nightly", "30 9 * * *", "Asia/Tokyo",
			`"object":"Account","condition":"record.NumberOfEmployees >= 5","actions":[
			{"key":"rate","type":"updateField","field":"Rating","value":"Warm"},{"key":"tell","type":"notify",
			"message":"big"},{"key":"go","type":"startGraph","graphId":"greet"}]`)
		r.job(51, "Alone", "0 * * * *", "UTC", `"actions":[{"key":"go","type":"startGraph","graphId":"greet"}]`)
		if got := r.show(50); got.NextAt.String() != "2026-01-11T00:30:00.000Z" || got.Last != nil {
			t.Errorf("got %+v", got)
		}
		r.at("2026-01-11T00:29:59Z")
		r.work()
		alone := r.show(51).Last
		if r.show(50).Last != nil || alone.FiredFor.String() != "2026-01-11T00:00:00.000Z" || alone.Missed != 11 ||
			r.executions() != 1 {
			t.Errorf("before its time: %+v, %+v", r.show(50).Last, alone)
		}
		r.at("2026-01-11T00:30:01Z")
		var all sync.WaitGroup
		for range 4 { // as many processes would
			all.Go(func() {
				for {
					worked, err := r.auto.Step(t.Context())
					if err != nil {
						t.Error(err)
					}
					if !worked || err != nil {
						return
					}
				}
			})
		}
		all.Wait()
		r.quiet()
		got := r.show(50)
		if got.Last == nil || got.Last.FiredFor.String() != "2026-01-11T00:30:00.000Z" || got.Last.Seen != 10 ||
			got.Last.Matched != 5 || got.Last.Missed != 0 || got.Last.Failed != 0 ||
			got.Last.EndedAt == 0 || got.NextAt.String() != "2026-01-12T00:30:00.000Z" {
			t.Errorf("got %+v, last %+v", got, got.Last)
		}
		if runs := r.runs(automation.RunQuery{EventID: got.Last.EventID}); len(runs) != 15 {
			t.Errorf("%d actions, want 15: %q", len(runs), runs)
		}
		if n := len(r.inbox(ann)); n != 5 || r.executions() != 6 {
			t.Errorf("ann was notified %d times, %d executions", n, r.executions())
		}
		r.sound()
	})
}

func TestMissedTimesRunOnceForTheNewest(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, r *rig) {
		r.create("Account", `{"Name":"A"}`)
		r.job(50, "Daily", "0 9 * * *", "UTC",
			`"object":"Account","actions":[{"key":"tell","type":"notify","message":"morning"}]`)
		r.at("2026-01-20T08:00:00Z") // nobody was there for nine mornings
		r.work()
		if got := r.show(50).Last; got.FiredFor.String() != "2026-01-19T09:00:00.000Z" || got.Missed != 8 {
			t.Errorf("got %+v", got)
		}
		if n := len(r.inbox(ann)); n != 1 {
			t.Errorf("ann was notified %d times", n)
		}
		r.sound()
	})
}

func TestChangesOfAJobTakeEffect(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, r *rig) {
		const tell = `"object":"Account","actions":[{"key":"tell","type":"notify","message":"m"}]`
		r.create("Account", `{"Name":"A"}`)
		r.job(50, "J", "0 9 * * *", "UTC", tell)
		first := r.show(50).NextAt
		r.clock.Add(3600_000)
		r.job(50, "J2", "0 9 * * *", "UTC", strings.Replace(tell, `"m"`, `"n"`, 1)) // its times stay
		if got := r.show(50); got.NextAt != first || got.Name != "J2" {
			t.Errorf("got %+v", got)
		}
		r.job(50, "J2", "0 9 * * *", "Asia/Tokyo", tell)
		if got := r.show(50).NextAt.String(); got != "2026-01-11T00:00:00.000Z" {
			t.Errorf("got %s", got)
		}
		r.job(50, "J2", "0 9 * * *", "Asia/Tokyo", tell+`,"isActive":false`)
		if got := r.show(50); got.NextAt != 0 {
			t.Errorf("got %+v", got)
		}
		r.at("2026-02-01T00:00:00Z")
		r.work()
		if r.show(50).Last != nil || len(r.inbox(ann)) != 0 {
			t.Error("a job that is off came")
		}
		r.sound()
		if err := r.metadata.Delete(t.Context(), r.change(model.KindScheduledJob, 50)); err != nil {
			t.Fatal(err)
		}
		r.quiet()
		r.sound()
	})
}

func TestARefusedActionOfAJobIsNotedAndTheOthersAreDone(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, r *rig) {
		for n := range 3 {
			r.create("Account", fmt.Sprintf(`{"Name":"A%d"}`, n))
		}
		r.define(
			model.KindValidationRule,
			id(300),
			`{"name":"V","object":"Account","condition":"record.Name == \"A1\" && record.Phone == \"9\"",
				"message":"Not 9.","field":"Phone"}`,
		)
		r.job(50, "J", "0 9 * * *", "UTC",
			`"object":"Account","actions":[{"key":"set","type":"updateField","field":"Phone","value":"9"}]`)
		r.at("2026-01-11T09:00:00Z")
		r.work()
		bad := automationFailed(t)
		page, total, err := r.auto.Runs(t.Context(), tenant, automation.RunQuery{Outcome: bad, Limit: 10})
		if err != nil || total != 1 || page[0].Error != "Not 9." || page[0].Source != automation.SourceJob {
			t.Errorf("got %+v %d %v", page, total, err)
		}
		if got := r.show(50).Last; got.Matched != 3 || got.Failed != 1 {
			t.Errorf("got %+v", got)
		}
		r.quiet()
		r.sound()
	})
}

// TestALongRefusalIsCutBetweenCharacters: half a character would be no text for PostgreSQL, where
// the job would never go on, nor for whoever reads the runs.
func TestALongRefusalIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		r.create("Account", `{"Name":"A"}`)
		message := strings.Repeat("連", 1000)
		r.define(model.KindValidationRule, id(300),
			`{"name":"V","object":"Account","condition":"record.Phone == \"9\"","message":"`+message+
				`","field":"Phone"}`)
		r.job(50, "J", "0 9 * * *", "UTC",
			`"object":"Account","actions":[{"key":"set","type":"updateField","field":"Phone","value":"9"}]`)
		r.at("2026-01-11T09:00:00Z")
		r.work()
		page, total, err := r.auto.Runs(t.Context(), tenant, automation.RunQuery{
			Outcome: automationFailed(t),
			Limit:   10,
		})
		if err != nil || total != 1 || page[0].Error != strings.Repeat("連", 1024/3) {
			t.Errorf("got %+v %d %v", page, total, err)
		}
		if got := r.show(50).Last; got.Failed != 1 || got.EndedAt == 0 {
			t.Errorf("got %+v", got)
		}
		r.quiet()
		r.sound()
	})
}

func automationFailed(t *testing.T) automation.Outcome {
	t.Helper()
	o, ok := automation.ParseOutcome("FAILED")
	if !ok {
		t.Fatal("there is no outcome FAILED")
	}
	return o
}

// TestOfTwoProcessesThatFireAJobOneDoes lets processes act on a job that all of them have read
// before any of them acted: one fires it, one does each chunk, and one that comes long after
// does nothing.
func TestOfTwoProcessesThatFireAJobOneDoes(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		r.auto.SetChunk(3)
		for n := range 7 {
			r.create("Account", fmt.Sprintf(`{"Name":"A%d"}`, n))
		}
		r.at("2026-01-10T12:00:00Z")
		r.job(50, "Nightly", "30 9 * * *", "UTC",
			`"object":"Account","condition":"true","actions":[{"key":"tell","type":"notify","message":"hello"}]`)
		r.at("2026-01-11T09:30:01Z")
		due, _, err := r.auto.Seen(t.Context())
		if err != nil || len(due) != 1 {
			t.Fatalf("%d jobs are due, %v", len(due), err)
		}
		one := func(what string, do func() (bool, error)) {
			t.Helper()
			var did atomic.Int64
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					yes, err := do()
					if err != nil {
						t.Errorf("%s: %v", what, err)
					}
					if yes {
						did.Add(1)
					}
				})
			}
			all.Wait()
			if did.Load() != 1 {
				t.Errorf("%s: %d did it", what, did.Load())
			}
		}
		one("fire", func() (bool, error) { return r.auto.Fire(t.Context(), due[0]) })
		for chunk := range 3 {
			_, running, err := r.auto.Seen(t.Context())
			if err != nil || len(running) != 1 {
				t.Fatalf("chunk %d: %d jobs are under way, %v", chunk, len(running), err)
			}
			one(
				fmt.Sprintf("chunk %d", chunk),
				func() (bool, error) { return r.auto.Advance(t.Context(), running[0]) },
			)
		}
		ended := r.show(50)
		if ended.Last == nil || ended.Last.Seen != 7 || ended.Last.Matched != 7 || ended.Last.Missed != 0 ||
			ended.Last.EndedAt == 0 {
			t.Errorf("it went %+v", ended.Last)
		}
		if got := r.inbox(ann); len(got) != 7 {
			t.Errorf("ann was notified %q", got)
		}
		r.at("2026-01-12T09:30:01Z") // it has come again, and a process wakes that stood still since
		if did, err := r.auto.Fire(t.Context(), due[0]); did || err != nil {
			t.Errorf("long after: fired %t, %v", did, err)
		}
		if got := r.show(50); *got.Last != *ended.Last || got.NextAt != ended.NextAt {
			t.Errorf("long after it is %+v, before %+v", got.Last, ended.Last)
		}
		r.sound()
	})
}

// TestWhatAJobDidForOneTimeIsNotDoneForTheNext lets a process go on with a job as it read it in
// an earlier firing, which looks as the newest does at its beginning.
func TestWhatAJobDidForOneTimeIsNotDoneForTheNext(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		r.create("Account", `{"Name":"A"}`)
		r.job(50, "Daily", "30 9 * * *", "UTC",
			`"object":"Account","actions":[{"key":"tell","type":"notify","message":"hello"}]`)
		fire := func(at string) (stale func() (bool, error)) {
			t.Helper()
			r.at(at)
			due, _, err := r.auto.Seen(t.Context())
			if err != nil || len(due) != 1 {
				t.Fatalf("%d jobs are due, %v", len(due), err)
			}
			if did, err := r.auto.Fire(t.Context(), due[0]); !did || err != nil {
				t.Fatalf("fired %t, %v", did, err)
			}
			_, running, err := r.auto.Seen(t.Context())
			if err != nil || len(running) != 1 {
				t.Fatalf("%d jobs are under way, %v", len(running), err)
			}
			return func() (bool, error) { return r.auto.Advance(t.Context(), running[0]) }
		}
		stale := fire("2026-01-11T09:30:01Z")
		r.work()
		fire("2026-01-12T09:30:01Z")
		before := r.show(50)
		if did, err := stale(); did || err != nil {
			t.Errorf("of the day before: did it %t, %v", did, err)
		}
		if got := r.show(50); *got.Last != *before.Last || len(r.inbox(ann)) != 1 {
			t.Errorf("it is %+v, before %+v; ann was notified %q", got.Last, before.Last, r.inbox(ann))
		}
		r.work()
		if got := r.show(50).Last; got.EndedAt == 0 || got.Matched != 1 || len(r.inbox(ann)) != 2 {
			t.Errorf("it went %+v; ann was notified %q", got, r.inbox(ann))
		}
		r.sound()
	})
}
