package automation

import (
	"context"
	"errors"
	"strings"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Assignee is who a task is for.
type Assignee struct {
	Type string `json:"type"` // User, Role, Group
	ID   string `json:"id"`
}

// Task is something that a user, or one of a role or group, is to do.
type Task struct {
	ID        string          `json:"id"`
	Assignee  Assignee        `json:"assignee"`
	Status    string          `json:"status"` // OPEN, DONE
	Message   string          `json:"message"`
	DueOn     string          `json:"dueOn"`
	Object    string          `json:"object"`
	RecordID  string          `json:"recordId"`
	Source    string          `json:"source"`
	RuleID    string          `json:"ruleId"`
	ActionKey string          `json:"actionKey"`
	EventID   string          `json:"eventId"`
	CreatedAt canonical.Stamp `json:"createdAt"`
	DoneAt    canonical.Stamp `json:"doneAt,omitzero"`
	DoneBy    string          `json:"doneBy,omitzero"`
}

// The status of a task.
const (
	TaskOpen = "OPEN"
	TaskDone = "DONE"
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

// assignee is somebody as tasks store it.
func assignee(kind, id string) string { return kind + ":" + id }

// mine is the condition that a task is the caller's: its own, or one of its role and groups.
func mine(tx *sqldb.Tx, b *sqldb.Binds, c *kit.Session) string {
	all := []string{assignee(model.TypeUser, c.User)}
	if role := c.Model.User(c.User).RoleID; role != "" {
		all = append(all, assignee(model.TypeRole, role))
	}
	for _, group := range c.Model.GroupsOf(c.User) {
		all = append(all, assignee(model.TypeGroup, group))
	}
	return "tenant_id = " + b.Add(c.Caller.Tenant) + " AND " + b.OneOf(tx, "assignee", all)
}

// Tasks is a page of the caller's tasks of a status, and how many there are. Open ones come by
// when they are due, those that are done by when they were, the newest first.
func (s *Automation) Tasks(ctx context.Context, c kit.Caller, status string, offset, limit int) ([]Task, int, error) {
	return list(ctx, s, "tasks", offset, limit, scanTask, func(ctx context.Context, tx *sqldb.Tx) (listing, error) {
		l := listing{columns: taskColumns, table: "automation_task"}
		who, err := kit.Begin(ctx, tx, s.cfg.Models, c)
		if err != nil {
			return l, err
		}
		l.where = mine(tx, &l.Binds, &who)
		if status == TaskDone {
			l.where, l.order = l.where+" AND done_at > 0", "done_at DESC, id DESC"
		} else {
			l.where, l.order = l.where+" AND done_at = 0", "due_on, id"
		}
		return l, nil
	})
}

// Complete marks a task as done. One that another user has done is a conflict.
func (s *Automation) Complete(ctx context.Context, c kit.Caller, id string) (t Task, err error) {
	err = s.Write(ctx, "complete", func(ctx context.Context, tx *sqldb.Tx) error {
		who, err := kit.Begin(ctx, tx, s.cfg.Models, c)
		if err != nil {
			return err
		}
		var b sqldb.Binds
		where := mine(tx, &b, &who) + " AND id = " + b.Add(id)
		named := b.Args()
		t, err = scanTask(tx.Row(ctx, "UPDATE automation_task SET done_at = "+b.Add(s.now())+", done_by = "+
			b.Add(who.User)+" WHERE "+where+" AND done_at = 0 RETURNING "+taskColumns, b.Args()...))
		if !errors.Is(err, sqldb.ErrNoRow) {
			return err
		}
		t, err = scanTask(tx.Row(ctx, "SELECT "+taskColumns+" FROM automation_task WHERE "+where, named...))
		switch {
		case errors.Is(err, sqldb.ErrNoRow):
			return fault.New(fault.NotFound, "TASK_NOT_FOUND", "there is no task %q that is yours", id)
		case err == nil && t.DoneBy != who.User:
			return fault.New(fault.Conflict, "TASK_DONE", "the task was done by %s at %s", t.DoneBy, t.DoneAt).
				With(map[string]string{"doneBy": t.DoneBy, "doneAt": t.DoneAt.String()})
		}
		return err
	})
	return t, err
}
