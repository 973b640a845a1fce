package recheck

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// Queue is where workers find the strategies that are to be checked.
const Queue = "pdca.recheck"

// How a check that failed is tried again, unless its worker says that it has come to an end.
const (
	maxAttempts   = 5
	firstInterval = 2 * time.Second
	mostInterval  = time.Minute
)

// GraphPrefix begins the ids of the graphs of batches. Names that users give have no
// colon, so these graphs are nobody else's.
const GraphPrefix = "pdca:"

// graphID is the id of the graph of a batch of n strategies.
func graphID(n int) string { return GraphPrefix + "fork-" + strconv.Itoa(n) }

// fork is the graph of a batch of n strategies: all are checked side by side, and the
// execution has ended when each has come to its end, in whatever way.
func fork(n int, timeout time.Duration) flow.Graph {
	const start, split, join, end = "start", "fork", "join", "end"
	retry := &flow.Retry{
		MaxAttempts: maxAttempts, InitialInterval: flow.Duration(firstInterval), Backoff: 2,
		MaxInterval: flow.Duration(mostInterval),
	}
	g := flow.Graph{
		Nodes: []flow.NodeSpec{{NodeID: start, Type: flow.StartKind}, {NodeID: split, Type: flow.ForkKind}},
		Edges: []flow.Edge{{From: start, To: split}},
	}
	for i := range n {
		id := nodeOf(i)
		g.Nodes = append(g.Nodes, flow.NodeSpec{
			NodeID: id, Type: flow.TaskKind, Queue: Queue, Retry: retry, Timeout: flow.Duration(timeout),
		})
		g.Edges = append(g.Edges, flow.Edge{From: split, To: id}, flow.Edge{From: id, To: join})
	}
	g.Nodes = append(g.Nodes, flow.NodeSpec{NodeID: join, Type: flow.JoinKind, Policy: flow.AllDone},
		flow.NodeSpec{NodeID: end, Type: flow.SuccessKind})
	g.Edges = append(g.Edges, flow.Edge{From: join, To: end})
	return g
}

// nodeOf names the Task that checks the i-th strategy of a batch, from 0.
func nodeOf(i int) string { return "s" + strconv.Itoa(i+1) }

// version stores the graph of a batch of n, unless that is known, and gives its version.
func (r *Rechecks) version(ctx context.Context, tenant string, n int) (int, error) {
	v, err := r.graphs.Version(ctx, r.cfg.Engine, tenant, graphID(n), func() flow.Graph {
		return fork(n, r.cfg.Timeout)
	})
	return v, fault.Wrap("recheck.graph", err)
}

// errand is the input of a batch's execution.
type errand struct {
	RequestID  string            `json:"request_id"`
	Batch      int               `json:"batch"`
	Strategies map[string]string `json:"strategies"` // by the node that checks it
	brief
}

// Check is one strategy that a worker of Queue is to check.
type Check struct {
	RequestID string         `json:"request_id"`
	Strategy  string         `json:"-"`
	Window    jsontext.Value `json:"window"` // {"lookback_days":n} or {"from","to"}
	Reason    string         `json:"reason"`
	Params    jsontext.Value `json:"params"`   // an object
	TraceID   string         `json:"trace_id"` // "": none
}

// ParseCheck reads what a Task of Queue is about: its node and the input of its execution.
func ParseCheck(node string, input []byte) (Check, error) {
	var in struct {
		Check
		Strategies map[string]string `json:"strategies"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return Check{}, fault.Wrap("recheck.check", err)
	}
	c := in.Check
	c.Strategy = in.Strategies[node]
	if c.RequestID == "" || c.Strategy == "" {
		return Check{}, fault.Wrap("recheck.check", fmt.Errorf("node %s checks no strategy", node))
	}
	return c, nil
}

// input is what the execution of a batch begins with.
func (e *errand) input(strategies []string) (flow.Data, error) {
	e.Strategies = make(map[string]string, len(strategies))
	for i, id := range strategies {
		e.Strategies[nodeOf(i)] = id
	}
	return json.Marshal(e, json.Deterministic(true))
}
