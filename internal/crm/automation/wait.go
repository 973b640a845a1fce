package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Execution is the object of notes about nodes that wait: their record is the execution.
const Execution = "Execution"

// What notes about a wait are for, as their action.
const (
	byWait     = "wait"
	byReminder = "reminder"
)

// maxWaits is how many waits one look at the table reads.
const maxWaits = 100

// Waiting notes, in the transaction that says so, that a node waits for its assignees, or that there was a reminder of
// it. Run puts notes into their inboxes.
func (s *Automation) Waiting(w *engine.WaitRow) (sqldb.Stmt, bool) {
	if w.Assignees == nil {
		return sqldb.Stmt{}, false
	}
	names, err := json.Marshal(w.Assignees)
	if err != nil {
		return sqldb.Stmt{}, false
	}
	key := byWait
	if w.Reminders > 0 {
		key = byReminder
	}
	return sqldb.Stmt{
		Query: `INSERT INTO automation_wait (tenant_id, event_id, at, execution_id, node_id, message, action_key,
			assignees) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		Args: []any{
			w.Tenant, w.Event.String(), s.now(), w.ID.String(), w.Node, askedBy(w), key, string(names),
		},
	}, true
}

// askedBy is what a note says of a wait: the title of its prompt, if that is at hand, and where it waits.
func askedBy(w *engine.WaitRow) string {
	var prompt struct {
		Title string `json:"title"`
	}
	_ = json.Unmarshal(w.Prompt, &prompt) // that of a worker may be anything
	text := fmt.Sprintf("Node %s of %s waits for you.", w.Node, cmp.Or(w.BusinessKey, w.GraphID))
	if prompt.Title != "" {
		text = prompt.Title + " " + text
	}
	if w.Reminders > 0 {
		text = fmt.Sprintf("Reminder %d: %s", w.Reminders, text)
	}
	return text
}

// wait is a wait of which nobody has a note yet.
type wait struct {
	tenant, event, execution, node, message, key, assignees string
	at                                                      canonical.Stamp
}

const selectWaits = `SELECT tenant_id, event_id, at, execution_id, node_id, message, action_key, assignees
	FROM automation_wait ORDER BY at, tenant_id, event_id LIMIT $1`

// noteWaits puts notes about some waits into inboxes, and reports whether there were any. Tenants do not wait for each
// other: each has a transaction of its own.
func (s *Automation) noteWaits(ctx context.Context) (worked bool, err error) {
	var waits []wait
	err = s.Read(ctx, "waits", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		waits, err = sqldb.Collect(ctx, tx, func(row *sqldb.Row) (w wait, err error) {
			err = row.Scan(&w.tenant, &w.event, &w.at, &w.execution, &w.node, &w.message, &w.key, &w.assignees)
			return w, err
		}, selectWaits, maxWaits)
		return err
	})
	slices.SortStableFunc(waits, func(a, b wait) int { return cmp.Compare(a.tenant, b.tenant) })
	for len(waits) > 0 {
		n := 1
		for n < len(waits) && waits[n].tenant == waits[0].tenant {
			n++
		}
		bad := s.Write(ctx, "waits", func(ctx context.Context, tx *sqldb.Tx) error {
			return s.noteWaitsOf(ctx, tx, waits[:n])
		})
		worked = worked || bad == nil
		err = errors.Join(err, bad)
		waits = waits[n:]
	}
	return worked, err
}

// noteWaitsOf puts notes about waits of one tenant into inboxes. Those for which there is no room are left.
func (s *Automation) noteWaitsOf(ctx context.Context, tx *sqldb.Tx, waits []wait) error {
	m, err := s.cfg.Models.Model(ctx, tx, waits[0].tenant)
	if err != nil {
		return err
	}
	var values []any
	for i, left := 0, MaxNotes; i < len(waits); i++ {
		w := &waits[i]
		users, err := w.audience(m)
		if err != nil {
			return err
		}
		if left -= len(users); left < 0 && i > 0 {
			break
		}
		n, err := tx.Exec(ctx, "DELETE FROM automation_wait WHERE tenant_id = $1 AND event_id = $2", w.tenant, w.event)
		if err != nil {
			return err
		}
		if n == 0 {
			continue // another process was faster
		}
		for _, user := range users {
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			values = append(values, w.tenant, user, id.String(), w.at, w.message, Execution, w.execution, SourceEvent,
				SourceEvent, w.key, w.event, 0, w.node)
		}
	}
	return tx.Batch(ctx, insertNotes.Stmts(tx, values)...)
}

// audience are the active users whom the assignees of a wait stand for, up to MaxRecipients, by id.
func (w *wait) audience(m *model.Model) ([]string, error) {
	var of flow.Assignees
	if err := json.Unmarshal([]byte(w.assignees), &of); err != nil {
		return nil, fault.Wrap("automation.wait", err)
	}
	var users []string
	for _, name := range of.Users {
		if u := m.Who(name); u != nil {
			users = append(users, u.ID)
		}
	}
	for _, role := range model.List[*model.Role](m, model.KindRole) {
		if slices.Contains(of.Roles, role.ID) || slices.Contains(of.Roles, role.Name) {
			users = append(users, m.Resolve(model.Member{Type: model.TypeRole, ID: role.ID})...)
		}
	}
	for _, group := range model.List[*model.Group](m, model.KindGroup) {
		if slices.Contains(of.Groups, group.ID) || slices.Contains(of.Groups, group.Name) {
			users = append(users, m.MembersOf(group.ID)...)
		}
	}
	slices.Sort(users)
	users = active(m, slices.Compact(users))
	return users[:min(len(users), MaxRecipients)], nil
}
