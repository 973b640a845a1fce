package automation

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// Outcome is what became of an action.
type Outcome int64

// The outcomes. The numbers are stored.
const (
	done    Outcome = 1
	pending Outcome = 2 // a graph that is to be started
	failed  Outcome = 3
	nothing Outcome = 4 // there was nothing to do
)

var outcomes = [...]string{done: "DONE", pending: "PENDING", failed: "FAILED", nothing: "NOTHING"}

func (o Outcome) String() string { return outcomes[o] }

// ParseOutcome is an outcome by its name.
func ParseOutcome(name string) (Outcome, bool) {
	at := slices.Index(outcomes[:], name)
	return Outcome(at), at >= int(done)
}

// MaxListed is how many runs, notes or tasks a list goes back, and counts.
const MaxListed = 10_000

// maxError is how many bytes of an error are kept.
const maxError = 1024

// run is an action that is being done.
type run struct {
	*turn
	*deed
	outcome     Outcome
	result, err string
	input       string
}

func (r *run) fail(err error) {
	r.outcome, r.result, r.err = failed, "", messageOf(err)
}

// messageOf is an error as it is kept.
func messageOf(err error) string {
	text := err.Error()
	if e, ok := fault.As(err); ok && e.Message != "" {
		text = e.Message
	}
	return strings.ToValidUTF8(text[:min(len(text), maxError)], "") // no character is cut in two
}

// stmt writes the run down.
func (r *run) stmt() sqldb.Stmt {
	return sqldb.Stmt{
		Query: `INSERT INTO automation_run (tenant_id, event_id, rule_id, action_key, record_id, at, event_type, source, rule_name, type, object, depth,
			outcome, result, error, graph_id, input, tries, retry_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 0, $6)`,
		Args: []any{
			r.tenant, r.eventID, r.ruleID, r.action.Key, r.record, r.at, r.eventType, r.source, r.rule, r.action.Type,
			r.object, r.cause.depth,
			int64(r.outcome), r.result, r.err, r.action.GraphID, r.input,
		},
	}
}

// Run is an action that was done, or is to be.
type Run struct {
	At            wire.Stamp `json:"at"`
	EventID       string     `json:"eventId"` // of a job: that of its firing
	EventType     string     `json:"eventType,omitzero"`
	Source        string     `json:"source"` // rule, job, event
	RuleID        string     `json:"ruleId,omitzero"`
	RuleName      string     `json:"ruleName,omitzero"`
	ActionKey     string     `json:"actionKey"`
	Type          string     `json:"type"`
	Object        string     `json:"object,omitzero"`
	RecordID      string     `json:"recordId,omitzero"`
	Depth         int64      `json:"depth"`
	Outcome       string     `json:"outcome"`
	Told          *int64     `json:"told,omitzero"`          // of notify: how many users
	TaskID        string     `json:"taskId,omitzero"`        // of createTask
	RecordVersion string     `json:"recordVersion,omitzero"` // of updateField
	ExecutionID   string     `json:"executionId,omitzero"`   // of startGraph
	Error         string     `json:"error,omitzero"`
}

// RunQuery is which runs are wanted; what is empty is any.
type RunQuery struct {
	EventID, RuleID, RecordID string
	Outcome                   Outcome
	Offset, Limit             int
}

// where is the condition of a query.
func (q *RunQuery) where(tenant string, b *sqldb.Binds) string {
	where := "tenant_id = " + b.Add(tenant)
	for _, f := range []struct{ column, value string }{
		{"event_id", q.EventID},
		{"rule_id", q.RuleID},
		{"record_id", q.RecordID},
	} {
		if f.value != "" {
			where += " AND " + f.column + " = " + b.Add(f.value)
		}
	}
	if q.Outcome != 0 { // in the text, so that the indexes of one outcome are found
		where += " AND outcome = " + strconv.FormatInt(int64(q.Outcome), 10)
	}
	return where
}

// newestFirst is the statement that reads a page of runs.
func newestFirst(where string) string {
	return `SELECT at, event_id, event_type, source, rule_id, rule_name, action_key, type, object, record_id, depth, outcome, result, error
		FROM automation_run WHERE ` + where +
		" ORDER BY at DESC, event_id DESC, rule_id DESC, action_key DESC, record_id DESC"
}

// Runs is a page of what was done, the newest first, and how many there are on all pages,
// counted up to MaxListed.
func (s *Automation) Runs(ctx context.Context, tenant string, q RunQuery) (page []Run, total int, err error) {
	if err := tooFar(q.Offset); err != nil {
		return nil, 0, err
	}
	err = s.read(ctx, "automation.runs", func(ctx context.Context, tx *sqldb.Tx) error {
		page = []Run{}
		var b sqldb.Binds
		where := q.where(tenant, &b)
		if total, err = count(ctx, tx, "automation_run", where, b.Args()); err != nil {
			return err
		}
		query := newestFirst(where) + " LIMIT " + b.Add(q.Limit) + " OFFSET " + b.Add(q.Offset)
		for row, err := range tx.Query(ctx, query, b.Args()...) {
			if err != nil {
				return err
			}
			r, err := scanRun(row)
			if err != nil {
				return err
			}
			page = append(page, r)
		}
		return nil
	})
	return page, total, err
}

func scanRun(row *sqldb.Row) (r Run, err error) {
	var outcome int64
	var result string
	err = row.Scan(&r.At, &r.EventID, &r.EventType, &r.Source, &r.RuleID, &r.RuleName, &r.ActionKey, &r.Type, &r.Object,
		&r.RecordID, &r.Depth,
		&outcome, &result, &r.Error)
	r.Outcome = Outcome(outcome).String()
	if r.Source == SourceEvent {
		r.RuleID = ""
	}
	switch r.Type {
	case model.Notify:
		if n, bad := strconv.ParseInt(result, 10, 64); bad == nil {
			r.Told = &n
		}
	case model.CreateTask:
		r.TaskID = result
	case model.UpdateField:
		r.RecordVersion = result
	case model.StartGraph:
		r.ExecutionID = result
	}
	return r, err
}

// tooFar refuses a page behind MaxListed.
func tooFar(offset int) error {
	if offset < MaxListed {
		return nil
	}
	return fault.New(fault.Invalid, wire.CodeInvalid, "a list goes back %d items; use filters for older ones",
		MaxListed).With(map[string]string{"field": "page"})
}

// count counts rows, up to MaxListed.
func count(ctx context.Context, tx *sqldb.Tx, table, where string, args []any) (n int, err error) {
	err = tx.Row(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+table+" WHERE "+where+" LIMIT "+strconv.Itoa(MaxListed)+
		") AS few", args...).Scan(&n)
	return n, err
}
