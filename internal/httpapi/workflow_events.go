package httpapi

import (
	"context"
	"net/http"

	"renga.dev/renga/internal/inbound"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// WorkflowEvents is where deliveries of events go. What Deliver and Refuse have
// answered is in the audit log.
type WorkflowEvents interface {
	Deliver(ctx context.Context, call inbound.Caller, d inbound.Delivery) (inbound.Outcome, error)
	// Refuse notes a delivery that ended before it could be decided about, with what is
	// known of it, and gives the error to answer with, or the run that its key started before.
	Refuse(ctx context.Context, call inbound.Caller, d inbound.Delivery, err error) (inbound.Outcome, error)
	Summary(ctx context.Context, tenant string, q inbound.SummaryQuery) (inbound.Summary, error)
}

// The rate classes of workflow events and templates.
const (
	rateDeliver       = "workflow.events"
	rateWorkflowRead  = "workflow.read"
	rateWorkflowWrite = "workflow.write"
)

// workflowRoutes are the routes of workflow events and templates. They have a pass of
// their own, and so no scopes.
func (a *API) workflowRoutes() []gate.Route {
	routes := []gate.Route{
		{Pattern: "POST /api/workflow-events", Rate: rateDeliver, Do: a.deliver, Refused: a.refuseDelivery},
		{Pattern: "GET /api/workflow-events/summary", Heavy: true, Rate: rateWorkflowRead, Do: a.summarize},
		{Pattern: "GET /api/workflow-templates", Rate: rateWorkflowRead, Do: a.listTemplates},
		{Pattern: "GET /api/workflow-templates/{id}", Rate: rateWorkflowRead, Do: a.template},
		{Pattern: "PUT /api/workflow-templates/{id}", Heavy: true, Rate: rateWorkflowWrite, Do: rest.NoQuery(a.putTemplate)},
		{Pattern: "DELETE /api/workflow-templates/{id}", Rate: rateWorkflowWrite, Do: rest.NoQuery(a.deleteTemplate)},
	}
	for i := range routes {
		routes[i].Surface, routes[i].Pass = gate.Workflow, a.eventPass
	}
	return routes
}

// delivered is the answer to a delivery that has a run.
type delivered struct {
	Status       string `json:"status"`
	Duplicate    bool   `json:"duplicate"`
	Triggered    bool   `json:"triggered"`
	TemplateID   string `json:"template_id"`
	TemplateName string `json:"template_name"`
	Action       string `json:"action_key"`
	Key          string `json:"idempotency_key,omitzero"`
	RunID        string `json:"run_id"`
}

// deliver answers POST /api/workflow-events. Its senders are foreign: query parameters
// and members that nobody knows are not looked at.
func (a *API) deliver(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	d, err := inbound.ParseDelivery(c.Body, c.Request.Header.Get("X-Idempotency-Key"))
	var out inbound.Outcome
	if err == nil {
		out, err = a.workflowEvents.Deliver(ctx, sender(c), d)
	} else {
		out, err = a.workflowEvents.Refuse(ctx, sender(c), d, err)
	}
	if err != nil {
		return gate.Reply{}, err
	}
	reply := gate.Reply{Body: delivered{
		Status: "ok", Duplicate: out.Duplicate, Triggered: !out.Duplicate, TemplateID: out.TemplateID, TemplateName: out.TemplateName,
		Action: out.Action, Key: out.Key, RunID: out.RunID,
	}}
	if out.Duplicate {
		reply.Header = http.Header{}
		gate.SetReason(reply.Header, fault.DuplicateKey)
	}
	return reply, nil
}

// refuseDelivery notes a delivery that was not let in. Nobody has read it.
func (a *API) refuseDelivery(ctx context.Context, c *gate.Call, err error) error {
	_, err = a.workflowEvents.Refuse(ctx, sender(c), inbound.Delivery{}, err)
	return err
}

func sender(c *gate.Call) inbound.Caller {
	return inbound.Caller{Tenant: c.Principal.Tenant, CorrelationID: c.CorrelationID}
}

// summarize answers GET /api/workflow-events/summary.
func (a *API) summarize(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "ym", "recent_limit")
	query := inbound.SummaryQuery{Month: q.Month("ym")}
	if query.Month == "" {
		q.Fail("ym", "ym is required: the month as YYYY-MM, such as 2026-01")
	}
	query.Recent = q.Int("recent_limit", 1, inbound.MaxRecent, inbound.DefaultRecent)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	s, err := a.workflowEvents.Summary(ctx, c.Principal.Tenant, query)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: s}, nil
}
