package automation

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// What lets something be done.
const (
	SourceRule  = "rule"
	SourceJob   = "job"
	SourceEvent = "event" // without a rule
)

// MaxRecipients is how many users one action notifies, and MaxNotes how many notes the actions of
// one event, or of a job on one record, put into inboxes: what one transaction writes, while
// other writers wait.
const (
	MaxRecipients = 1000
	MaxNotes      = 2000
)

// turn is an event of a record that rules act on, or the firing of a job on one.
type turn struct {
	tenant, correlation string
	eventID, eventType  string // eventID is also that of a firing
	object, record      string // "": a job without records
	owner               string
	at                  canonical.Stamp
	cause               cause
	deeds               []deed
	lenient             bool // an action that is refused is recorded as failed; else it fails the turn
	several             bool // other records are in the transaction, which may have fewer
}

// deed is an action that is to be done in a turn.
type deed struct {
	source       string
	ruleID, rule string
	action       *model.Action
	users        []string // to be notified; nil: those that the action names
}

func (d *deed) by() string { return fmt.Sprintf("%s %q", d.source, d.rule) }

const selectDone = "SELECT rule_id, action_key FROM automation_run WHERE tenant_id = $1 AND event_id = $2"

// do does what is to be done because of an event, but for what was done before.
func (s *Automation) do(ctx context.Context, tx *sqldb.Tx, m *model.Model, t *turn) error {
	type key struct{ rule, action string }
	known, err := sqldb.Collect(ctx, tx, func(row *sqldb.Row) (k key, err error) {
		err = row.Scan(&k.rule, &k.action)
		return k, err
	}, selectDone, t.tenant, t.eventID)
	if err != nil {
		return err
	}
	isDone := func(d deed) bool { return slices.Contains(known, key{d.ruleID, d.action.Key}) }
	t.deeds = slices.DeleteFunc(t.deeds, isDone)
	if len(t.deeds) == 0 {
		return nil
	}
	_, err = s.doAll(ctx, tx, m, []turn{*t})
	return err
}

// doAll does what is to be done in some turns on different records of one object, and
// gives how many deeds failed.
func (s *Automation) doAll(ctx context.Context, tx *sqldb.Tx, m *model.Model, turns []turn) (bad int, err error) {
	written, err := s.set(ctx, tx, turns)
	if err != nil {
		return 0, err
	}
	var stmts []sqldb.Stmt
	for i := range turns {
		t := &turns[i]
		for j := range t.deeds {
			r := run{turn: t, deed: &t.deeds[j], outcome: done}
			more, err := s.perform(tx, m, &r, written[i])
			switch kind := fault.KindOf(err); {
			case err == nil:
			case kind == fault.Internal || kind == fault.Unavailable:
				return 0, err
			case t.several && model.IsCostly(err):
				return 0, errFewer
			case !t.lenient:
				return 0, bus.Permanent(fault.Wrap(r.by()+" "+r.action.Key, err))
			default:
				r.fail(err)
				bad++
			}
			if r.outcome == pending {
				tx.OnCommit(s.wake)
			}
			stmts = append(append(stmts, more...), r.stmt())
		}
		if written[i] != nil && written[i].Changed {
			stmt, err := t.causeStmt(written[i].Version)
			if err != nil {
				return 0, err
			}
			stmts = append(stmts, stmt)
		}
	}
	return bad, tx.Batch(ctx, stmts...)
}

// set writes the fields that the turns want to be written, all of a record at once, and
// gives the result for each turn; nil: it writes none.
func (s *Automation) set(ctx context.Context, tx *sqldb.Tx, turns []turn) ([]*model.Changed, error) {
	var changes []model.Change
	var places []int
	for i := range turns {
		fields := map[string]jsontext.Value{}
		for j := range turns[i].deeds {
			if a := turns[i].deeds[j].action; a.Type == model.UpdateField {
				fields[a.Field] = a.Value
			}
		}
		if len(fields) > 0 {
			changes, places = append(changes, model.Change{ID: turns[i].record, Fields: fields}), append(places, i)
		}
	}
	written := make([]*model.Changed, len(turns))
	if len(changes) == 0 {
		return written, nil
	}
	results, err := s.cfg.Writer.Set(ctx, tx, turns[0].tenant, turns[0].correlation, turns[0].object, changes)
	if err != nil {
		return nil, err
	}
	for i, at := range places {
		written[at] = &results[i]
	}
	return written, nil
}

// perform sets the outcome of a deed, and gives the statements that do it.
func (s *Automation) perform(tx *sqldb.Tx, m *model.Model, r *run, written *model.Changed) ([]sqldb.Stmt, error) {
	switch r.action.Type {
	case model.Notify:
		return r.notify(tx, m)
	case model.CreateTask:
		return r.createTask(m)
	case model.UpdateField:
		return nil, r.update(written)
	case model.StartGraph:
		return nil, r.start()
	}
	return nil, fault.New(fault.Invalid, canonical.CodeInvalid, "%s: nobody knows the action %q", r.by(), r.action.Type)
}

var insertNotes = sqldb.NewInsert(
	"automation_note (tenant_id, user_id, id, at, message, object, record_id, source, rule_id, action_key, "+
		"event_id, read_at, node_id)", "", "text", "text", "text", "bigint", "text", "text", "text", "text", "text",
	"text", "text", "bigint", "text")

// notesLeft is how many notes a transaction may still write.
type notesLeft int

// notify puts a note into the inboxes of users.
func (r *run) notify(tx *sqldb.Tx, m *model.Model) ([]sqldb.Stmt, error) {
	users := r.audience(m, r.owner)
	if len(users) > MaxRecipients {
		return nil, fault.New(fault.TooLarge, "", "%s would tell more than %d users; an action tells no more", r.by(),
			MaxRecipients)
	}
	left := sqldb.Own(tx, func() *notesLeft { return new(notesLeft(MaxNotes)) })
	if len(users) > int(*left) {
		return nil, fault.New(fault.Invalid, model.CodeCostly,
			"%s cannot tell %d users: with the actions before it, it would put more than %d notes into inboxes in "+
				"one transaction; have fewer actions that notify, or tell fewer users", r.by(), len(users), MaxNotes).
			With(map[string]string{"ruleId": r.ruleID, "rule": r.rule})
	}
	*left -= notesLeft(len(users))
	var values []any
	for _, user := range users {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, err
		}
		values = append(values, r.tenant, user, id.String(), r.at, r.action.Message, r.object, r.record, r.source,
			r.ruleID, r.action.Key, r.eventID, 0, "")
	}
	r.result = strconv.Itoa(len(users))
	if len(users) == 0 {
		r.outcome = nothing
	}
	return insertNotes.Stmts(tx, values), nil
}

// audience are the users whom a deed notifies about a record of an owner, or more than
// MaxRecipients of them.
func (d *deed) audience(m *model.Model, owner string) []string {
	users := d.users
	switch {
	case users != nil:
	case d.action.To != nil:
		users = m.Resolve(*d.action.To)
	default:
		users = ownersOf(m, owner)
	}
	return active(m, users)
}

// createTask gives somebody something to do.
func (r *run) createTask(m *model.Model) ([]sqldb.Stmt, error) {
	to := assignee(model.TypeUser, r.owner)
	switch {
	case r.action.To != nil:
		to = assignee(r.action.To.Type, r.action.To.ID)
	case m.Group(r.owner) != nil:
		to = assignee(model.TypeGroup, r.owner)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	r.result = id.String()
	due := time.UnixMilli(int64(r.at)).UTC().AddDate(0, 0, r.action.DueDays).Format(time.DateOnly)
	return []sqldb.Stmt{{
		Query: `INSERT INTO automation_task (tenant_id, id, assignee, at, message, due_on, object, record_id, source,
				rule_id, action_key, event_id, done_at, done_by)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0, '')`,
		Args: []any{
			r.tenant, r.result, to, r.at, r.action.Message, due, r.object, r.record, r.source,
			r.ruleID, r.action.Key, r.eventID,
		},
	}}, nil
}

// update records the outcome of writing a field.
func (r *run) update(written *model.Changed) error {
	switch {
	case fault.KindOf(written.Err) == fault.NotFound && written.Err != nil:
		r.outcome, r.err = nothing, "the record is deleted"
	case written.Err != nil:
		return written.Err
	case !written.Changed:
		r.outcome = nothing
	default:
		r.result = written.Version.String()
	}
	return nil
}

// start records that a graph is to be started, with its input.
func (r *run) start() error {
	input, err := json.Marshal(struct {
		Object    string `json:"object,omitzero"`
		RecordID  string `json:"recordId,omitzero"`
		EventID   string `json:"eventId"`
		EventType string `json:"eventType,omitzero"`
		RuleID    string `json:"ruleId"`
		ActionKey string `json:"actionKey"`
	}{r.object, r.record, r.eventID, r.eventType, r.ruleID, r.action.Key})
	r.outcome, r.input = pending, string(input)
	return err
}
