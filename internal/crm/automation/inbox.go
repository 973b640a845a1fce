package automation

import (
	"context"
	"errors"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Note is a notification in the inbox of a user.
type Note struct {
	ID        string          `json:"id"`
	At        canonical.Stamp `json:"at"`
	Message   string          `json:"message"`
	Object    string          `json:"object"`
	RecordID  string          `json:"recordId"`
	NodeID    string          `json:"nodeId,omitzero"`
	Source    string          `json:"source"`
	RuleID    string          `json:"ruleId,omitzero"`
	ActionKey string          `json:"actionKey"`
	EventID   string          `json:"eventId"`
	ReadAt    canonical.Stamp `json:"readAt,omitzero"`
}

const noteColumns = "id, at, message, object, record_id, source, rule_id, action_key, event_id, read_at, node_id"

// inboxOf lists the notes of a user. The query names the index for SQLite, whose planner does not
// know how few are unread.
func inboxOf(d sqldb.Dialect, tenant, user string, unread bool) listing {
	l := listing{columns: noteColumns, table: "automation_note", order: "id DESC"}
	l.where = "tenant_id = " + l.Add(tenant) + " AND user_id = " + l.Add(user)
	if unread {
		l.where += " AND read_at = 0"
	}
	if unread && d == sqldb.SQLite {
		l.table += " INDEXED BY automation_note_unread"
	}
	return l
}

func scanNote(row *sqldb.Row) (n Note, err error) {
	err = row.Scan(&n.ID, &n.At, &n.Message, &n.Object, &n.RecordID, &n.Source, &n.RuleID, &n.ActionKey, &n.EventID,
		&n.ReadAt, &n.NodeID)
	if n.Source == SourceEvent {
		n.RuleID = ""
	}
	return n, err
}

// Inbox is a page of the caller's notes, the newest first, and how many there are.
func (s *Automation) Inbox(ctx context.Context, c kit.Caller, unread bool, offset, limit int) ([]Note, int, error) {
	return list(ctx, s, "inbox", offset, limit, scanNote, func(ctx context.Context, tx *sqldb.Tx) (listing, error) {
		user, err := s.cfg.Models.Who(ctx, tx, c.Tenant, c.Subject)
		if err != nil {
			return listing{}, err
		}
		return inboxOf(tx.Dialect(), c.Tenant, user.ID, unread), nil
	})
}

// MarkRead marks a note of the caller as read. A second time changes nothing.
func (s *Automation) MarkRead(ctx context.Context, c kit.Caller, id string) (n Note, err error) {
	err = s.Write(ctx, "read", func(ctx context.Context, tx *sqldb.Tx) error {
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
