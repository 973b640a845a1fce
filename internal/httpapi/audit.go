package httpapi

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/audit"
	"renga.dev/renga/internal/bus"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/flow"
	"renga.dev/renga/internal/gate"
	"renga.dev/renga/internal/wire"
)

// Audit is the audit log.
type Audit interface {
	List(ctx context.Context, q audit.Query) ([]audit.Entry, int, error)
}

// The scope and rate class of the audit log.
const (
	scopeAudit = "audit:read"
	rateAudit  = "audit.read"
)

// auditView is an entry of the audit log as readers see it.
type auditView struct {
	AuditID       string            `json:"auditId"`
	At            wire.Stamp        `json:"at"`
	Actor         flow.Actor        `json:"actor"`
	Action        string            `json:"action"`
	Subject       string            `json:"subject"`
	CorrelationID string            `json:"correlationId"`
	Outcome       audit.Outcome     `json:"outcome"`
	Reason        string            `json:"reason,omitempty"`
	ReasonClass   fault.ReasonClass `json:"reasonClass,omitempty"`
	ReasonCode    fault.ReasonCode  `json:"reasonCode,omitempty"`
	RetryAdvice   fault.RetryAdvice `json:"retryAdvice,omitempty"`
	Detail        jsontext.Value    `json:"detail"`
}

func showAudit(e *audit.Entry) auditView {
	by := flow.Actor{Kind: flow.KindUser, ID: e.Actor}
	if e.Actor == bus.Automatic {
		by = flow.Actor{Kind: flow.KindSystem}
	}
	return auditView{
		AuditID: e.ID, At: e.At, Actor: by, Action: e.Action, Subject: e.Subject,
		CorrelationID: e.CorrelationID, Outcome: e.Outcome, Reason: e.Reason, ReasonClass: e.ReasonClass, ReasonCode: e.ReasonCode,
		RetryAdvice: e.RetryAdvice, Detail: e.Detail,
	}
}

// listAudit answers GET /audit.
func (a *API) listAudit(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := newQuery(c, append([]string{"action", "actor", "subject", "from", "to"}, pageParams...)...)
	p := q.paging()
	query := audit.Query{
		Tenant: c.Principal.Tenant, Action: q.name("action"), Actor: q.line("actor", audit.MaxText), Subject: q.line("subject", audit.MaxText),
		From: wire.Stamp(q.instant("from")), To: wire.Stamp(q.instant("to")), Offset: p.offset(), Limit: p.size,
	}
	if q.err != nil {
		return gate.Reply{}, q.err
	}
	rows, total, err := a.audit.List(ctx, query)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: newPage(p, rows, total, showAudit)}, nil
}
