package test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// engineAttacks are those on what the engine does between two commands of others.
func engineAttacks() []attack {
	return []attack{
		{name: "conditions on outputs", open: func(h *hostile) {
			h.must(http.MethodPut, "/graphs/outputs", outputsGraph(), nil)
		}, send: gatherOutputs},
		{name: "graphs, many conditions", open: func(h *hostile) {
			for i := range coldGraphs {
				h.must(http.MethodPut, fmt.Sprint("/graphs/cold", i), manyConditions(i), nil)
			}
		}, send: func(ctx context.Context, h *hostile, n int) {
			graph := fmt.Sprint("cold", n%coldGraphs)
			h.shoot(ctx, http.MethodPost, "/executions", object("graphId", graph, "start", true, "input",
				map[string]any{}))
		}},
		{name: "cancels, 500 at once", send: func(ctx context.Context, h *hostile, n int) {
			h.shoot(ctx, http.MethodPost, "/commands", commandsOn(500, func(i int) string {
				return fmt.Sprintf(`{"command":"CancelExecution","idempotencyKey":"cancel-%d-%d","executionId":%q}`, n,
					i, h.wide)
			}))
		}},
		{name: "deadlines", open: func(h *hostile) {
			h.must(http.MethodPut, "/graphs/timers", timersGraph(), nil)
		}, send: func(ctx context.Context, h *hostile, n int) {
			h.shoot(ctx, http.MethodPost, "/commands", creations(100, "timers", "", n))
		}},
		joinsInARow(),
	}
}

const (
	branches   = 200 // whose outputs a condition looks at
	coldGraphs = 5   // more than are kept compiled

	rowOfJoins  = 1_630 // that one decision passes,
	besideJoins = 4_900 // while so many tasks are ready
	joinNesting = 98    // in so many forks, one inside the other
	joinsReady  = 3     // executions of them for each connection
)

// outputsGraph is a fork whose last Task has a condition on all outputs.
func outputsGraph() []byte {
	g := newGraphText()
	g.node("start", "Start")
	g.node("fork", "Fork")
	g.node("join", "Join")
	g.node("last", "Task")
	g.node("done", "Success")
	g.edge("start", "fork", "")
	for i := range branches {
		id := fmt.Sprint("n", i)
		g.node(id, "Task")
		g.edge("fork", id, "")
		g.edge(id, "join", "")
	}
	g.edge("join", "last", "")
	g.edge("last", "done", "size(outputs) > 0")
	return g.bytes()
}

// gatherOutputs lets all branches end with large outputs, and then the Task that looks at them.
func gatherOutputs(ctx context.Context, h *hostile, n int) {
	create := object("graphId", "outputs", "start", true, "input", map[string]any{})
	_, text := h.shoot(ctx, http.MethodPost, "/executions", create)
	var made struct{ ExecutionID string }
	if json.Unmarshal(text, &made) != nil || made.ExecutionID == "" {
		return
	}
	output := strings.Repeat("x", 16<<10)
	h.shoot(ctx, http.MethodPost, "/commands", commandsOn(2*branches, func(i int) string {
		about := fmt.Sprintf(`"idempotencyKey":"%d-%d","executionId":%q,"nodeId":"n%d","attempt":1,"workerId":"w"`,
			n, i, made.ExecutionID, i/2)
		if i%2 == 0 {
			return `{"command":"StartNode",` + about + `}`
		}
		return `{"command":"SucceedNode",` + about + `,"output":"` + output + `"}`
	}))
	path := "/executions/" + made.ExecutionID + "/nodes/last/"
	h.shoot(ctx, http.MethodPost, path+"start", object("attempt", 1, "workerId", "w"))
	h.shoot(ctx, http.MethodPost, path+"success", object("attempt", 1, "workerId", "w"))
}

// joinsGraph is a fork with forks and joins in a row in one branch, of a task each, and in the
// other many tasks that stand in as many forks as may be.
func joinsGraph() []byte {
	g := newGraphText()
	g.node("start", "Start")
	last := "start"
	for i := range joinNesting {
		fork, join := fmt.Sprint("f", i), fmt.Sprint("j", i)
		g.node(fork, "Fork")
		g.node(join, "Join")
		g.edge(last, fork, "")
		if i > 0 {
			g.edge(join, fmt.Sprint("j", i-1), "")
		}
		last = fork
	}
	for i := range besideJoins {
		id := fmt.Sprint("t", i)
		g.node(id, "Task")
		g.edge(last, id, "")
		g.edge(id, fmt.Sprint("j", joinNesting-1), "")
	}
	g.node("first", "Task")
	g.edge("f0", "first", "")
	last = "first"
	for i := range rowOfJoins {
		fork, task, join := fmt.Sprint("rf", i), fmt.Sprint("r", i), fmt.Sprint("rj", i)
		g.node(fork, "Fork")
		g.node(task, "Task")
		g.nodes = append(g.nodes, fmt.Sprintf(`{"nodeId":%q,"type":"Join","policy":"ALL_DONE"}`, join))
		g.edge(last, fork, "")
		g.edge(fork, task, "")
		g.edge(task, join, "")
		last = join
	}
	g.edge(last, "j0", "")
	g.node("done", "Success")
	g.edge("j0", "done", "")
	return g.bytes()
}

// joinsInARow lets one decision go through a whole row of joins, once a second over each
// connection. To come that far is many requests, which are sent before: they are no worse than
// those of the widest executions.
func joinsInARow() attack {
	var ready chan string
	return attack{name: "joins in a row", open: func(h *hostile) {
		h.must(http.MethodPut, "/graphs/joins", joinsGraph(), nil)
		ready = make(chan string, joinsReady*attackers)
		for range cap(ready) {
			ready <- h.readyJoins()
		}
	}, send: func(ctx context.Context, h *hostile, _ int) {
		select {
		case path := <-ready:
			h.shoot(ctx, http.MethodPost, path+"success", object("attempt", 1, "workerId", "w"))
		default: // all were sent
		}
		pause(time.Second)
	}}
}

// readyJoins cancels the tasks of a row before they are reached and gives the path of the one
// task before them, which is running.
func (h *hostile) readyJoins() string {
	var made struct{ ExecutionID string }
	h.must(http.MethodPost, "/executions", map[string]any{"graphId": "joins", "start": true}, &made)
	const most = 500 // commands in a batch
	for from := 0; from < rowOfJoins; from += most {
		h.must(http.MethodPost, "/commands", commandsOn(min(most, rowOfJoins-from), func(i int) string {
			return fmt.Sprintf(`{"command":"CancelNode","idempotencyKey":"%s-%d","executionId":%q,"nodeId":"r%d"}`,
				made.ExecutionID, from+i, made.ExecutionID, from+i)
		}), nil)
	}
	path := "/executions/" + made.ExecutionID + "/nodes/first/"
	h.must(http.MethodPost, path+"start", object("attempt", 1, "workerId", "w"), nil)
	return path
}

// commandsOn is a batch of commands.
func commandsOn(count int, command func(i int) string) []byte {
	var b bytes.Buffer
	for i := range count {
		fmt.Fprintf(&b, ",%s", command(i))
	}
	return []byte(`{"commands":[` + strings.TrimPrefix(b.String(), ",") + `]}`)
}

// manyConditions is a graph with as many different conditions as there may be; with another
// number they are others.
func manyConditions(n int) []byte {
	g := newGraphText()
	g.node("start", "Start")
	g.node("pick", "Task")
	g.node("done", "Success")
	g.edge("start", "pick", "")
	for i := range 3_000 {
		when := "has(input.x) && input.x == %d && input.y.z.exists(e, e > %d && e < %d)"
		g.edge("pick", "done", fmt.Sprintf(when, i, n, 1_000+i))
	}
	g.edge("pick", "done", "")
	return g.bytes()
}

// timersGraph waits for a second and fails.
func timersGraph() []byte {
	return []byte(`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"wait","type":"Wait","timeout":"1s"},
		{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"wait"},{"from":"wait","to":"done"}]}`)
}
