package inbound

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Action is what a delivery is called in the audit log.
const Action = audit.WorkflowEvent

// about is what a delivery is about.
type about struct {
	run, templateID, templateName, action string
	year, month                           int64
}

// ending is how a delivery ended.
type ending struct {
	about
	outcome audit.Outcome
	message string
	reason  fault.Reason
}

// detail is what the audit log has of a delivery beside what it has of everything.
type detail struct {
	TriggerID    string  `json:"trigger_id,omitzero"` // "": it was a workflow event
	TemplateID   *string `json:"template_id"`
	TemplateName *string `json:"template_name"`
	EventName    *string `json:"event_name"`
	Source       *string `json:"source"`
	Key          *string `json:"idempotency_key"`
	Action       *string `json:"action"`
	Year         *int64  `json:"year"`
	Month        *int64  `json:"month"`
	Duplicate    *bool   `json:"duplicate"`
}

// some is a value that JSON shows as null when there is none.
func some[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}

// entry is the audit log's line about a delivery, with an id by which it is found again.
func (e *ending) entry(call Caller, d *Delivery, at canonical.Stamp) (audit.Entry, error) {
	duplicate := e.duplicate()
	body, err := json.Marshal(detail{
		TriggerID: d.Trigger, TemplateID: some(cmp.Or(e.templateID, d.TemplateID)), TemplateName: some(e.templateName),
		EventName: some(d.EventName), Source: some(d.Source), Key: some(d.Key), Action: some(e.action),
		Year: some(e.year), Month: some(e.month), Duplicate: &duplicate,
	})
	return audit.Entry{
		ID: audit.NewID(), At: at, Tenant: call.Tenant, Actor: cmp.Or(d.Source, d.sender()),
		Action: Action, Subject: e.run,
		CorrelationID: call.CorrelationID, Outcome: e.outcome, Reason: e.message,
		ReasonClass: e.reason.Class, ReasonCode: e.reason.Code, RetryAdvice: e.reason.Advice, Detail: body,
	}, err
}

func (e *ending) duplicate() bool { return e.reason == fault.DuplicateKey }

// put stores a delivery's end: its line in the audit log, and one more in the tally of the month. The
// statements before go with it, in one trip.
func (e *ending) put(ctx context.Context, tx *sqldb.Tx, entry *audit.Entry, before ...sqldb.Stmt) error {
	line, err := audit.Stmt(*entry)
	if err != nil {
		return err
	}
	return tx.Batch(ctx, append(before, line, tally(entry, e.duplicate()))...)
}

// dayOf is the day of an instant in UTC: "2026-02-17".
func dayOf(at canonical.Stamp) string { return time.UnixMilli(int64(at)).UTC().Format(time.DateOnly) }

// monthOf is the month of an instant in UTC: "2026-02".
func monthOf(at canonical.Stamp) string { return time.UnixMilli(int64(at)).UTC().Format(monthLayout) }

const monthLayout = "2006-01"

// tally counts an entry.
func tally(e *audit.Entry, duplicate bool) sqldb.Stmt {
	return sqldb.Stmt{
		Query: `INSERT INTO trigger_tally AS t (tenant_id, month, status, reason_class, reason_code,
			retry_advice, duplicate, n)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 1)
			ON CONFLICT (tenant_id, month, status, reason_class, reason_code, retry_advice,
			duplicate) DO UPDATE SET n = t.n + 1`,
		Args: []any{
			e.Tenant, monthOf(e.At), e.Outcome.Status(), string(e.ReasonClass), string(e.ReasonCode),
			string(e.RetryAdvice), strconv.FormatBool(duplicate),
		},
	}
}

// because ends a delivery with an error: refused when that is the sender's, failed when
// it is ours.
func (e *ending) because(err error) {
	failure, ok := fault.As(err)
	if !ok {
		failure = &fault.Error{}
	}
	status := failure.Kind.Status()
	e.outcome, e.message, e.reason = audit.Refused, messageOf(err), failure.Reason
	if status >= 500 {
		e.outcome = audit.Failed
	}
	if e.reason == (fault.Reason{}) || status >= 500 && e.reason != fault.Damaged {
		e.reason = failure.Kind.Reason(status)
	}
}
