package automation

import (
	"context"
	"errors"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// Note is what a user is told.
type Note struct {
	ID        string     `json:"id"`
	At        wire.Stamp `json:"at"`
	Message   string     `json:"message"`
	Object    string     `json:"object"`
	RecordID  string     `json:"recordId"`
	Source    string     `json:"source"`
	RuleID    string     `json:"ruleId,omitzero"`
	ActionKey string     `json:"actionKey"`
	EventID   string     `json:"eventId"`
	ReadAt    wire.Stamp `json:"readAt,omitzero"`
}

const noteColumns = "id, at, message, object, record_id, source, rule_id, action_key, event_id, read_at"

// inboxOf is where the notes of a user are: a table and a condition. SQLite is told the
// index: it knows nothing of how few are unread.
func inboxOf(d sqldb.Dialect, unread bool) (table, where string) {
	table, where = "automation_note", "tenant_id = $1 AND user_id = $2"
	if unread {
		where += " AND read_at = 0"
	}
	if unread && d == sqldb.SQLite {
		table += " INDEXED BY automation_note_unread"
	}
	return table, where
}

func selectNotes(table, where string) string {
	return "SELECT " + noteColumns + " FROM " + table + " WHERE " + where + " ORDER BY id DESC"
}

func scanNote(row *sqldb.Row) (n Note, err error) {
	err = row.Scan(&n.ID, &n.At, &n.Message, &n.Object, &n.RecordID, &n.Source, &n.RuleID, &n.ActionKey, &n.EventID,
		&n.ReadAt)
	if n.Source == SourceEvent {
		n.RuleID = ""
	}
	return n, err
}

// Inbox is a page of what the caller was told, the newest first, and how much there is on
// all pages, counted up to MaxListed.
func (s *Automation) Inbox(ctx context.Context, c Caller, unread bool, offset, limit int) (
	page []Note, total int, err error,
) {
	if err := tooFar(offset); err != nil {
		return nil, 0, err
	}
	err = s.read(ctx, "automation.inbox", func(ctx context.Context, tx *sqldb.Tx) error {
		page = []Note{}
		user, err := s.cfg.Models.Who(ctx, tx, c.Tenant, c.Subject)
		if err != nil {
			return err
		}
		table, where := inboxOf(tx.Dialect(), unread)
		if total, err = count(ctx, tx, table, where, []any{c.Tenant, user.ID}); err != nil {
			return err
		}
		for row, err := range tx.Query(ctx, selectNotes(table, where)+" LIMIT $3 OFFSET $4", c.Tenant, user.ID, limit,
			offset) {
			if err != nil {
				return err
			}
			n, err := scanNote(row)
			if err != nil {
				return err
			}
			page = append(page, n)
		}
		return nil
	})
	return page, total, err
}

// Read marks a note of the caller as read. Once it is, it stays as it is.
func (s *Automation) Read(ctx context.Context, c Caller, id string) (n Note, err error) {
	err = s.write(ctx, "automation.read", func(ctx context.Context, tx *sqldb.Tx) error {
		user, err := s.cfg.Models.Who(ctx, tx, c.Tenant, c.Subject)
		if err != nil {
			return err
		}
		n, err = scanNote(tx.Row(ctx,
			`UPDATE automation_note SET read_at = CASE WHEN read_at = 0 THEN $4 ELSE read_at END
			WHERE tenant_id = $1 AND user_id = $2 AND id = $3 RETURNING `+noteColumns, c.Tenant, user.ID, id, s.now()))
		if errors.Is(err, sqldb.ErrNoRow) {
			return fault.New(fault.NotFound, "NOTE_NOT_FOUND", "there is no note %q in your inbox", id)
		}
		return err
	})
	return n, err
}

// Assignee is who a task is for.
type Assignee struct {
	Type string `json:"type"` // User, Role, Group
	ID   string `json:"id"`
}

// Task is what somebody is to do.
type Task struct {
	ID        string     `json:"id"`
	Assignee  Assignee   `json:"assignee"`
	Status    string     `json:"status"` // OPEN, DONE
	Message   string     `json:"message"`
	DueOn     string     `json:"dueOn"`
	Object    string     `json:"object"`
	RecordID  string     `json:"recordId"`
	Source    string     `json:"source"`
	RuleID    string     `json:"ruleId"`
	ActionKey string     `json:"actionKey"`
	EventID   string     `json:"eventId"`
	CreatedAt wire.Stamp `json:"createdAt"`
	DoneAt    wire.Stamp `json:"doneAt,omitzero"`
	DoneBy    string     `json:"doneBy,omitzero"`
}

// The status of a task.
const (
	TaskOpen = "OPEN"
	TaskDone = "DONE"
)

// assignee is somebody as tasks keep it.
func assignee(of model.Member) string { return of.Type + ":" + of.ID }

// assigneesOf are all that a user is meant by.
func assigneesOf(m *model.Model, user *model.User) []string {
	all := []string{assignee(model.Member{Type: model.TypeUser, ID: user.ID})}
	if user.RoleID != "" {
		all = append(all, assignee(model.Member{Type: model.TypeRole, ID: user.RoleID}))
	}
	for _, group := range m.GroupsOf(user.ID) {
		all = append(all, assignee(model.Member{Type: model.TypeGroup, ID: group}))
	}
	return all
}
