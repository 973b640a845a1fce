package inbound

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// api answers the calls of workflow events and templates.
type api struct {
	deliveries *Deliveries
	reserved   func(queue string) bool
}

// Routes are the routes of workflow events and templates. pass lets their callers in, so they
// have no scopes; nil: nobody. reserved says which queues are the server's own, which no template
// may name; nil: none.
func (t *Deliveries) Routes(pass gate.Pass, reserved func(queue string) bool) []gate.Route {
	if pass == nil {
		pass = &gate.EventToken{}
	}
	if reserved == nil {
		reserved = func(string) bool { return false }
	}
	a := &api{deliveries: t, reserved: reserved}
	routes := rest.Routes([]gate.Route{
		{Operation: "summarizeWorkflowEvents", Heavy: true, Do: a.summarize},
		{Operation: "listWorkflowTemplates", Do: rest.Paged(t, (*Deliveries).Templates, rest.Same)},
		{Operation: "getWorkflowTemplate", Do: rest.NoQuery(a.template)},
		{Operation: "putWorkflowTemplate", Heavy: true, Do: a.putTemplate},
		{Operation: "deleteWorkflowTemplate", Do: a.deleteTemplate},
	})
	// Senders of events are foreign: their query parameters are not looked at, and their headers where they matter.
	routes = append(routes, gate.FromContract([]gate.Route{
		{Operation: "deliverWorkflowEvent", Foreign: true, Do: a.deliver, Refused: a.refuseDelivery},
	})...)
	for i := range routes {
		routes[i].Pass = pass
	}
	return append(routes, t.Triggers().routes(pass)...)
}

// delivered is the answer to a delivery that has a run.
type delivered struct {
	Status    string `json:"status"`
	Duplicate bool   `json:"duplicate"`
	Triggered bool   `json:"triggered"`
	Outcome
}

func (a *api) deliver(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	h := c.Request.Header
	d, err := ParseDelivery(c.Body, cmp.Or(h.Get(gate.XKeyHeader), h.Get(gate.KeyHeader)))
	if stray := gate.StrayKey(h); err == nil && d.Key == "" && stray != "" {
		err = refusedField("the header %.64s is unknown; send the key as idempotency_key or in the header %s", stray,
			strings.ToLower(gate.XKeyHeader))
	}
	var out Outcome
	if err == nil {
		out, err = a.deliveries.Deliver(ctx, callerOf(c), d)
	} else {
		out, err = a.deliveries.Refuse(ctx, callerOf(c), d, err)
	}
	if err != nil {
		return gate.Reply{}, err
	}
	reply := gate.Reply{Body: delivered{"ok", out.Duplicate, !out.Duplicate, out}}
	if out.Duplicate {
		reply.Header = http.Header{}
		gate.SetReason(reply.Header, fault.DuplicateKey)
	}
	return reply, nil
}

// refuseDelivery notes a delivery that was not let in. Nobody has read it.
func (a *api) refuseDelivery(ctx context.Context, c *gate.Call, err error) error {
	_, err = a.deliveries.Refuse(ctx, callerOf(c), Delivery{}, err)
	return err
}

func callerOf(c *gate.Call) Caller {
	return Caller{Tenant: c.Principal.Tenant, CorrelationID: c.CorrelationID}
}

func (a *api) summarize(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "ym", "recent_limit")
	query := SummaryQuery{Month: q.Month("ym")}
	if query.Month == "" {
		q.Fail("ym", "ym is required: the month as YYYY-MM, such as 2026-01")
	}
	query.Recent = q.Int("recent_limit", 1, MaxRecent, DefaultRecent)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	s, err := a.deliveries.Summary(ctx, c.Principal.Tenant, query)
	return gate.Reply{Body: s}, err
}
