package cli

import (
	"context"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/client"
)

type waitsCmd struct {
	Graph    string  `placeholder:"ID" help:"Only those of executions of this graph."`
	Node     string  `placeholder:"NODE" help:"Only nodes of this name."`
	Assignee *string `placeholder:"me" enum:"me" help:"me: only those that you may resume."`
	Since    string  `placeholder:"TIME" help:"Waiting since then or later: ${time}."`
	paging
}

func (waitsCmd) Help() string {
	return `The longest waiting come first. To resume one: renga execution resume EXECUTION NODE.

Examples:
  renga waits --assignee me
  renga waits --graph expense --node approve --page-size 100
  renga waits -o json | jq -r '.items[] | .executionId + " " + .nodeId'`
}

func (c *waitsCmd) Run(ctx context.Context, r *remote) error {
	from, err := r.time("--since", c.Since)
	if err != nil {
		return err
	}
	const head = "EXECUTION, NODE, GRAPH, KEY, SINCE, UNTIL, REMINDED, ASKS, FOR"
	return tabulate(r, &c.paging, columns(head, func(w *client.NodeWait) []any {
		var prompt struct {
			Title string `json:"title"`
		}
		_ = json.Unmarshal(w.Prompt, &prompt) // that of a worker may be anything
		return []any{
			w.ExecutionID, w.NodeID, w.GraphID, w.BusinessKey, w.Since, w.WaitUntil, number(w.Reminders), prompt.Title,
			listed(assignees(w.Assignees), with("message ", awaited(w.Awaits)), timer(w.WaitsFor)),
		}
	}))(r.Waits.List(ctx, client.WaitFilter{
		GraphID: c.Graph, NodeID: c.Node, Mine: c.Assignee != nil, From: from,
	}, c.at()))
}

// timer says that nobody needs to resume a node.
func timer(what client.WaitsFor) string {
	if what == client.WaitsForTimer {
		return "timer"
	}
	return ""
}

// awaited is the message that a node waits for.
func awaited(a *client.Awaited) string {
	if a == nil {
		return ""
	}
	return joined(" ", a.Name, a.Key)
}
