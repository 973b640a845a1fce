package httpapi

import (
	"context"
	"math"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/engine"
)

func (a *API) execution(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "at")
	at := q.Int("at", 1, math.MaxInt, 0)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	id, err := executionID(c.Path("executionId"))
	if err != nil {
		return gate.Reply{}, err
	}
	view, err := a.cfg.Reads.Execution(ctx, c.Principal.Tenant, id, uint64(at))
	return gate.Reply{Body: showExecution(&view)}, err
}

// byKey answers GET /executions/by-key/{graphId}/{businessKey}.
func (a *API) byKey(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	view, err := a.cfg.Reads.ByKey(ctx, engine.BusinessKey{
		Tenant: c.Principal.Tenant, GraphID: c.Path("graphId"), Key: c.Path("businessKey"),
	})
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: showExecution(&view)}, nil
}

// output answers GET /executions/{executionId}/nodes/{nodeId}/output.
func (a *API) output(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	id, err := executionID(c.Path("executionId"))
	if err != nil {
		return gate.Reply{}, err
	}
	output, err := a.cfg.Reads.Output(ctx, c.Principal.Tenant, id, c.Path("nodeId"))
	return gate.Reply{Body: output}, err
}

// events answers GET /executions/{executionId}/events. The log has no gaps, so a
// page is a range of sequence numbers.
func (a *API) events(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	id, err := executionID(c.Path("executionId"))
	if err != nil {
		return gate.Reply{}, err
	}
	events, last, err := a.cfg.Reads.Events(ctx, c.Principal.Tenant, id, uint64(p.Offset())+1, p.Size)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.Show(p, events, int(last), rest.Same)}, nil
}

func (a *API) list(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "status", "graphId", "createdFrom", "createdTo", "sort")
	lq := engine.ListQuery{
		Tenant: c.Principal.Tenant, Status: query{q}.statuses("status"), GraphID: query{q}.graph("graphId"),
		CreatedFrom: q.Instant("createdFrom"), CreatedTo: q.Instant("createdTo"), Offset: p.Offset(), Limit: p.Size,
	}
	if sort, given := q.Text("sort"); given && sort != newestFirst {
		q.Fail("sort", "sort must be %s", newestFirst)
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	heads, total, err := a.cfg.Reads.List(ctx, lq)
	return gate.Reply{Body: rest.Show(p, heads, total, showHead)}, err
}

// newestFirst is the one order of the list of executions.
const newestFirst = "createdAt.desc"
