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

	"renga.dev/renga/internal/bus"
	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// What lets something be done.
const (
	SourceRule  = "rule"
	SourceJob   = "job"
	SourceEvent = "event" // without a rule
)

// MaxTold is how many users one action tells.
const MaxTold = 1000

// turn is one occasion to act: an event of a record, or the firing of a job on it.
type turn struct {
	tenant, correlation string
	eventID, eventType  string // eventID is also that of a firing
	object, record      string // "": a job without records
	owner               string
	at                  wire.Stamp
	cause               cause
	deeds               []deed
	// lenient says that what is refused is noted and passed over. Else it fails the turn.
	lenient bool
}

// deed is an action that is to be done in a turn.
type deed struct {
	source       string
	ruleID, rule string
	action       *crm.Action
	users        []string // to be told; nil: those that the action names
}

func (d *deed) by() string { return fmt.Sprintf("%s %q", d.source, d.rule) }

const selectDone = "SELECT rule_id, action_key FROM automation_run WHERE tenant_id = $1 AND event_id = $2"

// do does what is to be done because of an event, but for what was done before.
func (s *Automation) do(ctx context.Context, tx *sqldb.Tx, m *crm.Model, t *turn) error {
	known := map[[2]string]bool{}
	for row, err := range tx.Query(ctx, selectDone, t.tenant, t.eventID) {
		var key [2]string
		if err == nil {
			err = row.Scan(&key[0], &key[1])
		}
		if err != nil {
			return err
		}
		known[key] = true
	}
	t.deeds = slices.DeleteFunc(t.deeds, func(d deed) bool { return known[[2]string{d.ruleID, d.action.Key}] })
	if len(t.deeds) == 0 {
		return nil
	}
	_, err := s.doAll(ctx, tx, m, []turn{*t})
	return err
}

// doAll does what is to be done in some turns on different records of one object, and
// gives how many deeds failed.
func (s *Automation) doAll(ctx context.Context, tx *sqldb.Tx, m *crm.Model, turns []turn) (bad int, err error) {
	written, err := s.set(ctx, tx, turns)
	if err != nil {
		return 0, err
	}
	var stmts []sqldb.Stmt
	for i := range turns {
		t := &turns[i]
		for j := range t.deeds {
			r := run{turn: t, deed: &t.deeds[j], outcome: done}
			more, err := s.perform(m, &r, written[i])
			switch kind := fault.KindOf(err); {
			case err == nil:
			case kind == fault.Internal || kind == fault.Unavailable:
				return 0, err
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
// gives what became of each turn; nil: it writes none.
func (s *Automation) set(ctx context.Context, tx *sqldb.Tx, turns []turn) ([]*crm.Changed, error) {
	var changes []crm.Change
	var places []int
	for i := range turns {
		fields := map[string]jsontext.Value{}
		for j := range turns[i].deeds {
			if a := turns[i].deeds[j].action; a.Type == crm.UpdateField {
				fields[a.Field] = a.Value
			}
		}
		if len(fields) > 0 {
			changes, places = append(changes, crm.Change{ID: turns[i].record, Fields: fields}), append(places, i)
		}
	}
	written := make([]*crm.Changed, len(turns))
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

// perform finds out what a deed comes to, and gives the statements that do it.
func (s *Automation) perform(m *crm.Model, r *run, written *crm.Changed) ([]sqldb.Stmt, error) {
	switch r.action.Type {
	case crm.Notify:
		return r.notify(m)
	case crm.CreateTask:
		return r.createTask(m)
	case crm.UpdateField:
		return nil, r.update(written)
	case crm.StartGraph:
		return nil, r.start()
	}
	return nil, fault.New(fault.Invalid, wire.CodeInvalid, "%s: nobody knows the action %q", r.by(), r.action.Type)
}

// notify puts a note into the inboxes of users.
func (r *run) notify(m *crm.Model) ([]sqldb.Stmt, error) {
	users := r.users
	switch {
	case users != nil:
	case r.action.To != nil:
		users = m.Resolve(*r.action.To)
	default:
		users = ownersOf(m, r.owner)
	}
	users = active(m, users)
	if len(users) > MaxTold {
		return nil, fault.New(fault.TooLarge, "", "%s would tell %d users; an action tells at most %d", r.by(), len(users), MaxTold)
	}
	var stmts []sqldb.Stmt
	for _, user := range users {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, err
		}
		stmts = append(stmts, sqldb.Stmt{
			Query: `INSERT INTO automation_note (tenant_id, user_id, id, at, message, object, record_id, source, rule_id, action_key, event_id, read_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0)`,
			Args: []any{r.tenant, user, id.String(), r.at, r.action.Message, r.object, r.record, r.source, r.ruleID, r.action.Key, r.eventID},
		})
	}
	r.result = strconv.Itoa(len(users))
	if len(users) == 0 {
		r.outcome = nothing
	}
	return stmts, nil
}

// createTask gives somebody something to do.
func (r *run) createTask(m *crm.Model) ([]sqldb.Stmt, error) {
	to := crm.Member{Type: crm.TypeUser, ID: r.owner}
	switch {
	case r.action.To != nil:
		to = *r.action.To
	case m.Group(r.owner) != nil:
		to.Type = crm.TypeGroup
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	r.result = id.String()
	due := time.UnixMilli(int64(r.at)).UTC().AddDate(0, 0, r.action.DueDays).Format(time.DateOnly)
	return []sqldb.Stmt{{
		Query: `INSERT INTO automation_task (tenant_id, id, assignee, at, message, due_on, object, record_id, source, rule_id, action_key, event_id, done_at, done_by)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0, '')`,
		Args: []any{r.tenant, r.result, assignee(to), r.at, r.action.Message, due, r.object, r.record, r.source, r.ruleID, r.action.Key, r.eventID},
	}}, nil
}

// update notes what became of a field.
func (r *run) update(written *crm.Changed) error {
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

// start notes that a graph is to be started, with what it starts with.
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
