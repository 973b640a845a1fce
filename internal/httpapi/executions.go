package httpapi

import (
	"context"
	"fmt"
	"math"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
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
	key := engine.BusinessKey{Tenant: c.Principal.Tenant, GraphID: c.Path("graphId"), Key: c.Path("businessKey")}
	if !graphID(key.GraphID) || !validBusinessKey(key.Key) {
		return gate.Reply{}, fault.New(fault.NotFound, "EXECUTION_NOT_FOUND",
			"no execution can have the graph %.128q and the business key %.256q", key.GraphID, key.Key)
	}
	view, err := a.cfg.Reads.ByKey(ctx, key)
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

func (a *API) list(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "status", "graphId", "correlationId", "businessKey", "label*", "waiting", "nodeId",
		"archived", "outcome", "errorCode", "createdFrom", "createdTo", "endedFrom", "endedTo", "sort", "cursor",
		"include")
	lq := query{q}.executions(c.Principal.Tenant)
	if sort, given := q.Text("sort"); given && sort != newestFirst {
		q.Fail("sort", "sort must be %s", newestFirst)
	}
	include := q.Words("include", "nowAt")
	sealed, err := a.cfg.Seals.For(ctx, "executions", c.Principal.Tenant, c.Principal.Subject,
		q.Without("page", "cursor"))
	if err != nil {
		return gate.Reply{}, err
	}
	if lq.Before = (query{q}).cursor(sealed, &p); q.Err != nil {
		return gate.Reply{}, q.Err
	}
	if lq.Limit = p.Size + 1; lq.Before.Num == 0 {
		lq.Offset = p.Offset()
	}
	heads, total, err := a.cfg.Reads.List(ctx, lq)
	if err != nil {
		return gate.Reply{}, err
	}
	next := ""
	if len(heads) > p.Size {
		heads = heads[:p.Size]
		next = sealed.Text(after{p.Number + 1, heads[p.Size-1]}.text())
	}
	page := rest.Show(p, heads, total, showHead)
	page.Next = next
	if len(include) > 0 {
		err = c.Turn(ctx, func() error { return placeHeads(ctx, a.cfg.Reads, c.Principal.Tenant, page.Items) })
	}
	return gate.Reply{Body: page}, err
}

// placeHeads says of those that are ACTIVE at which nodes they are.
func placeHeads(ctx context.Context, reads Reads, tenant string, items []headView) (err error) {
	for i := range items {
		if one := &items[i]; one.Status == flow.Active.String() {
			if one.NowAt, err = reads.NowAt(ctx, tenant, one.ExecutionID); err != nil {
				return err
			}
		}
	}
	return nil
}

// executions is which of them a list is asked for.
func (q query) executions(tenant string) engine.ListQuery {
	archived := q.Bool("archived")
	return engine.ListQuery{
		Archived: archived != nil && *archived, Unarchived: archived != nil && !*archived,
		Tenant: tenant, Status: q.statuses("status"), GraphID: q.graph("graphId"),
		CorrelationID: q.correlation("correlationId"), BusinessKey: q.businessKey("businessKey"),
		Labels: q.labels("label"), Waiting: q.waiting("waiting"), NodeID: q.name("nodeId"),
		Outcome: q.outcome("outcome"), ErrorCode: q.line("errorCode", maxErrorCode),
		CreatedFrom: q.Instant("createdFrom"), CreatedTo: q.Instant("createdTo"),
		EndedFrom: q.Instant("endedFrom"), EndedTo: q.Instant("endedTo"),
	}
}

// after is what a cursor holds: the number of its page and the execution before that page.
type after struct {
	page int
	last engine.Head
}

const afterForm = "%d/%d/%d"

func (a after) text() []byte {
	return fmt.Appendf(nil, afterForm, a.page, a.last.CreatedAt, a.last.Num)
}

// cursor is where the page begins that a cursor asks for.
func (q query) cursor(sealed *seal.Sealer, p *rest.Page) (at engine.Head) {
	if raw := q.opened(sealed); raw != nil {
		_, err := fmt.Sscanf(string(raw), afterForm, &p.Number, &at.CreatedAt, &at.Num)
		if err != nil && q.Err == nil {
			q.Err = err // nobody else can have sealed it
		}
	}
	return at
}

// opened is what a cursor holds; nil when there is none.
func (q query) opened(sealed *seal.Sealer) []byte {
	text, given := q.Text("cursor")
	if !given {
		return nil
	}
	if _, given := q.Text("page"); given {
		q.Fail("page", "page does not go with cursor, which says where the page begins")
	}
	raw, ok := sealed.OpenText(text)
	if !ok {
		q.Fail("cursor", "cursor must be next of the page before, of the same list and caller: "+
			"leave it out to begin anew")
		return nil
	}
	return raw
}

// newestFirst is the one order of the list of executions.
const newestFirst = "createdAt.desc"
