// Package audit is the one audit log: who did what, to what, when, why, and what came
// of it.
//
// An entry is written in the transaction of what it tells of (Write), so there is no
// deed without its entry and no entry without its deed. The log is only added to: the
// database refuses to change a row. It holds names, ids and reasons, never tokens,
// payloads or other data of callers.
package audit

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// Named maxima of the audit log.
const (
	MaxText   = 1024     // characters of an actor, a subject or a reason; more are cut off
	MaxDetail = 16 << 10 // bytes of the detail of an entry
	MaxListed = 50_000   // entries that one list reaches back, and counts
)

//go:embed migrations
var files embed.FS

// Migration is the table of the audit log, for sqldb.Config.
func Migration() sqldb.Migration {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return sqldb.Migration{Name: "audit", FS: sub}
}

// Entry is one line of the audit log.
type Entry struct {
	Num           int64  // rises from entry to entry; set by readers
	ID            string // set by Write where there is none; see NewID
	At            wire.Stamp
	Tenant        string
	Actor         string // who did it; "": not known
	Action        string // what was done: "dlq.redrive", "events.replay" …
	Subject       string // to what, mostly an id
	CorrelationID string
	Outcome       Outcome
	Reason        string // why, as the actor said
	// Of what was refused or failed:
	ReasonClass fault.ReasonClass
	ReasonCode  fault.ReasonCode
	RetryAdvice fault.RetryAdvice
	Detail      []byte // a JSON object: names, ids and counts, no data of callers; nil: {}
}

// Outcome is the result of an action.
type Outcome string

// The outcomes.
const (
	Accepted Outcome = "accepted"
	Refused  Outcome = "refused" // the state, or who may do what, says no
	Failed   Outcome = "failed"
	Skipped  Outcome = "skipped" // it was done before, and nothing was left to do
)

// Outcomes are all of them.
var Outcomes = []Outcome{Accepted, Refused, Failed, Skipped}

// The outcomes in the words of the workflow events document, for its files and reports.
const (
	StatusSuccess  = "success"
	StatusSkipped  = "skipped"
	StatusRejected = "rejected"
	StatusFailed   = "failed"
	StatusUnknown  = "unknown"
)

// Status is the document's word for an outcome.
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

// WorkflowEvent is the action of entries that tell of deliveries. Their subject is the
// run, and the action of its first step stands in the detail.
const WorkflowEvent = "workflow_event"

// NewID is an id for an entry, for whoever may have to look whether it was written.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

const insert = `INSERT INTO audit_log (id, at, tenant_id, actor, action, subject, correlation_id, outcome, reason,
	reason_class, reason_code, retry_advice, detail) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`

// Write adds an entry in the transaction of what it tells of. Without a time it has
// the database's, on SQLite the machine's. Texts are made safe for one line of a
// report: whoever wrote them cannot make two entries of one.
func Write(ctx context.Context, tx *sqldb.Tx, e Entry) (err error) {
	if e.At == 0 {
		if e.At, err = now(ctx, tx); err != nil {
			return fault.Wrap("audit.write", err)
		}
	}
	st, err := Stmt(e)
	if err == nil {
		_, err = tx.Exec(ctx, st.Query, st.Args...)
	}
	return fault.Wrap("audit.write", err)
}

// Stmt is the statement that writes an entry with a time, for whoever writes several
// things in one trip.
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

// check refuses what only a mistake in the program can make, and gives the detail.
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

func now(ctx context.Context, tx *sqldb.Tx) (wire.Stamp, error) {
	at, err := tx.Now(ctx)
	return wire.Stamp(at), err
}
