package cli

import (
	"context"
	"time"

	"renga.dev/renga/client"
)

type executionAttemptsCmd struct{ executionArg }

func (executionAttemptsCmd) Help() string {
	return `When each attempt of a node was ready, began and ended, and how.

Examples:
  renga execution attempts 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27
  renga execution attempts order/A-17 -o json | jq '.nodes[] | select(.attempts | length > 1) | .nodeId'`
}

// attempted is an attempt and its node.
type attempted struct {
	node string
	client.NodeAttempt
}

func (c *executionAttemptsCmd) Run(ctx context.Context, r *remote) error {
	if err := c.find(ctx, r); err != nil {
		return err
	}
	t := columns("NODE, ATTEMPT, READY, STARTED, ENDED, OUTCOME, WORKER, WAITED, ERROR", func(a *attempted) []any {
		why := ""
		if a.Error != nil {
			why = failure(a.Error)
		}
		return []any{
			a.node, a.Attempt, a.ReadyAt, a.StartedAt, a.EndedAt, status(client.NodeStatus(a.Outcome)), a.WorkerID,
			waited(a.Waits), why,
		}
	})
	return show(r, func(p *printer, got *client.ExecutionAttempts) {
		rows := []attempted{}
		for _, n := range got.Nodes {
			for _, a := range n.Attempts {
				rows = append(rows, attempted{n.NodeID, a})
			}
		}
		t.print(p, rows)
	})(r.Executions.Attempts(ctx, c.ID))
}

// waited is how long an attempt waited for somebody, in waits that have ended.
func waited(waits []client.AttemptWait) string {
	var all time.Duration
	for _, w := range waits {
		if w.Until.IsZero() {
			return "since " + instant(w.Since)
		}
		all += w.Until.Sub(w.Since)
	}
	if all == 0 {
		return ""
	}
	return span(all)
}

type executionCountsCmd struct {
	By    []string `enum:"status,graph" default:"status" placeholder:"WHAT" help:"status, graph, or both (${default})."`
	Graph string   `placeholder:"ID" help:"Only executions of this graph."`
}

func (executionCountsCmd) Help() string {
	return `Examples:
  renga execution counts
  renga execution counts --by graph,status
  renga execution counts --graph order -o json`
}

func (c *executionCountsCmd) Run(ctx context.Context, r *remote) error {
	f := client.CountFilter{GraphID: c.Graph}
	for _, by := range c.By {
		f.ByStatus = f.ByStatus || by == "status"
		f.ByGraph = f.ByGraph || by == "graph"
	}
	t := columns("STATUS, GRAPH, COUNT", func(g *client.ExecutionGroup) []any {
		return []any{status(g.Status), g.GraphID, g.Count}
	})
	return show(r, func(p *printer, got *client.ExecutionCounts) {
		t.print(p, got.Items)
		p.line("\n%s", count(got.Total, "execution", "executions"))
	})(r.Executions.Counts(ctx, f))
}

type tasksQueuesCmd struct{ paging }

func (tasksQueuesCmd) Help() string {
	return `Tasks that no worker has claimed yet, and since when the oldest waits. A queue without ready tasks is not
listed.

Examples:
  renga tasks queues
  renga tasks queues -o json | jq '.items[] | select(.ready > 100)'`
}

func (c *tasksQueuesCmd) Run(ctx context.Context, r *remote) error {
	t := columns("QUEUE, READY, OLDEST", func(q *client.Queue) []any {
		ready := number(q.Ready)
		if q.More {
			ready = "> " + ready
		}
		return []any{q.Queue, ready, q.OldestReadyAt}
	})
	return tabulate(r, &c.paging, t)(r.Tasks.Queues(ctx, c.at()))
}
