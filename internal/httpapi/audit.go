package httpapi

import (
	"context"
	"iter"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/flow"
)

// Audit is the audit log.
type Audit interface {
	List(ctx context.Context, q audit.Query) ([]audit.Entry, int, error)
	Export(ctx context.Context, q audit.Query) iter.Seq2[[]audit.Entry, error]
}

// auditAPI answers the calls of the audit log.
type auditAPI struct{ audit Audit }

// routes are the routes of the audit log.
func (a *auditAPI) routes() []gate.Route {
	return []gate.Route{
		{Operation: "listAudit", Heavy: true, Do: a.listAudit},
		{Operation: "exportAudit", Open: gate.OpenStreams, Stream: true, Whole: true, Do: a.exportAudit},
	}
}

// auditView is an entry of the audit log as readers see it.
type auditView struct {
	AuditID       string            `json:"auditId"`
	At            canonical.Stamp   `json:"at"`
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
	switch {
	case e.Action == audit.WorkflowEvent,
		e.Action == gate.TokenRefused: // whoever it was, nobody here has checked the name
		by.Kind = flow.KindExternal
	case e.Actor == bus.Automatic:
		by = flow.Actor{Kind: flow.KindSystem}
	}
	return auditView{
		AuditID: e.ID, At: e.At, Actor: by, Action: e.Action, Subject: e.Subject,
		CorrelationID: e.CorrelationID, Outcome: e.Outcome, Reason: e.Reason, ReasonClass: e.ReasonClass,
		ReasonCode: e.ReasonCode, RetryAdvice: e.RetryAdvice, Detail: e.Detail,
	}
}

// auditParams are the parameters that select entries.
var auditParams = []string{"action", "actor", "subject", "from", "to"}

// auditFilter selects entries of a tenant.
func (q query) auditFilter(tenant string) audit.Query {
	return audit.Query{
		Tenant: tenant, Action: q.name("action"),
		Actor: q.line("actor", audit.MaxText), Subject: q.line("subject", audit.MaxText),
		From: canonical.Stamp(q.Instant("from")), To: canonical.Stamp(q.Instant("to")),
	}
}

func (a *auditAPI) listAudit(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, auditParams...)
	filter := query{q}.auditFilter(c.Principal.Tenant)
	filter.Offset, filter.Limit = p.Offset(), p.Size
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.audit.List(ctx, filter)
	return gate.Reply{Body: rest.Show(p, rows, total, showAudit)}, err
}

// exportAudit answers GET /audit/export: a line for each entry. Should it fail on its
// way, the connection is cut, so that nobody takes a part for the whole.
func (a *auditAPI) exportAudit(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := query{rest.ReadQuery(c, auditParams...)}
	filter := q.auditFilter(c.Principal.Tenant)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	c.Stream.Header().Set("Content-Type", "application/x-ndjson")
	s := follower{out: c.Stream, control: http.NewResponseController(c.Stream)}
	next, stop := iter.Pull2(a.audit.Export(ctx, filter))
	defer stop()
	var err error
	for more := true; more && err == nil; {
		err = c.Turn(ctx, func() error {
			page, err, some := next()
			if more = some; !more || err != nil {
				return err
			}
			s.frame, err = appendEntries(s.frame[:0], page)
			return err
		})
		if more && err == nil {
			err = s.write(s.frame)
		}
	}
	if err == nil && s.frame == nil {
		c.Stream.WriteHeader(http.StatusOK) // there is no entry
	}
	return gate.Reply{}, err
}

// appendEntries writes entries, each on a line.
func appendEntries(dst []byte, page []audit.Entry) ([]byte, error) {
	for i := range page {
		begin := len(dst)
		line, err := json.Marshal(showAudit(&page[i]))
		if err != nil {
			return dst, err
		}
		dst = append(audit.OneLine(append(dst, line...), begin), '\n')
	}
	return dst, nil
}
