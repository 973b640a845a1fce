package automation

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
)

// Step does some of what there is to do, for tests.
func (s *Automation) Step(ctx context.Context) (worked bool, err error) { return s.step(ctx) }

// Retain deletes what was kept long enough, for tests.
func (s *Automation) Retain(ctx context.Context) error { return s.retain(ctx) }

// SetChunk is how many records of a job are done in one transaction, for tests.
func (s *Automation) SetChunk(n int) { s.cfg.chunk = n }

// Seen are the jobs as a process reads them before it acts, by what there is to do, for tests.
func (s *Automation) Seen(ctx context.Context) (due, running []job, err error) {
	return scheduler{s}.waiting(ctx)
}

// TenantsOf are whose jobs some are, for tests.
func TenantsOf(all []job) (tenants []string) {
	for i := range all {
		tenants = append(tenants, all[i].tenant)
	}
	return tenants
}

// Fire and Advance act on a job as it was read, for tests; did says that nobody was faster.
func (s *Automation) Fire(ctx context.Context, j job) (did bool, err error) {
	err = scheduler{s}.fire(ctx, &j)
	return err == nil, gone(err)
}

func (s *Automation) Advance(ctx context.Context, j job) (did bool, err error) {
	err = scheduler{s}.advance(ctx, &j)
	return err == nil, gone(err)
}

// Plans are statements that must be fast, with the index that is to find their rows, for
// tests.
func Plans() map[string]string {
	plans := map[string]string{
		selectDone:   "PRIMARY KEY",
		selectCause:  "PRIMARY KEY",
		selectStarts: "INDEX automation_run_pending",
		dueJobs:      "INDEX automation_job_due",
		runningJobs:  "INDEX automation_job_running",
	}
	for index, l := range map[string]listing{
		"PRIMARY KEY":                  inboxOf(sqldb.SQLite, "t", "u", false),
		"INDEX automation_note_unread": inboxOf(sqldb.SQLite, "t", "u", true),
		"INDEX automation_run_list":    (&RunQuery{}).listing("t"),
		"INDEX automation_run_record":  (&RunQuery{RecordID: "r"}).listing("t"),
		"INDEX automation_run_rule":    (&RunQuery{RuleID: "r"}).listing("t"),
		"INDEX automation_run_failed":  (&RunQuery{Outcome: failed}).listing("t"),
	} {
		plans[l.query()] = index
	}
	return plans
}

// Recounts are the statements of Recount, for tests.
func Recounts() (queries []string) {
	for _, r := range recounts {
		queries = append(queries, r.query)
	}
	return queries
}
