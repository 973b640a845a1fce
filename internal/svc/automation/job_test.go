package automation_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/svc/automation"
)

// job defines a job and lets automation hear of it.
func (r *rig) job(n int, name, cron, zone, more string) {
	r.Helper()
	r.define(crm.KindScheduledJob, id(n), fmt.Sprintf(`{"name":%q,"cron":%q,"timeZone":%q,%s}`, name, cron, zone, more))
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
		r.job(50, "Nightly", "30 9 * * *", "Asia/Tokyo", `"object":"Account","condition":"record.NumberOfEmployees >= 5","actions":[
			{"key":"rate","type":"updateField","field":"Rating","value":"Warm"},{"key":"tell","type":"notify","message":"big"},{"key":"go","type":"startGraph","graphId":"greet"}]`)
		r.job(51, "Alone", "0 * * * *", "UTC", `"actions":[{"key":"go","type":"startGraph","graphId":"greet"}]`)
		if got := r.show(50); got.NextAt.String() != "2026-01-11T00:30:00.000Z" || got.Last != nil {
			t.Errorf("got %+v", got)
		}
		r.at("2026-01-11T00:29:59Z")
		r.work()
		alone := r.show(51).Last
		if r.show(50).Last != nil || alone.FiredFor.String() != "2026-01-11T00:00:00.000Z" || alone.Missed != 11 || r.executions() != 1 {
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
		if got.Last == nil || got.Last.FiredFor.String() != "2026-01-11T00:30:00.000Z" || got.Last.Seen != 10 || got.Last.Matched != 5 || got.Last.Missed != 0 || got.Last.Failed != 0 ||
			got.Last.EndedAt == 0 || got.NextAt.String() != "2026-01-12T00:30:00.000Z" {
			t.Errorf("got %+v, last %+v", got, got.Last)
		}
		if runs := r.runs(automation.RunQuery{EventID: got.Last.EventID}); len(runs) != 15 {
			t.Errorf("%d actions, want 15: %q", len(runs), runs)
		}
		if n := len(r.inbox(ann)); n != 5 || r.executions() != 6 {
			t.Errorf("ann was told %d times, %d executions", n, r.executions())
		}
		r.sound()
	})
}

func TestMissedTimesRunOnceForTheNewest(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, r *rig) {
		r.create("Account", `{"Name":"A"}`)
		r.job(50, "Daily", "0 9 * * *", "UTC", `"object":"Account","actions":[{"key":"tell","type":"notify","message":"morning"}]`)
		r.at("2026-01-20T08:00:00Z") // nobody was there for nine mornings
		r.work()
		if got := r.show(50).Last; got.FiredFor.String() != "2026-01-19T09:00:00.000Z" || got.Missed != 8 {
			t.Errorf("got %+v", got)
		}
		if n := len(r.inbox(ann)); n != 1 {
			t.Errorf("ann was told %d times", n)
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
		if err := r.metadata.Delete(t.Context(), r.change(crm.KindScheduledJob, 50)); err != nil {
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
		r.define(crm.KindValidationRule, id(300), `{"name":"V","object":"Account","condition":"record.Name == \"A1\" && record.Phone == \"9\"","message":"Not 9.","field":"Phone"}`)
		r.job(50, "J", "0 9 * * *", "UTC", `"object":"Account","actions":[{"key":"set","type":"updateField","field":"Phone","value":"9"}]`)
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
		r.define(crm.KindValidationRule, id(300), `{"name":"V","object":"Account","condition":"record.Phone == \"9\"","message":"`+message+`","field":"Phone"}`)
		r.job(50, "J", "0 9 * * *", "UTC", `"object":"Account","actions":[{"key":"set","type":"updateField","field":"Phone","value":"9"}]`)
		r.at("2026-01-11T09:00:00Z")
		r.work()
		page, total, err := r.auto.Runs(t.Context(), tenant, automation.RunQuery{Outcome: automationFailed(t), Limit: 10})
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
