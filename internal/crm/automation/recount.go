package automation

import (
	"context"
	"fmt"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// recounts are statements that find what should not be; each gives texts.
var recounts = []struct{ what, query string }{
	{
		"a note was put into an inbox more than once by one action",
		`SELECT event_id || ' ' || rule_id || '/' || action_key || ' ' || user_id FROM automation_note
		WHERE tenant_id = $1 GROUP BY event_id, rule_id, action_key, record_id, user_id HAVING count(*) > 1`,
	},
	{
		"a task was made more than once by one action",
		`SELECT event_id || ' ' || rule_id || '/' || action_key FROM automation_task
		WHERE tenant_id = $1 GROUP BY event_id, rule_id, action_key, record_id HAVING count(*) > 1`,
	},
	{
		"an action made a task that is not there",
		`SELECT r.event_id || ' ' || r.rule_id || '/' || r.action_key FROM automation_run r
		LEFT JOIN automation_task t ON t.tenant_id = r.tenant_id AND t.id = r.result
		WHERE r.tenant_id = $1 AND r.type = 'createTask' AND r.outcome = 1 AND t.id IS NULL`,
	},
	// One pass over both, with no join: PostgreSQL takes what it groups for a row or two as
	// long as it knows little of the tables, and would go through all of it for each run.
	{
		"an action notified other users than it says",
		`SELECT event_id || ' ' || rule_id || '/' || action_key FROM (
			SELECT event_id, rule_id, action_key, record_id, result AS says, 0 AS n FROM automation_run
				WHERE tenant_id = $1 AND type = 'notify' AND outcome IN (1, 4)
			UNION ALL SELECT event_id, rule_id, action_key, record_id, NULL, 1 FROM automation_note
				WHERE tenant_id = $1) AS notified
		GROUP BY event_id, rule_id, action_key, record_id HAVING max(says) <> CAST(sum(n) AS TEXT)`,
	},
	{
		"a graph was not started yet",
		`SELECT event_id || ' ' || rule_id || '/' || action_key FROM automation_run
		WHERE tenant_id = $1 AND outcome = 2`,
	},
}

// Recount compares what was done with what is there, and the times of jobs with their
// definitions, and gives the differences. At a quiet moment there are none.
func (s *Automation) Recount(ctx context.Context, tenant string) (differences []string, err error) {
	err = s.Read(ctx, "recount", func(ctx context.Context, tx *sqldb.Tx) error {
		for _, r := range recounts {
			found, err := sqldb.Collect(ctx, tx, sqldb.Column[string], r.query, tenant)
			if err != nil {
				return err
			}
			for _, text := range found {
				differences = append(differences, r.what+": "+text)
			}
		}
		m, err := s.cfg.Models.Model(ctx, tx, tenant)
		if err != nil {
			return err
		}
		found, err := recountJobs(ctx, tx, m)
		differences = append(differences, found...)
		return err
	})
	return differences, err
}

// recountJobs compares the rows of jobs with their definitions.
func recountJobs(ctx context.Context, tx *sqldb.Tx, m *model.Model) (differences []string, err error) {
	rows, err := jobs(ctx, tx, jobsOf, m.Tenant)
	if err != nil {
		return nil, err
	}
	next := map[string]canonical.Stamp{}
	for i := range rows {
		next[rows[i].id] = rows[i].next
		if _, ok := m.Get(model.KindScheduledJob, rows[i].id); !ok {
			differences = append(
				differences,
				fmt.Sprintf("the job %s has a next time and is not defined", rows[i].id),
			)
		}
	}
	for _, j := range model.List[*model.ScheduledJob](m, model.KindScheduledJob) {
		want, err := nextOf(j, next[j.ID]-1)
		if err != nil {
			return nil, err
		}
		if next[j.ID] == 0 && j.IsActive || next[j.ID] != 0 && want != next[j.ID] {
			differences = append(differences,
				fmt.Sprintf("the job %s comes next at %s, which is none of its times", j.ID, next[j.ID]))
		}
	}
	return differences, nil
}
