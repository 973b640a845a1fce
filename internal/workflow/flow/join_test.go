package flow

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// besides is a gauntlet in one branch of a fork and, in the other, live Tasks that stand in so
// many forks, one inside the other.
func besides(t testing.TB, joins, live, nesting int) (*Plan, []string) {
	t.Helper()
	rest, tasks := gauntlet(t, joins, func(int) string { return "" })
	g := Graph{Nodes: []NodeSpec{{NodeID: "start", Type: StartKind}}}
	last := "start"
	for i := range nesting {
		g.Nodes = append(g.Nodes, NodeSpec{NodeID: fmt.Sprint("f", i), Type: ForkKind},
			NodeSpec{NodeID: fmt.Sprint("j", i), Type: JoinKind, Policy: AllDone})
		g.Edges = append(g.Edges, Edge{From: last, To: fmt.Sprint("f", i)})
		last = fmt.Sprint("f", i)
	}
	for i := range live {
		id := fmt.Sprint("t", i)
		g.Nodes = append(g.Nodes, NodeSpec{NodeID: id, Type: TaskKind})
		g.Edges = append(g.Edges, Edge{From: last, To: id}, Edge{From: id, To: fmt.Sprint("j", nesting-1)})
	}
	for i := range nesting - 1 {
		g.Edges = append(g.Edges, Edge{From: fmt.Sprint("j", i+1), To: fmt.Sprint("j", i)})
	}
	g.Edges = append(g.Edges, Edge{From: "f0", To: "first"}, Edge{From: "j0", To: "end"})
	g.Nodes = append(g.Nodes, rest.Graph.Nodes[1:]...)
	g.Edges = append(g.Edges, rest.Graph.Edges[1:]...)
	for i := range g.Edges { // the gauntlet ends at the Join of the outermost fork
		if g.Edges[i].To == "end" && g.Edges[i].From != "j0" {
			g.Edges[i].To = "j0"
		}
	}
	return compiled(t, g), tasks
}

// A Join looks at what stands in its own fork: joins in a row do not each look at all that is
// at work elsewhere. A cancel of the same execution has about as many events.
func TestAJoinLooksAtItsOwnForkOnly(t *testing.T) {
	const joins, live, nesting = 1_630, 4_900, 98
	p, tasks := besides(t, joins, live, nesting)
	s, f := begun(t, p, nil)
	for _, task := range tasks {
		s = apply(t, s, CancelNode{Node: task}, f)
	}
	s = apply(t, s, StartNode{Node: "first", Attempt: 1}, f)
	took := func(c Command) time.Duration {
		begin := time.Now()
		events, err := Decide(s, c, f)
		spent := time.Since(begin)
		if err != nil || len(events) < 5*joins {
			t.Fatalf("%d events, %v", len(events), err)
		}
		return spent
	}
	const bound = 10 // it is one or two, and was hundreds
	best := math.Inf(1)
	for range 5 { // whoever measures may be held up by others
		simple, row := took(Cancel{}), took(Succeed{Node: "first"})
		t.Logf("%v for a cancel, %v for %d joins in a row", simple, row, joins)
		if best = min(best, float64(row)/float64(simple)); best < bound {
			return
		}
	}
	t.Errorf("%d joins in a row take %.0f times as long as a cancel of all, want less than %d", joins, best, bound)
}

func TestAForkListsWhatStandsInsideIt(t *testing.T) {
	row, _ := besides(t, 20, 30, 10)
	plans := []*Plan{row, compiled(t, largeGraph()), compiled(t, interleaved())}
	for name, data := range exampleGraphs(t) {
		p, err := compileYAML(t, string(data))
		if err != nil {
			t.Fatal(name, err)
		}
		plans = append(plans, p)
	}
	for _, p := range plans {
		want := make([][]int, len(p.nodes))
		for i := range p.nodes {
			for f := p.nodes[i].frame; f != nil; f = f.parent {
				want[f.fork] = append(want[f.fork], i)
			}
		}
		for i := range p.nodes {
			if got := slices.Sorted(slices.Values(p.nodes[i].inside)); !slices.Equal(got, want[i]) {
				t.Errorf("inside %s stand %v, want %v", p.nodes[i].spec.NodeID, got, want[i])
			}
		}
	}
}

// interleaved is a fork in a fork whose nodes come in another order than the execution goes.
func interleaved() Graph {
	return Graph{
		Nodes: []NodeSpec{
			{NodeID: "c", Type: TaskKind},
			{NodeID: "inner-b", Type: TaskKind},
			{NodeID: "b", Type: TaskKind},
			{NodeID: "inner-a", Type: TaskKind},
			{NodeID: "a", Type: TaskKind},
			{NodeID: "end", Type: SuccessKind},
			{NodeID: "join", Type: JoinKind, Policy: AnySuccess},
			{NodeID: "inner-join", Type: JoinKind},
			{NodeID: "inner", Type: ForkKind},
			{NodeID: "fork", Type: ForkKind},
			{NodeID: "start", Type: StartKind},
		},
		Edges: []Edge{
			{From: "start", To: "fork"},
			{From: "fork", To: "a"},
			{From: "fork", To: "inner"},
			{From: "fork", To: "b"},
			{From: "fork", To: "c"},
			{From: "inner", To: "inner-a"},
			{From: "inner", To: "inner-b"},
			{From: "inner-a", To: "inner-join"},
			{From: "inner-b", To: "inner-join"},
			{From: "inner-join", To: "join"},
			{From: "a", To: "join"},
			{From: "b", To: "join"},
			{From: "c", To: "join"},
			{From: "join", To: "end"},
		},
	}
}

func TestAJoinCancelsInTheOrderOfTheNodes(t *testing.T) {
	s, f := begun(t, compiled(t, interleaved()), nil)
	s = apply(t, s, StartNode{Node: "a", Attempt: 1}, f)
	events, err := Decide(s, Succeed{Node: "a"}, f)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ev := range events {
		if p, ok := ev.Payload.(*NodeCanceled); ok {
			got = append(got, p.NodeID)
		}
	}
	if want := []string{"c", "inner-b", "b", "inner-a"}; !slices.Equal(got, want) {
		t.Errorf("cancelled in the order %v, want %v", got, want)
	}
}

// The error of a Join names the first failure that ended a branch of its fork, also out of a fork inside of it.
func TestAJoinNamesTheFailureThatEndedItsFirstBranch(t *testing.T) {
	p := compiled(t, Graph{
		Nodes: []NodeSpec{
			{NodeID: "start", Type: StartKind},
			{NodeID: "f", Type: ForkKind},
			{NodeID: "x", Type: TaskKind},
			{NodeID: "x2", Type: TaskKind},
			{NodeID: "g", Type: ForkKind},
			{NodeID: "a", Type: TaskKind},
			{NodeID: "b", Type: TaskKind},
			{NodeID: "k", Type: JoinKind},
			{NodeID: "j", Type: JoinKind, Policy: AnySuccess},
			{NodeID: "ok", Type: SuccessKind},
		},
		Edges: []Edge{
			{From: "start", To: "f"},
			{From: "f", To: "x"},
			{From: "f", To: "g"},
			{From: "x", To: "j"},
			{From: "x", To: "x2", On: OnFailure},
			{From: "x2", To: "j"},
			{From: "g", To: "a"},
			{From: "g", To: "b"},
			{From: "a", To: "k"},
			{From: "b", To: "k"},
			{From: "k", To: "j"},
			{From: "j", To: "ok"},
		},
	})
	s, f := begun(t, p, nil)
	for _, step := range []struct{ node, code, message string }{
		{"x", "DEALT_WITH", ""}, {"a", "NO_MONEY", "the card is empty"}, {"x2", "LATER", ""},
	} {
		s = apply(t, s, StartNode{Node: step.node, Attempt: 1}, f)
		s = apply(t, s, Fail{Node: step.node, Attempt: 1, Error: &Error{Code: step.code, Message: step.message}}, f)
	}
	const want = `{"failed":["x","g"],"canceled":[],` +
		`"cause":{"nodeId":"a","code":"NO_MONEY","message":"the card is empty"}}`
	if s.Status != Failed || s.FailedNode != "j" || string(s.Error.Detail) != want {
		t.Errorf("%v at %s: %s, want %s", s.Status, s.FailedNode, s.Error.Detail, want)
	}
	const text = "Join j (ANY_SUCCESS) can no longer be passed: node a failed with NO_MONEY."
	if s.Error.Message != text {
		t.Errorf("got %q, want %q", s.Error.Message, text)
	}
}
