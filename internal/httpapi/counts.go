package httpapi

import (
	"context"
	"time"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// groupView is how many executions have something in common.
type groupView struct {
	Status  string `json:"status,omitzero"`
	GraphID string `json:"graphId,omitzero"`
	Count   int    `json:"count"`
}

// groupsView are groups of executions.
type groupsView struct {
	Items []groupView `json:"items"`
	Total int         `json:"total"`
	More  bool        `json:"more"`
}

// counts answers GET /executions/counts.
func (a *API) counts(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "groupBy", "graphId")
	cq := engine.CountQuery{Tenant: c.Principal.Tenant, GraphID: query{q}.graph("graphId")}
	for _, by := range q.Words("groupBy", "status", "graphId") {
		cq.ByStatus = cq.ByStatus || by == "status"
		cq.ByGraph = cq.ByGraph || by == "graphId"
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	groups, total, more, err := a.cfg.Reads.Counts(ctx, cq)
	if err != nil {
		return gate.Reply{}, err
	}
	out := groupsView{Items: make([]groupView, len(groups)), Total: total, More: more}
	for i, g := range groups {
		out.Items[i] = groupView{GraphID: g.GraphID, Count: g.N}
		if cq.ByStatus {
			out.Items[i].Status = g.Status.String()
		}
	}
	return gate.Reply{Body: &out}, nil
}

// bucketView is a bucket of a histogram.
type bucketView struct {
	From   flow.Time      `json:"from"`
	Counts map[string]int `json:"counts"`
}

// histogramView is how many executions were created, over time.
type histogramView struct {
	From     flow.Time     `json:"from"`
	To       flow.Time     `json:"to"`
	Bucket   flow.Duration `json:"bucket"`
	Complete flow.Time     `json:"completeFrom"`
	Items    []bucketView  `json:"items"`
}

// histogram answers GET /executions/histogram.
func (a *API) histogram(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "from", "to", "bucket", "graphId")
	hq := engine.HistogramQuery{
		Tenant: c.Principal.Tenant, GraphID: query{q}.graph("graphId"), From: q.Instant("from"), To: q.Instant("to"),
	}
	hq.Bucket = query{q}.bucket("bucket")
	buckets := query{q}.buckets(&hq)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	bars, complete, err := a.cfg.Reads.Histogram(ctx, hq)
	if err != nil {
		return gate.Reply{}, err
	}
	out := histogramView{
		From: hq.From, To: hq.To, Bucket: flow.Duration(hq.Bucket), Complete: complete,
		Items: make([]bucketView, buckets),
	}
	for i := range out.Items {
		out.Items[i] = bucketView{hq.From.Add(time.Duration(i) * hq.Bucket), map[string]int{}}
	}
	for _, b := range bars {
		out.Items[b.Bucket].Counts[b.Status.String()] = b.N
	}
	return gate.Reply{Body: &out}, nil
}

// bucket is how long a bucket is.
func (q query) bucket(name string) time.Duration {
	var d flow.Duration
	s, _ := q.Text(name)
	if d.UnmarshalText([]byte(s)) != nil || d < flow.Duration(time.Second) || d > flow.Duration(flow.MaxSpan) ||
		time.Duration(d)%time.Second != 0 {
		q.Fail(name, "%s must be a duration of whole seconds, such as 5m, 1h or 24h", name)
		return 0
	}
	return time.Duration(d)
}

// buckets is how many buckets a histogram has; there must be some, and not too many.
func (q query) buckets(hq *engine.HistogramQuery) int {
	switch {
	case q.Err != nil:
	case hq.From == 0 || hq.To <= hq.From:
		q.Fail("to", "from and to must be given, and to must be after from")
	case (hq.To.Sub(hq.From)-1)/hq.Bucket >= engine.MaxBuckets:
		q.Fail("bucket", "a histogram has at most %d buckets: make them longer, or the time shorter", engine.MaxBuckets)
	default:
		return int((hq.To.Sub(hq.From)-1)/hq.Bucket) + 1
	}
	return 0
}

// queueView is how much work a queue has.
type queueView struct {
	Queue string    `json:"queue"`
	Ready int       `json:"ready"`
	More  bool      `json:"more"`
	Since flow.Time `json:"oldestReadyAt"`
}

// queues answers GET /tasks/queues; the server's own are left out.
func (a *taskAPI) queues(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.reads.Queues(ctx, engine.QueueQuery{
		Tenant: c.Principal.Tenant, Without: a.reserved, Offset: p.Offset(), Limit: p.Size,
	})
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.Show(p, rows, total, func(r *engine.QueueRow) queueView {
		return queueView{
			Queue: r.Queue, Ready: min(r.Ready, engine.MaxCountedReady), More: r.Ready > engine.MaxCountedReady,
			Since: r.Since,
		}
	})}, nil
}
