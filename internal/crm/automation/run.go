package automation

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Outcome is the outcome of an action.
type Outcome int64

// The outcomes. The numbers are stored.
const (
	done    Outcome = 1
	pending Outcome = 2 // a graph that is to be started
	failed  Outcome = 3
	nothing Outcome = 4 // there was nothing to do
)

var outcomes = [...]string{done: "DONE", pending: "PENDING", failed: "FAILED", nothing: "NOTHING"}

// ParseOutcome is an outcome by its name.
func ParseOutcome(name string) (Outcome, bool) {
	at := slices.Index(outcomes[:], name)
	return Outcome(at), at >= int(done)
}

// maxError is how many bytes of an error are stored.
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

// messageOf is an error as it is stored.
func messageOf(err error) string {
	text := err.Error()
	if e, ok := fault.As(err); ok && e.Message != "" {
		text = e.Message
	}
	return strings.ToValidUTF8(text[:min(len(text), maxError)], "") // no character is cut in two
}

// stmt stores the run.
func (r *run) stmt() sqldb.Stmt {
	return sqldb.Stmt{
		Query: `INSERT INTO automation_run (tenant_id, event_id, rule_id, action_key, record_id, at, event_type, source,
				rule_name, type, object, depth, outcome, result, error, graph_id, input, tries, retry_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 0, $6)`,
		Args: []any{
			r.tenant, r.eventID, r.ruleID, r.action.Key, r.record, r.at, r.eventType, r.source, r.rule, r.action.Type,
			r.object, r.cause.depth, r.outcome, r.result, r.err, r.action.GraphID, r.input,
		},
	}
}

// Run is an action that was done, or is to be.
type Run struct {
	At            canonical.Stamp `json:"at"`
	EventID       string          `json:"eventId"` // of a job: that of its firing
	EventType     string          `json:"eventType,omitzero"`
	Source        string          `json:"source"` // rule, job, event
	RuleID        string          `json:"ruleId,omitzero"`
	RuleName      string          `json:"ruleName,omitzero"`
	ActionKey     string          `json:"actionKey"`
	Type          string          `json:"type"`
	Object        string          `json:"object,omitzero"`
	RecordID      string          `json:"recordId,omitzero"`
	Depth         int64           `json:"depth"`
	Outcome       string          `json:"outcome"`
	Notified      *int64          `json:"told,omitzero"`          // of notify: how many users
	TaskID        string          `json:"taskId,omitzero"`        // of createTask
	RecordVersion string          `json:"recordVersion,omitzero"` // of updateField
	ExecutionID   string          `json:"executionId,omitzero"`   // of startGraph
	Error         string          `json:"error,omitzero"`
}

// RunQuery is which runs are wanted; what is empty is any.
type RunQuery struct {
	EventID, RuleID, RecordID string
	Outcome                   Outcome
	Offset, Limit             int
}

// listing lists the runs that are wanted, the newest first.
func (q *RunQuery) listing(tenant string) listing {
	l := listing{
		columns: "at, event_id, event_type, source, rule_id, rule_name, action_key, type, object, record_id, depth, " +
			"outcome, result, error",
		table: "automation_run",
		order: "at DESC, event_id DESC, rule_id DESC, action_key DESC, record_id DESC",
	}
	l.where = "tenant_id = " + l.Add(tenant)
	for _, f := range []struct{ column, value string }{
		{"event_id", q.EventID},
		{"rule_id", q.RuleID},
		{"record_id", q.RecordID},
	} {
		if f.value != "" {
			l.where += " AND " + f.column + " = " + l.Add(f.value)
		}
	}
	if q.Outcome != 0 { // in the text, so that the indexes of one outcome are found
		l.where += " AND outcome = " + strconv.FormatInt(int64(q.Outcome), 10)
	}
	return l
}

// Runs is a page of the actions that were done, the newest first, and how many there are.
func (s *Automation) Runs(ctx context.Context, tenant string, q RunQuery) ([]Run, int, error) {
	return list(ctx, s, "runs", q.Offset, q.Limit, scanRun, func(context.Context, *sqldb.Tx) (listing, error) {
		return q.listing(tenant), nil
	})
}

func scanRun(row *sqldb.Row) (r Run, err error) {
	var outcome Outcome
	var result string
	err = row.Scan(
		&r.At,
		&r.EventID,
		&r.EventType,
		&r.Source,
		&r.RuleID,
		&r.RuleName,
		&r.ActionKey,
		&r.Type,
		&r.Object,
		&r.RecordID,
		&r.Depth,
		&outcome,
		&result,
		&r.Error,
	)
	r.Outcome = outcomes[outcome]
	if r.Source == SourceEvent {
		r.RuleID = ""
	}
	switch r.Type {
	case model.Notify:
		if n, bad := strconv.ParseInt(result, 10, 64); bad == nil {
			r.Notified = &n
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
