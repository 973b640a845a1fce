package httpapi

import (
	"context"
	"math"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// execution answers GET /executions/{executionId}.
func (a *API) execution(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := newQuery(c, "at")
	at := q.integer("at", 1, math.MaxInt, 0)
	if q.err != nil {
		return gate.Reply{}, q.err
	}
	id, err := executionID(c.Path("executionId"))
	if err != nil {
		return gate.Reply{}, err
	}
	view, err := a.reads.Execution(ctx, c.Principal.Tenant, id, uint64(at))
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: showExecution(&view)}, nil
}

// events answers GET /executions/{executionId}/events. The log has no gaps, so a
// page is a range of sequence numbers.
func (a *API) events(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := newQuery(c, pageParams...)
	p := q.paging()
	if q.err != nil {
		return gate.Reply{}, q.err
	}
	id, err := executionID(c.Path("executionId"))
	if err != nil {
		return gate.Reply{}, err
	}
	events, last, err := a.reads.Events(ctx, c.Principal.Tenant, id, uint64(p.offset())+1, p.size)
	if err != nil {
		return gate.Reply{}, err
	}
	show := func(ev *flow.Event) *flow.Event { return ev }
	return gate.Reply{Body: newPage(p, events, int(last), show)}, nil
}

// list answers GET /executions.
func (a *API) list(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := newQuery(c, append([]string{"status", "graphId", "createdFrom", "createdTo", "sort"}, pageParams...)...)
	p := q.paging()
	lq := engine.ListQuery{
		Tenant: c.Principal.Tenant, Status: q.statuses("status"), GraphID: q.graph("graphId"),
		CreatedFrom: q.instant("createdFrom"), CreatedTo: q.instant("createdTo"), Offset: p.offset(), Limit: p.size,
	}
	if sort, given := q.text("sort"); given && sort != newestFirst {
		q.fail("sort", "sort must be %s", newestFirst)
	}
	if q.err != nil {
		return gate.Reply{}, q.err
	}
	heads, total, err := a.reads.List(ctx, lq)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: newPage(p, heads, total, showHead)}, nil
}

// newestFirst is the one order of the list of executions.
const newestFirst = "createdAt.desc"
