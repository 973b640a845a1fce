package flow_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/workflow/flow"
)

// graphID is the name of every random graph.
const graphID = "random"

// shape is a random graph with what its maker knows about it: where the branches
// are and what the expressions mean. The model believes the shape, the code has to
// find it out.
type shape struct {
	graph flow.Graph        // every default filled in
	text  []byte            // the graph as its author wrote it, some defaults left out
	place map[string]*place // the innermost branch that a node stands in; none outside of forks
	join  map[string]string // the Join of each Fork
	when  map[string]func(scope) (bool, error)
	gates map[string]func(*modelGate) (bool, error)

	values map[string]func(s scope, failed bool) (string, error) // of the inputs that Tasks declare
}

// place is a branch of a fork.
type place struct{ fork, head string }

func (s *shape) fork(join string) string {
	for fork, j := range s.join {
		if j == join {
			return fork
		}
	}
	panic("no fork for " + join)
}

func (s *shape) start() string {
	for _, n := range s.graph.Nodes {
		if n.Type == flow.StartKind {
			return n.NodeID
		}
	}
	panic("no Start")
}

// builder makes a shape. A block is some nodes with one entry; its loose ends are
// edges that still need a target.
type builder struct {
	*shape
	r     *rand.Rand
	room  int      // nodes that may still be made
	tasks []string // Tasks and Waits outside of forks made so far: expressions may look at them
	ends  map[flow.Kind]string
}

type loose struct {
	from string
	on   flow.Outcome
	when string
}

// randomShape makes a graph that can run.
func randomShape(r *rand.Rand) *shape {
	b := &builder{r: r, room: 4 + r.IntN(26), ends: map[flow.Kind]string{}, shape: &shape{
		place: map[string]*place{},
		join:  map[string]string{},
		when:  map[string]func(scope) (bool, error){},
		gates: map[string]func(*modelGate) (bool, error){},

		values: map[string]func(scope, bool) (string, error){},
	}}
	start := b.node(flow.NodeSpec{NodeID: "start", Type: flow.StartKind}, nil)
	entry, ends := b.chain(nil, 0, 1+r.IntN(5))
	if b.odds(15) {
		b.edge(loose{start, flow.OnSuccess, b.whenInput()}, entry)
	} else {
		b.edge(loose{start, flow.OnSuccess, ""}, entry)
	}
	for i, end := range ends {
		kind := flow.SuccessKind
		if i > 0 && b.odds(40) || b.odds(10) {
			kind = flow.SuccessKind + flow.Kind(r.IntN(3))
		}
		b.edge(end, b.terminal(kind))
	}
	r.Shuffle(len(b.graph.Nodes), func(i, j int) {
		b.graph.Nodes[i], b.graph.Nodes[j] = b.graph.Nodes[j], b.graph.Nodes[i]
	})
	if b.odds(30) {
		b.graph.OnCancel = &flow.OnCancel{Graph: "cleanup"}
	}
	b.text = b.write()
	return b.shape
}

func (b *builder) odds(percent int) bool { return b.r.IntN(100) < percent }

func (b *builder) node(spec flow.NodeSpec, in *place) string {
	b.room--
	b.graph.Nodes = append(b.graph.Nodes, spec)
	if in != nil {
		b.place[spec.NodeID] = in
	}
	return spec.NodeID
}

func (b *builder) name(prefix string) string { return fmt.Sprintf("%s%d", prefix, len(b.graph.Nodes)) }

func (b *builder) edge(l loose, to string) {
	b.graph.Edges = append(b.graph.Edges, flow.Edge{From: l.from, To: to, On: l.on, When: l.when})
}

// terminal is the one terminal node of a kind.
func (b *builder) terminal(kind flow.Kind) string {
	if b.ends[kind] == "" {
		spec := flow.NodeSpec{NodeID: "end-" + kind.String(), Type: kind}
		if kind == flow.SuccessKind && b.odds(50) {
			spec.Outcome = "paid"
		}
		b.ends[kind] = b.node(spec, nil)
	}
	return b.ends[kind]
}

// chain is blocks one after the other.
func (b *builder) chain(in *place, depth, length int) (entry string, ends []loose) {
	entry, ends = b.block(in, depth)
	for range length - 1 {
		if b.room <= 0 {
			break
		}
		next, last := b.block(in, depth)
		for _, end := range ends {
			b.edge(end, next)
		}
		ends = last
	}
	return entry, ends
}

func (b *builder) block(in *place, depth int) (entry string, ends []loose) {
	switch {
	case depth < 3 && b.room > 3 && b.odds(45):
		return b.fork(in, depth)
	case b.odds(20):
		spec := b.waitSpec()
		id := b.node(spec, in)
		ends = b.ways(id, in, depth)
		if spec.Timeout != 0 && b.odds(50) {
			ends = append(ends, b.badWay(loose{id, flow.OnTimeout, pickOne(b.r, "", b.whenError())}, in, depth)...)
		}
		return id, ends
	}
	id := b.node(b.taskSpec(), in)
	return id, b.ways(id, in, depth)
}

func (b *builder) taskSpec() flow.NodeSpec {
	spec := flow.NodeSpec{NodeID: b.name("t"), Type: flow.TaskKind, Queue: pickOne(b.r, "default", "default", "q1",
		"q2")}
	if b.odds(45) {
		spec.Timeout = span(b.r, time.Millisecond, 700*time.Millisecond, 1500*time.Microsecond, 2*time.Second,
			10*time.Second)
	}
	if b.odds(25) {
		spec.Input = b.input()
	}
	if b.odds(50) {
		spec.Retry = &flow.Retry{
			MaxAttempts: 1 + b.r.IntN(4),
			InitialInterval: span(b.r, time.Second, 0, time.Millisecond, 100*time.Millisecond, 1250*time.Microsecond,
				3*time.Second),
			Backoff:     pickOne(b.r, 2, 1, 1.5, 3),
			MaxInterval: span(b.r, time.Hour, time.Hour, 0, time.Minute, 150*time.Millisecond),
		}
		if b.odds(25) {
			spec.Retry.Except = pickOne(b.r, []string{"E2"}, []string{"ERR_TIMEOUT", "E1"})
		}
	}
	return spec
}

func (b *builder) waitSpec() flow.NodeSpec {
	spec := flow.NodeSpec{NodeID: b.name("w"), Type: flow.WaitKind}
	if b.odds(50) {
		spec.WaitKey = pickOne(b.r, "k1", "k2")
	}
	switch {
	case b.odds(50):
		spec.Timeout = span(b.r, time.Millisecond, 500*time.Millisecond, 5*time.Second)
	case b.odds(40):
		spec.For = span(b.r, time.Millisecond, 700*time.Microsecond, 5*time.Second)
	}
	if spec.For == 0 && b.odds(40) {
		spec.Remind = &flow.Remind{After: span(b.r, time.Millisecond, 300*time.Microsecond, time.Second)}
		if b.odds(60) {
			spec.Remind.Max = 1 + b.r.IntN(4)
		}
		if b.odds(50) {
			spec.Remind.Every = span(b.r, time.Millisecond, 200*time.Microsecond, time.Minute)
		}
	}
	if b.odds(25) {
		spec.Prompt = &flow.Prompt{Title: "Well?", Fields: b.input()}
	}
	if b.odds(25) {
		spec.Assignees = &flow.Assignees{Users: []string{"ann"}, Roles: []string{"boss"}}
	}
	if b.odds(25) {
		spec.Schema = jsontext.Value(`{"required":["x"]}`)
	}
	return spec
}

// ways gives a node its edges: the rest of the graph hangs on the ends that it returns.
func (b *builder) ways(id string, in *place, depth int) []loose {
	ends := b.good(id, in, depth)
	if in == nil {
		b.tasks = append(b.tasks, id)
	}
	return append(ends, b.bad(id, in, depth)...)
}

// good are the success edges of a node: one, or several with conditions.
func (b *builder) good(id string, in *place, depth int) []loose {
	if !b.odds(25) {
		return []loose{{id, flow.OnSuccess, ""}}
	}
	var ends []loose
	for range 1 + b.r.IntN(2) {
		when := b.whenOutput(id)
		if b.room > 0 && b.odds(60) {
			entry, last := b.chain(in, depth+1, 1)
			b.edge(loose{id, flow.OnSuccess, when}, entry)
			ends = append(ends, last...)
		} else {
			ends = append(ends, loose{id, flow.OnSuccess, when})
		}
	}
	if b.odds(60) {
		ends = append(ends, loose{id, flow.OnSuccess, ""})
	}
	return ends
}

// bad are the failure edges of a node.
func (b *builder) bad(id string, in *place, depth int) []loose {
	var ends []loose
	if b.odds(15) {
		ends = append(ends, b.badWay(loose{id, flow.OnFailure, b.whenError()}, in, depth)...)
	}
	if b.odds(50) {
		ends = append(ends, b.badWay(loose{id, flow.OnFailure, ""}, in, depth)...)
	}
	return ends
}

func (b *builder) badWay(l loose, in *place, depth int) []loose {
	switch {
	case b.room > 0 && b.odds(40):
		entry, ends := b.chain(in, depth+1, 1)
		b.edge(l, entry)
		return ends
	case in == nil && b.odds(40), b.odds(12):
		b.edge(l, b.terminal(flow.FailedKind+flow.Kind(b.r.IntN(2))))
		return nil
	}
	return []loose{l}
}

// fork is a Fork, its branches and its Join.
func (b *builder) fork(in *place, depth int) (entry string, ends []loose) {
	fork := b.node(flow.NodeSpec{NodeID: b.name("fork"), Type: flow.ForkKind}, in)
	spec := flow.NodeSpec{NodeID: b.name("join"), Type: flow.JoinKind}
	spec.Policy = pickOne(b.r, flow.AllSuccess, flow.AllSuccess, flow.AnySuccess, flow.AnySuccess, flow.AllDone,
		flow.Custom, flow.Custom)
	if spec.Policy == flow.Custom {
		spec.Expression = b.gate()
	}
	join := b.node(spec, in)
	b.join[fork] = join
	some := b.odds(25)
	for range pickOne(b.r, 1, 2, 2, 2, 3, 3, 4, 5) {
		branch := &place{fork: fork}
		head, last := b.chain(branch, depth+1, 1+b.r.IntN(2))
		branch.head = head
		when := ""
		if some && b.odds(60) {
			when = b.whenInput()
		}
		b.edge(loose{fork, flow.OnSuccess, when}, head)
		for _, end := range last {
			b.edge(end, join)
		}
	}
	if b.odds(6) { // a branch that ends everything
		b.edge(loose{fork, flow.OnSuccess, b.whenInput()}, b.terminal(flow.FailedKind+flow.Kind(b.r.IntN(2))))
	}
	if b.odds(15) {
		ends = append(ends, loose{join, flow.OnSuccess, b.whenInput()})
	} else {
		ends = append(ends, loose{join, flow.OnSuccess, ""})
	}
	if b.odds(60) {
		ends = append(ends, b.badWay(loose{join, flow.OnFailure, ""}, in, depth)...)
	}
	return fork, ends
}

func pickOne[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func span(r *rand.Rand, from ...time.Duration) flow.Duration {
	return flow.Duration(pickOne(r, from...))
}

// write is the graph as JSON. What is default is left out now and then.
func (b *builder) write() []byte {
	type object = map[string]any
	put := func(o object, name string, value, standard any) {
		if value != standard || standard != "" && b.odds(50) {
			o[name] = value
		}
	}
	var nodes, edges []object
	for _, n := range b.graph.Nodes {
		o := object{"nodeId": n.NodeID, "type": n.Type.String()}
		switch n.Type {
		case flow.TaskKind:
			put(o, "queue", n.Queue, "default")
			if n.Input != nil {
				o["input"] = n.Input
			}
			if r := n.Retry; r != nil {
				retry := object{}
				put(retry, "maxAttempts", r.MaxAttempts, 1)
				put(retry, "initialInterval", time.Duration(r.InitialInterval).String(), "1s")
				put(retry, "backoff", r.Backoff, 2.0)
				if r.Except != nil {
					retry["except"] = r.Except
				}
				put(retry, "maxInterval", time.Duration(r.MaxInterval).String(), "1h0m0s")
				o["retry"] = retry
			}
		case flow.WaitKind:
			put(o, "waitKey", n.WaitKey, "")
			if n.Prompt != nil {
				o["prompt"] = n.Prompt
			}
			if n.Assignees != nil {
				o["assignees"] = n.Assignees
			}
			if n.Schema != nil {
				o["schema"] = json.RawMessage(n.Schema)
			}
			if r := n.Remind; r != nil {
				remind := object{"after": time.Duration(r.After).String()}
				if r.Every != 0 {
					remind["every"] = time.Duration(r.Every).String()
				}
				if r.Max != 0 {
					remind["max"] = r.Max
				}
				o["remind"] = remind
			}
			if n.For != 0 {
				o["for"] = time.Duration(n.For).String()
			}
		case flow.JoinKind:
			put(o, "policy", string(n.Policy), "ALL_SUCCESS")
			put(o, "expression", n.Expression, "")
		case flow.SuccessKind:
			put(o, "outcome", n.Outcome, "")
		}
		if n.Timeout != 0 {
			o["timeout"] = time.Duration(n.Timeout).String()
		}
		nodes = append(nodes, o)
	}
	for _, e := range b.graph.Edges {
		o := object{"from": e.From, "to": e.To}
		put(o, "on", string(e.On), "success")
		put(o, "when", e.When, "")
		edges = append(edges, o)
	}
	whole := object{"nodes": nodes, "edges": edges}
	if b.graph.OnCancel != nil {
		whole["onCancel"] = object{"graph": b.graph.OnCancel.Graph}
	}
	text, err := json.Marshal(whole)
	if err != nil {
		panic(err)
	}
	for _, pair := range [][2]string{{"},{", "},\n{"}, {`\u003c`, "<"}, {`\u003e`, ">"}, {`\u0026`, "&"}} {
		text = bytes.ReplaceAll(text, []byte(pair[0]), []byte(pair[1]))
	}
	return text
}
