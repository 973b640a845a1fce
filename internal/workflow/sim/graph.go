package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/workflow/flow"
)

// boss is the role that may resume every Wait.
const boss = "boss"

// queues are where the Tasks of random graphs wait for workers.
var queues = []string{"default", "mail", "slow"}

// author writes random graphs that are valid: chains of Tasks, Waits, choices and
// forks, with retries, timeouts and ways out of failures.
type author struct {
	rng   *rand.Rand
	graph flow.Graph
	ends  map[flow.Kind]bool // Failed and Canceled nodes that something leads to
}

// part is a piece of a graph: where it begins, and the nodes that lead on from it.
type part struct {
	entry string
	exits []string
}

// randomGraph writes one graph.
func randomGraph(rng *rand.Rand) flow.Graph {
	a := &author{rng: rng, ends: map[flow.Kind]bool{}}
	a.node(flow.NodeSpec{NodeID: "start", Type: flow.StartKind})
	body := a.chain(0)
	a.node(flow.NodeSpec{NodeID: "success", Type: flow.SuccessKind})
	a.link([]string{"start"}, body.entry)
	a.link(body.exits, "success")
	for _, kind := range []flow.Kind{flow.FailedKind, flow.CanceledKind} {
		if a.ends[kind] {
			a.node(flow.NodeSpec{NodeID: endName(kind), Type: kind})
		}
	}
	return a.graph
}

func endName(kind flow.Kind) string {
	if kind == flow.FailedKind {
		return "failed"
	}
	return "canceled"
}

func (a *author) node(spec flow.NodeSpec) string {
	a.graph.Nodes = append(a.graph.Nodes, spec)
	return spec.NodeID
}

func (a *author) name(prefix string) string { return fmt.Sprintf("%s%d", prefix, len(a.graph.Nodes)) }

func (a *author) link(from []string, to string) {
	for _, f := range from {
		a.graph.Edges = append(a.graph.Edges, flow.Edge{From: f, To: to})
	}
}

func (a *author) one(in int) bool { return a.rng.IntN(in) == 0 }

// chain is one to four parts after each other, fewer inside of forks.
func (a *author) chain(depth int) part {
	first := a.part(depth)
	last := first
	for range a.rng.IntN(4 - min(depth, 2)) {
		next := a.part(depth)
		a.link(last.exits, next.entry)
		last = next
	}
	return part{first.entry, last.exits}
}

func (a *author) part(depth int) part {
	switch n := a.rng.IntN(10); {
	case n < 2 && depth < 2:
		return a.fork(depth)
	case n < 3:
		return a.wait()
	case n < 5:
		return a.choice()
	}
	return a.task()
}

// task is a Task, in some cases with a way out of its failure: a Task that mends
// it, or the end of the execution.
func (a *author) task() part {
	id := a.node(a.taskSpec())
	p := part{id, []string{id}}
	a.wayOut(&p, id)
	return p
}

func (a *author) taskSpec() flow.NodeSpec {
	spec := flow.NodeSpec{NodeID: a.name("t"), Type: flow.TaskKind, Queue: queues[a.rng.IntN(len(queues))]}
	if a.one(2) {
		spec.Retry = &flow.Retry{
			MaxAttempts:     1 + a.rng.IntN(3),
			InitialInterval: flow.Duration(time.Duration(1+a.rng.IntN(2000)) * time.Millisecond),
			Backoff:         1 + float64(a.rng.IntN(3)),
			MaxInterval:     flow.Duration(5 * time.Second),
		}
		if a.one(3) {
			spec.Retry.InitialInterval = flow.Duration(a.rng.IntN(2)) // at once, or within a millisecond
		}
	}
	if a.one(3) {
		spec.Timeout = flow.Duration(time.Duration(1+a.rng.IntN(60)) * time.Second)
	}
	return spec
}

func (a *author) wayOut(p *part, id string) {
	switch a.rng.IntN(8) {
	case 0, 1:
		mend := a.node(a.taskSpec())
		a.graph.Edges = append(a.graph.Edges, flow.Edge{From: id, To: mend, On: flow.OnFailure})
		p.exits = append(p.exits, mend)
	case 2:
		kind := flow.FailedKind
		if a.one(4) {
			kind = flow.CanceledKind
		}
		a.ends[kind] = true
		a.graph.Edges = append(a.graph.Edges, flow.Edge{From: id, To: endName(kind), On: flow.OnFailure})
	}
}

func (a *author) wait() part {
	spec := flow.NodeSpec{NodeID: a.name("w"), Type: flow.WaitKind}
	if a.one(2) {
		spec.WaitKey = spec.NodeID + "-key"
	}
	switch a.rng.IntN(3) {
	case 0:
		spec.Timeout = flow.Duration(time.Duration(1+a.rng.IntN(120)) * time.Second)
	case 1:
		spec.For = flow.Duration(time.Duration(1+a.rng.IntN(120)) * time.Second)
	}
	if spec.For == 0 && a.one(3) {
		after := time.Duration(1+a.rng.IntN(60)) * time.Second
		spec.Remind = &flow.Remind{After: flow.Duration(after), Max: a.rng.IntN(4)}
	}
	if a.one(3) {
		spec.Prompt = &flow.Prompt{Title: "Well?", Fields: map[string]string{"n": "has(input.n) ? input.n : 0.0"}}
	}
	if a.one(4) {
		spec.Assignees = &flow.Assignees{Users: []string{"nobody"}, Roles: []string{boss}}
	}
	if a.one(3) {
		spec.Schema = jsontext.Value(`{"required":["n"]}`)
	}
	id := a.node(spec)
	p := part{id, []string{id}}
	a.wayOut(&p, id)
	if spec.Timeout != 0 && a.one(2) {
		mend := a.node(a.taskSpec())
		a.graph.Edges = append(a.graph.Edges, flow.Edge{From: id, To: mend, On: flow.OnTimeout})
		p.exits = append(p.exits, mend)
	}
	return p
}

// conditions look at everything that a condition may see. Some fail on some data.
var conditions = []string{
	"output.n > 4.0",
	"input.n > 2.0 && output.n < 7.0",
	"size(outputs) > 2",
	"outputs.exists(id, has(outputs[id].pad))",
}

// choice is a Task that leads to one of two others, or, sometimes, nowhere.
func (a *author) choice() part {
	from := a.node(a.taskSpec())
	left, right := a.node(a.taskSpec()), a.node(a.taskSpec())
	a.graph.Edges = append(a.graph.Edges,
		flow.Edge{From: from, To: left, When: conditions[a.rng.IntN(len(conditions))]},
		flow.Edge{From: from, To: right})
	if a.one(8) {
		a.graph.Edges[len(a.graph.Edges)-1].When = conditions[a.rng.IntN(len(conditions))]
	}
	return part{from, []string{left, right}}
}

func (a *author) fork(depth int) part {
	fork := a.node(flow.NodeSpec{NodeID: a.name("f"), Type: flow.ForkKind})
	var ends []string
	for i := range 2 + a.rng.IntN(2) {
		branch := a.chain(depth + 1)
		edge := flow.Edge{From: fork, To: branch.entry}
		if i > 0 && a.one(4) {
			edge.When = "input.n > 3.0"
		}
		a.graph.Edges = append(a.graph.Edges, edge)
		ends = append(ends, branch.exits...)
	}
	spec := flow.NodeSpec{NodeID: a.name("j"), Type: flow.JoinKind}
	spec.Policy = []flow.Policy{flow.AllSuccess, flow.AnySuccess, flow.AllDone, flow.Custom}[a.rng.IntN(4)]
	if spec.Policy == flow.Custom {
		spec.Expression = "size(completed) >= 2 || size(completed) + size(failed) + size(canceled) == size(expected)"
	}
	join := a.node(spec)
	a.link(ends, join)
	p := part{fork, []string{join}}
	a.wayOut(&p, join)
	return p
}
