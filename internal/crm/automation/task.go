package automation

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

const taskColumns = "id, assignee, at, message, due_on, object, record_id, source, rule_id, action_key, event_id, " +
	"done_at, done_by"

func scanTask(row *sqldb.Row) (t Task, err error) {
	var to string
	err = row.Scan(&t.ID, &to, &t.CreatedAt, &t.Message, &t.DueOn, &t.Object, &t.RecordID, &t.Source, &t.RuleID,
		&t.ActionKey, &t.EventID, &t.DoneAt, &t.DoneBy)
	t.Assignee.Type, t.Assignee.ID, _ = strings.Cut(to, ":")
	t.Status = TaskOpen
	if t.DoneAt > 0 {
		t.Status = TaskDone
	}
	return t, err
}

// Tasks is a page of the tasks of a status that the caller is meant by, and how many there
// are on all pages, counted up to MaxListed. Open ones come by when they are due, those
// that are done by when they were, the newest first.
func (s *Automation) Tasks(ctx context.Context, c Caller, status string, offset, limit int) (
	page []Task, total int, err error,
) {
	if err := tooFar(offset); err != nil {
		return nil, 0, err
	}
	err = s.read(ctx, "automation.tasks", func(ctx context.Context, tx *sqldb.Tx) error {
		page = []Task{}
		user, err := s.cfg.Models.Who(ctx, tx, c.Tenant, c.Subject)
		if err != nil {
			return err
		}
		m, err := s.cfg.Models.Model(ctx, tx, c.Tenant)
		if err != nil {
			return err
		}
		var b sqldb.Binds
		where := "tenant_id = " + b.Add(c.Tenant)
		mine := assigneesOf(m, user)
		if tx.Dialect() == sqldb.Postgres {
			where += " AND assignee = ANY(" + b.Add(mine) + ")"
		} else {
			list, err := json.Marshal(mine)
			if err != nil {
				return err
			}
			where += " AND assignee IN (SELECT value FROM json_each(" + b.Add(string(list)) + "))"
		}
		order := "due_on, id"
		if status == TaskDone {
			where, order = where+" AND done_at > 0", "done_at DESC, id DESC"
		} else {
			where += " AND done_at = 0"
		}
		if total, err = count(ctx, tx, "automation_task", where, b.Args()); err != nil {
			return err
		}
		for row, err := range tx.Query(ctx, "SELECT "+taskColumns+" FROM automation_task WHERE "+where+" ORDER BY "+
			order+" LIMIT "+b.Add(limit)+" OFFSET "+b.Add(offset), b.Args()...) {
			if err != nil {
				return err
			}
			t, err := scanTask(row)
			if err != nil {
				return err
			}
			page = append(page, t)
		}
		return nil
	})
	return page, total, err
}

// Complete marks a task as done. One that somebody else has done is a conflict.
func (s *Automation) Complete(ctx context.Context, c Caller, id string) (t Task, err error) {
	err = s.write(ctx, "automation.complete", func(ctx context.Context, tx *sqldb.Tx) error {
		user, err := s.cfg.Models.Who(ctx, tx, c.Tenant, c.Subject)
		if err != nil {
			return err
		}
		m, err := s.cfg.Models.Model(ctx, tx, c.Tenant)
		if err != nil {
			return err
		}
		query := "SELECT " + taskColumns + " FROM automation_task WHERE tenant_id = $1 AND id = $2"
		if tx.Dialect() == sqldb.Postgres {
			query += " FOR UPDATE"
		}
		t, err = scanTask(tx.Row(ctx, query, c.Tenant, id))
		if errors.Is(err, sqldb.ErrNoRow) || err == nil && !slices.Contains(assigneesOf(m, user), t.Assignee.Type+":"+
			t.Assignee.ID) {
			return fault.New(fault.NotFound, "TASK_NOT_FOUND", "there is no task %q that is yours", id)
		}
		switch {
		case err != nil:
			return err
		case t.DoneBy == user.ID:
			return nil
		case t.DoneAt > 0:
			return fault.New(fault.Conflict, "TASK_DONE", "the task was done by %s at %s", t.DoneBy, t.DoneAt).
				With(map[string]string{"doneBy": t.DoneBy, "doneAt": t.DoneAt.String()})
		}
		t.Status, t.DoneAt, t.DoneBy = TaskDone, s.now(), user.ID
		_, err = tx.Exec(ctx, "UPDATE automation_task SET done_at = $3, done_by = $4 WHERE tenant_id = $1 AND id = $2",
			c.Tenant, id, t.DoneAt, t.DoneBy)
		return err
	})
	return t, err
}
