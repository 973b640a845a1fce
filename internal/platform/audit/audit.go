// Package audit is the audit log: who did what, to what, when, why, and with which outcome.
//
// Write adds an entry in the transaction of the action, so neither exists without the other. The log is append-only:
// the database refuses to change a row. It holds names, ids and reasons, never tokens, payloads or other data of
// callers.
package audit

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

const (
	MaxText   = 1024     // characters of an actor, a subject or a reason, then truncated
	MaxDetail = 16 << 10 // bytes of the detail of an entry
	MaxListed = 50_000   // entries that a list counts and pages through
)

//go:embed migrations
var files embed.FS

func Migration() sqldb.Migration { return sqldb.Tables("audit", files) }

// Entry is one line of the audit log.
type Entry struct {
	Num           int64  // rises with each entry; set by readers
	ID            string // "": Write makes one
	At            canonical.Stamp
	Tenant        string
	Actor         string // "": unknown
	Action        string // "dlq.redrive", "events.replay" …
	Subject       string // mostly an id
	CorrelationID string
	Outcome       Outcome
	Reason        string // in the actor's words
	// Of refusals and failures:
	ReasonClass fault.ReasonClass
	ReasonCode  fault.ReasonCode
	RetryAdvice fault.RetryAdvice
	Detail      []byte // a JSON object without data of callers; nil: {}
}

type Outcome string

const (
	Accepted Outcome = "accepted"
	Refused  Outcome = "refused" // by state or permission
	Failed   Outcome = "failed"
	Skipped  Outcome = "skipped" // done before; nothing was left to do
)

var Outcomes = []Outcome{Accepted, Refused, Failed, Skipped}

// The outcomes as the workflow events document calls them.
const (
	StatusSuccess  = "success"
	StatusSkipped  = "skipped"
	StatusRejected = "rejected"
	StatusFailed   = "failed"
	StatusUnknown  = "unknown"
)

// Status is the outcome in the words of the workflow events document.
func (o Outcome) Status() string {
	switch o {
	case Accepted:
		return StatusSuccess
	case Skipped:
		return StatusSkipped
	case Refused:
		return StatusRejected
	case Failed:
		return StatusFailed
	}
	return StatusUnknown
}

// WorkflowEvent is the action of delivery entries. Their subject is the run; the detail names the action of its first
// step.
const WorkflowEvent = "workflow_event"

// NewID is for callers who must be able to find the entry again.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

const insert = `INSERT INTO audit_log (id, at, tenant_id, actor, action, subject, correlation_id, outcome, reason,
	reason_class, reason_code, retry_advice, detail) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`

// Write adds an entry in the transaction of its action. At 0 becomes now. Texts are reduced to one line, so that a
// caller cannot forge a second entry in a report.
func Write(ctx context.Context, tx *sqldb.Tx, e Entry) (err error) {
	if e.At == 0 {
		now, err := tx.Now(ctx)
		if err != nil {
			return fault.Wrap("audit.write", err)
		}
		e.At = canonical.Stamp(now)
	}
	st, err := Stmt(e)
	if err == nil {
		_, err = tx.Exec(ctx, st.Query, st.Args...)
	}
	return fault.Wrap("audit.write", err)
}

// Stmt is Write as a statement of a batch; the entry must have a time.
func Stmt(e Entry) (sqldb.Stmt, error) {
	detail, err := check(&e)
	if err != nil {
		return sqldb.Stmt{}, fault.Wrap("audit.write", err)
	}
	if e.ID == "" {
		e.ID = NewID()
	}
	return sqldb.Stmt{Query: insert, Args: []any{
		e.ID, e.At, e.Tenant, line(e.Actor), e.Action, line(e.Subject),
		line(e.CorrelationID), string(e.Outcome), line(e.Reason), string(e.ReasonClass), line(string(e.ReasonCode)),
		string(e.RetryAdvice), detail,
	}}, nil
}

// check rejects mistakes of the program and returns the detail.
func check(e *Entry) (string, error) {
	switch {
	case e.Tenant == "" || e.Action == "" || e.At == 0:
		return "", errors.New("an entry has a tenant, an action and a time")
	case !slices.Contains(Outcomes, e.Outcome):
		return "", fmt.Errorf("%q is no outcome", e.Outcome)
	case e.Detail == nil:
		return "{}", nil
	}
	detail := jsontext.Value(e.Detail).Clone()
	if err := detail.Compact(); err != nil || detail.Kind() != jsontext.KindBeginObject || len(detail) > MaxDetail {
		return "", fmt.Errorf("a detail is a JSON object of at most %d bytes", MaxDetail)
	}
	return string(detail), nil
}
