package flow

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// costly is a condition that is false after about 15,000 steps; with another number it is
// another text.
func costly(n int) string {
	return fmt.Sprintf("input.l.exists(x, input.l.exists(y, input.l.exists(z, x + y + z == %d.5)))", 1_000+n)
}

const ten = `{"l":[1,2,3,4,5,6,7,8,9,10]}`

// junction is a Task with conditions on the edges to its ends, the last of which is without one.
func junction(t testing.TB, conditions []string) *Plan {
	t.Helper()
	g := Graph{
		Nodes: []NodeSpec{
			{NodeID: "start", Type: StartKind},
			{NodeID: "work", Type: TaskKind},
			{NodeID: "a", Type: SuccessKind},
			{NodeID: "b", Type: SuccessKind},
		},
		Edges: []Edge{{From: "start", To: "work"}},
	}
	for _, when := range conditions {
		g.Edges = append(g.Edges, Edge{From: "work", To: "a", When: when})
	}
	g.Edges = append(g.Edges, Edge{From: "work", To: "b"})
	return compiled(t, g)
}

func TestATextIsEvaluatedOnceForANode(t *testing.T) {
	conditions := make([]string, MaxEdges-2)
	for i := range conditions {
		conditions[i] = costly(0)
	}
	s, f := begun(t, junction(t, conditions), Data(ten))
	s = apply(t, s, StartNode{Node: "work", Attempt: 1}, f)
	s = apply(t, s, Succeed{Node: "work"}, f)
	if n, _ := s.Find("b"); n.Status != NodeIsSucceeded {
		t.Errorf("the last edge was not followed: the execution is %s with %v", s.Status, s.Error)
	}
}

func TestADecisionEndsWithItsBudget(t *testing.T) {
	conditions := make([]string, 30)
	for i := range conditions {
		conditions[i] = costly(i)
	}
	s, f := begun(t, junction(t, conditions), Data(ten))
	s = apply(t, s, StartNode{Node: "work", Attempt: 1}, f)
	s = apply(t, s, Succeed{Node: "work"}, f)
	if s.Status != Failed || s.Error == nil || s.Error.Code != CodeExpression {
		t.Fatalf("the execution is %s with %v, want %s", s.Status, s.Error, CodeExpression)
	}
	for _, want := range []string{"from work to a", "more than 50000 steps"} {
		if !strings.Contains(s.Error.Message, want) {
			t.Errorf("%q does not say %q", s.Error.Message, want)
		}
	}
}

// Branches that end in one decision, since their nodes were cancelled before, are all held
// against the expression of their Join.
func TestTheJoinsOfADecisionShareItsBudget(t *testing.T) {
	g := wide(t, 100, Custom, "expected.all(a, expected.exists(b, a + b != '')) && size(canceled) >= 100").Graph
	g.Nodes = append(g.Nodes, NodeSpec{NodeID: "first", Type: TaskKind})
	g.Edges[0].From = "first"
	g.Edges = append(g.Edges, Edge{From: "start", To: "first", On: OnSuccess})
	s, f := begun(t, compiled(t, g), nil)
	for i := range 100 {
		s = apply(t, s, CancelNode{Node: fmt.Sprintf("task-%d", i)}, f)
	}
	s = apply(t, s, StartNode{Node: "first", Attempt: 1}, f)
	s = apply(t, s, Succeed{Node: "first"}, f)
	if s.Status != Failed || s.Error == nil || s.Error.Code != CodeExpression || !strings.Contains(s.Error.Message,
		"join join") {
		t.Errorf("the execution is %s with %v, want %s of the join", s.Status, s.Error, CodeExpression)
	}
}

// Every branch that ends is an event that names all branches.
func TestBranchesThatEndAtOnceAreBounded(t *testing.T) {
	for branches, want := range map[int]Status{500: Completed, 2_000: Failed} {
		g := wide(t, branches, AllDone).Graph
		g.Nodes = append(g.Nodes, NodeSpec{NodeID: "first", Type: TaskKind})
		g.Edges[0].From = "first"
		g.Edges = append(g.Edges, Edge{From: "start", To: "first", On: OnSuccess})
		s, f := begun(t, compiled(t, g), nil)
		for i := range branches {
			s = apply(t, s, CancelNode{Node: fmt.Sprintf("task-%d", i)}, f)
		}
		s = apply(t, s, StartNode{Node: "first", Attempt: 1}, f)
		if s = apply(t, s, Succeed{Node: "first"}, f); s.Status != want {
			t.Errorf("%d branches: the execution is %s with %v, want %s", branches, s.Status, s.Error, want)
		}
		if want == Failed && (s.Error.Code != CodeNotPassable || !strings.Contains(s.Error.Message, "Join join ")) {
			t.Errorf("got %v", s.Error)
		}
	}
}

// gauntlet is forks and joins one after the other, whose edges look at the input. A task
// in each is cancelled before, so that one decision goes through all of them.
func gauntlet(t testing.TB, n int, when func(i int) string) (*Plan, []string) {
	t.Helper()
	g := Graph{
		Nodes: []NodeSpec{{NodeID: "start", Type: StartKind}, {NodeID: "first", Type: TaskKind}},
		Edges: []Edge{{From: "start", To: "first"}},
	}
	var tasks []string
	last := "first"
	for i := range n {
		fork, task, join := fmt.Sprintf("fork-%d", i), fmt.Sprintf("task-%d", i), fmt.Sprintf("join-%d", i)
		g.Nodes = append(g.Nodes, NodeSpec{NodeID: fork, Type: ForkKind}, NodeSpec{NodeID: task, Type: TaskKind},
			NodeSpec{NodeID: join, Type: JoinKind, Policy: AllDone})
		g.Edges = append(g.Edges, Edge{From: last, To: fork}, Edge{From: fork, To: task, When: when(i)},
			Edge{From: task, To: join})
		tasks, last = append(tasks, task), join
	}
	g.Nodes = append(g.Nodes, NodeSpec{NodeID: "end", Type: SuccessKind})
	g.Edges = append(g.Edges, Edge{From: last, To: "end"})
	return compiled(t, g), tasks
}

func TestDataIsReadOnceInADecision(t *testing.T) {
	p, tasks := gauntlet(t, 200, func(int) string { return "size(input.l) > 0" })
	s, f := begun(t, p, Data(`{"l":["`+strings.Repeat("x", 1<<20)+`"]}`))
	for _, task := range tasks {
		s = apply(t, s, CancelNode{Node: task}, f)
	}
	s = apply(t, s, StartNode{Node: "first", Attempt: 1}, f)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s = apply(t, s, Succeed{Node: "first"}, f)
	runtime.ReadMemStats(&after)
	if s.Status != Completed {
		t.Fatalf("the execution is %s with %v", s.Status, s.Error)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
		t.Errorf("200 conditions on an input of 1 MiB took %d MiB", got>>20)
	}
}

// A condition reads the outputs that it names, and no others.
func TestAConditionReadsWhatItNames(t *testing.T) {
	large := Data(`{"n":1,"fill":"` + strings.Repeat("x", 2*MaxInline) + `"}`)
	g := Graph{Nodes: []NodeSpec{{NodeID: "start", Type: StartKind}}, Edges: []Edge{
		{From: "start", To: "a"}, {From: "a", To: "b"}, {From: "b", To: "c"}, {
			From: "c", To: "end",
			When: "outputs.a.n == 1",
		},
	}}
	for _, id := range []string{"a", "b", "c"} {
		g.Nodes = append(g.Nodes, NodeSpec{NodeID: id, Type: TaskKind})
	}
	g.Nodes = append(g.Nodes, NodeSpec{NodeID: "end", Type: SuccessKind})
	s, f := begun(t, compiled(t, g), nil)
	var seq uint64
	for _, id := range []string{"a", "b"} {
		s = apply(t, s, StartNode{Node: id, Attempt: 1}, f)
		s = apply(t, s, Succeed{Node: id, Output: large}, f)
		if n, _ := s.Find(id); id == "a" {
			seq = n.Output.Seq
		}
	}
	s = apply(t, s, StartNode{Node: "c", Attempt: 1}, f)
	_, err := Decide(s, Succeed{Node: "c"}, f)
	if got, want := fmt.Sprint(err), fmt.Sprint(Need{seq}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	f.Outputs = map[uint64]Data{seq: large}
	if s = apply(t, s, Succeed{Node: "c"}, f); s.Status != Completed {
		t.Errorf("the execution is %s with %v", s.Status, s.Error)
	}
}

// What a decision may not read fails the condition that would look at it.
func TestWhatIsTooMuchToReadEndsTheBudget(t *testing.T) {
	large := Data(`{"n":1,"fill":"` + strings.Repeat("x", 2*MaxInline) + `"}`)
	s, f := begun(t, compiled(t, Graph{
		Nodes: []NodeSpec{
			{NodeID: "start", Type: StartKind},
			{NodeID: "a", Type: TaskKind},
			{NodeID: "b", Type: TaskKind},
			{NodeID: "end", Type: SuccessKind},
		},
		Edges: []Edge{
			{From: "start", To: "a"},
			{From: "a", To: "b"},
			{From: "b", To: "end", When: "outputs.a.n == 1"},
		},
	}), nil)
	s = apply(t, s, StartNode{Node: "a", Attempt: 1}, f)
	s = apply(t, s, Succeed{Node: "a", Output: large}, f)
	s = apply(t, s, StartNode{Node: "b", Attempt: 1}, f)
	f.Full = true
	s = apply(t, s, Succeed{Node: "b"}, f)
	if s.Status != Failed || s.Error == nil || !strings.Contains(s.Error.Message, "more than 50000 steps") {
		t.Errorf("the execution is %s with %v", s.Status, s.Error)
	}
}

// TestOutputsArePutTogetherOnceForANode is about many conditions on all outputs.
func TestOutputsArePutTogetherOnceForANode(t *testing.T) {
	g := Graph{Nodes: []NodeSpec{{NodeID: "start", Type: StartKind}, {NodeID: "end", Type: SuccessKind}}}
	last := "start"
	for i := range 300 {
		id := fmt.Sprint("n", i)
		g.Nodes = append(g.Nodes, NodeSpec{NodeID: id, Type: TaskKind})
		g.Edges = append(g.Edges, Edge{From: last, To: id})
		last = id
	}
	for i := range 5000 {
		g.Edges = append(g.Edges, Edge{From: last, To: "end", When: fmt.Sprint("size(outputs) > 1000", i)})
	}
	g.Edges = append(g.Edges, Edge{From: last, To: "end"})
	s, f := begun(t, compiled(t, g), nil)
	for i := range 299 {
		s = apply(t, s, StartNode{Node: fmt.Sprint("n", i), Attempt: 1}, f)
		s = apply(t, s, Succeed{Node: fmt.Sprint("n", i), Output: Data("1")}, f)
	}
	s = apply(t, s, StartNode{Node: last, Attempt: 1}, f)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s = apply(t, s, Succeed{Node: last, Output: Data("1")}, f)
	runtime.ReadMemStats(&after)
	if s.Status != Completed {
		t.Fatalf("the execution is %s with %v", s.Status, s.Error)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
		t.Errorf("5000 conditions on 300 outputs took %d MiB", got>>20)
	}
}

// A decision asks at most twice for data: what follows from the first it cannot know, so
// it asks for everything then.
func TestADecisionAsksForDataTwice(t *testing.T) {
	large := Data(`{"n":1,"fill":"` + strings.Repeat("x", MaxInline) + `"}`)
	const n = 20
	g := Graph{Nodes: []NodeSpec{{NodeID: "start", Type: StartKind}}}
	last := "start"
	for i := range n {
		id := fmt.Sprintf("done-%d", i)
		g.Nodes = append(g.Nodes, NodeSpec{NodeID: id, Type: TaskKind})
		g.Edges = append(g.Edges, Edge{From: last, To: id})
		last = id
	}
	rest, tasks := gauntlet(t, n, func(i int) string { return fmt.Sprintf("outputs['done-%d'].n == 1", i) })
	g.Nodes = append(g.Nodes, rest.Graph.Nodes[2:]...)
	g.Edges = append(g.Edges, rest.Graph.Edges[1:]...)
	for i := range g.Edges {
		if g.Edges[i].From == "first" {
			g.Edges[i].From = last
		}
	}
	s, f := begun(t, compiled(t, g), nil)
	for _, task := range tasks {
		s = apply(t, s, CancelNode{Node: task}, f)
	}
	f.Outputs = map[uint64]Data{}
	asked := 0
	for i := range n {
		id := fmt.Sprintf("done-%d", i)
		s = apply(t, s, StartNode{Node: id, Attempt: 1}, f)
		events, err := Decide(s, Succeed{Node: id, Output: large}, f)
		for need, ok := err.(Need); ok; need, ok = err.(Need) { //nolint:errorlint // Decide gives it bare
			asked++
			for _, seq := range need {
				f.Outputs[seq] = large
			}
			events, err = Decide(s, Succeed{Node: id, Output: large}, f)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			s = Apply(s, ev)
		}
	}
	if s.Status != Completed || asked > 2 {
		t.Errorf("the execution is %s after %d questions", s.Status, asked)
	}
}

// What a condition needs is noted once, however many edges have it.
func TestDataIsAskedForOnceForACondition(t *testing.T) {
	const outputs, edges = 200, 2_000
	g := Graph{Nodes: []NodeSpec{{NodeID: "start", Type: StartKind}, {NodeID: "end", Type: SuccessKind}}}
	last := "start"
	var names []string
	for i := range outputs {
		id := fmt.Sprint("n", i)
		g.Nodes = append(g.Nodes, NodeSpec{NodeID: id, Type: TaskKind})
		g.Edges = append(g.Edges, Edge{From: last, To: id})
		names, last = append(names, "outputs."+id), id
	}
	when := "[" + strings.Join(names[:outputs-1], ", ") + "] == []"
	for range edges {
		g.Edges = append(g.Edges, Edge{From: last, To: "end", When: when})
	}
	s, f := begun(t, compiled(t, g), nil)
	large := Data(`"` + strings.Repeat("x", MaxInline) + `"`)
	for i := range outputs - 1 {
		s = apply(t, s, StartNode{Node: fmt.Sprint("n", i), Attempt: 1}, f)
		s = apply(t, s, Succeed{Node: fmt.Sprint("n", i), Output: large}, f)
	}
	s = apply(t, s, StartNode{Node: last, Attempt: 1}, f)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Decide(s, Succeed{Node: last}, f)
	runtime.ReadMemStats(&after)
	var need Need
	if !errors.As(err, &need) || len(need) != outputs-1 {
		t.Fatalf("got %v, want a need of %d outputs", err, outputs-1)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("%d edges with one condition took %d MiB to ask for %d outputs", edges, got>>20, outputs-1)
	}
}

func TestAGraphThatNoDecisionCanAffordIsRefused(t *testing.T) {
	list := "[" + strings.Repeat("1, ", 30) + "1]"
	fixed := list + ".exists(a, " + list + ".exists(b, " + list + ".exists(c, a + b + c == 0)))"
	if err := junction(t, []string{costly(1), fixed}).CheckCost(); err == nil {
		t.Error("a condition that always takes too long was not refused")
	} else {
		const want = `edge from "work" to "a": when: the expression takes more than 20000 steps, whatever the data is`
		checkRefused(t, err, want, detailsOf("work", ""))
	}
}

// Expressions weigh more than the nodes that have them.
func TestAPlanWeighsWhatItsExpressionsDo(t *testing.T) {
	conditions := make([]string, 100)
	for i := range conditions {
		conditions[i] = costly(i)
	}
	few, many := junction(t, conditions[:1]).Weight(), junction(t, conditions).Weight()
	if got, want := many-few, 99*len(costly(0))/textPerNode; got < want-1 || got > want+1 {
		t.Errorf("99 conditions weigh %d nodes, want %d", got, want)
	}
}
