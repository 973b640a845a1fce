package flow

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
)

// begun is an execution of a graph that was started, and the facts of the next decision.
func begun(t testing.TB, p *Plan, input Data) (State, Facts) {
	t.Helper()
	f := Facts{Now: scriptZero, ID: testID(1, 0), Execution: testID(2, 0), Plan: p, Actor: scriptActor}
	s := apply(t, State{}, Create{Input: input}, f)
	return apply(t, s, Start{}, f), f
}

// apply decides a command that must be accepted and applies its events.
func apply(t testing.TB, s State, c Command, f Facts) State {
	t.Helper()
	events, err := Decide(s, c, f)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	for _, ev := range events {
		s = Apply(s, ev)
	}
	return s
}

// chain is a graph of so many tasks in a row.
func chain(t testing.TB, tasks int) *Plan {
	t.Helper()
	g := Graph{Nodes: []NodeSpec{{NodeID: "start", Type: StartKind}}}
	for i := range tasks {
		id := fmt.Sprintf("task-%d", i)
		g.Edges = append(g.Edges, Edge{From: g.Nodes[i].NodeID, To: id})
		g.Nodes = append(g.Nodes, NodeSpec{NodeID: id, Type: TaskKind})
	}
	g.Edges = append(g.Edges, Edge{From: g.Nodes[tasks].NodeID, To: "end"})
	g.Nodes = append(g.Nodes, NodeSpec{NodeID: "end", Type: SuccessKind})
	return compiled(t, g)
}

// wide is a fork of so many branches, a task in each.
func wide(t testing.TB, branches int, policy Policy, expression ...string) *Plan {
	t.Helper()
	g := Graph{Nodes: []NodeSpec{{NodeID: "start", Type: StartKind}, {NodeID: "fork", Type: ForkKind}}}
	g.Edges = append(g.Edges, Edge{From: "start", To: "fork"})
	for i := range branches {
		id := fmt.Sprintf("task-%d", i)
		g.Nodes = append(g.Nodes, NodeSpec{NodeID: id, Type: TaskKind})
		g.Edges = append(g.Edges, Edge{From: "fork", To: id}, Edge{From: id, To: "join"})
	}
	g.Nodes = append(g.Nodes, NodeSpec{
		NodeID: "join", Type: JoinKind, Policy: policy,
		Expression: strings.Join(expression, ""),
	}, NodeSpec{NodeID: "end", Type: SuccessKind})
	g.Edges = append(g.Edges, Edge{From: "join", To: "end"})
	return compiled(t, g)
}

func compiled(t testing.TB, g Graph) *Plan {
	t.Helper()
	p, err := g.Compile("g", 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDataHasOneFormThatSurvivesTheLog(t *testing.T) {
	s, f := begun(t, chain(t, 1), Data(" { \"a\" : [ 1 , 2.50 ] ,\n \"b\" : \"\\u0041\\u00e9\" } "))
	if got, want := string(s.Input), `{"a":[1,2.50],"b":"Aé"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s = apply(t, s, StartNode{Node: "task-0", Attempt: 1}, f)
	for _, bad := range []string{`{`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{} {}`, `{"a":"\ud800"}`} {
		for _, c := range []Command{
			Succeed{Node: "task-0", Output: Data(bad)},
			Fail{Node: "task-0", Error: &Error{Detail: Data(bad)}},
			Progress{Node: "task-0", Metrics: Data(bad)},
			Wait{Node: "task-0", Prompt: Data(bad)},
		} {
			if _, err := Decide(s, c, f); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s with %s: %v", c.Name(), bad, err)
			}
		}
	}
	mine := Data(`{"a": 1}`)
	events, err := Decide(s, Succeed{Node: "task-0", Output: mine}, f)
	if err != nil {
		t.Fatal(err)
	}
	copy(mine, `XXXXXXXX`)
	if got := string(DataOf(events[0].Payload)); got != `{"a":1}` {
		t.Errorf("the event shares memory with the request: %s", got)
	}
}

func TestLargeDataCanBeAcceptedBeforeTheDecision(t *testing.T) {
	s, f := begun(t, chain(t, 1), nil)
	s = apply(t, s, StartNode{Node: "task-0", Attempt: 1}, f)
	fill := strings.Repeat("x", largeData)
	large, small := `{ "a" : "\u0041`+fill+`" }`, `{ "a" : "\u0041" }`
	commands := func(data string) []Command {
		return []Command{
			Create{Input: Data(data)},
			Succeed{Node: "task-0", Output: Data(data)},
			Fail{Node: "task-0", Error: &Error{Detail: Data(data)}},
			Progress{Node: "task-0", Metrics: Data(data)},
			Wait{Node: "task-0", Prompt: Data(data)},
			Resume{Node: "task-0", Output: Data(data)},
		}
	}
	for i, c := range commands(large) {
		early, ok := Accept(c)
		if want := commands(`{"a":"A` + fill + `"}`)[i]; !ok || !reflect.DeepEqual(early, want) {
			t.Errorf("%s: got %t, %.100v", c.Name(), ok, early)
		}
		if !reflect.DeepEqual(c, commands(large)[i]) {
			t.Errorf("%s: the request was changed", c.Name())
		}
		if c.Name() == (Create{}).Name() || c.Name() == (Resume{}).Name() {
			continue // this execution cannot be created or resumed
		}
		f.Accepted = false
		late, err := Decide(s, c, f)
		if err != nil {
			t.Fatal(err)
		}
		f.Accepted = true
		if events, err := Decide(s, early, f); err != nil || !reflect.DeepEqual(events, late) {
			t.Errorf("%s: decided otherwise: %v", c.Name(), err)
		}
	}
	for _, c := range slices.Concat(commands(small), commands(`{"a":`+fill), []Command{Start{}, Fail{Node: "task-0"}}) {
		if same, ok := Accept(c); ok || !reflect.DeepEqual(same, c) {
			t.Errorf("%.100v was accepted before the decision", c)
		}
	}
}

func TestAnExecutionHoldsOnlySoMuchData(t *testing.T) {
	p := chain(t, 1)
	s, f := begun(t, p, nil)
	s = apply(t, s, StartNode{Node: "task-0", Attempt: 1}, f)
	s.Data = MaxExecutionData - 10
	ten, eleven := Data(`{"x":1234}`), Data(`{"x":12345}`)
	for _, c := range []struct{ fits, not Command }{
		{Succeed{Node: "task-0", Output: ten}, Succeed{Node: "task-0", Output: eleven}},
		{Fail{Node: "task-0", Error: &Error{Detail: ten}}, Fail{Node: "task-0", Error: &Error{
			Message: "m",
			Detail:  ten,
		}}},
		{Progress{Node: "task-0", Message: "1234567890"}, Progress{Node: "task-0", Message: "1", Metrics: ten}},
		{Wait{Node: "task-0", Prompt: ten}, Wait{Node: "task-0", Prompt: eleven}},
	} {
		if _, err := Decide(s, c.fits, f); err != nil {
			t.Errorf("%+v: %v", c.fits, err)
		}
		_, err := Decide(s, c.not, f)
		if e, ok := fault.As(err); !ok || e.Kind != fault.TooLarge || e.Code != "EXECUTION_TOO_LARGE" {
			t.Errorf("%+v: %v", c.not, err)
		}
	}
	s.Data = MaxExecutionData + 1
	for _, c := range []Command{
		Cancel{Reason: "full"},
		CancelNode{Node: "task-0", Reason: "full"},
		Succeed{Node: "task-0"},
	} {
		if _, err := Decide(s, c, f); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := Decide(State{}, Create{Input: make(Data, MaxExecutionData+1)}, f); err == nil {
		t.Error("an execution is created with too much input")
	}
}

// A cancel needs nothing but the state: neither plan nor data may stand in its way.
func TestACancelNeedsNoPlan(t *testing.T) {
	s, f := begun(t, chain(t, 3), nil)
	f.Plan = nil
	if s = apply(t, s, Cancel{}, f); s.Status != Canceled {
		t.Errorf("the execution is %s", s.Status)
	}
	if s = apply(t, s, Archive{}, f); s.ArchivedAt == 0 {
		t.Error("the execution is not archived")
	}
}

func TestAPlanMustBeTheExecutionsOwn(t *testing.T) {
	s, f := begun(t, chain(t, 3), nil)
	for _, p := range []*Plan{nil, chain(t, 4)} {
		f.Plan = p
		if got, err := Decide(s, StartNode{Node: "task-0", Attempt: 1}, f); err == nil {
			t.Errorf("decided: %+v", got)
		}
	}
}

func TestARefusalSaysWhatItSaw(t *testing.T) {
	p := chain(t, 2)
	s, f := begun(t, p, nil)
	refusal := func(c Command) *Refusal {
		t.Helper()
		_, err := Decide(s, c, f)
		var r *Refusal
		if !errors.As(err, &r) {
			t.Fatalf("%+v: %v", c, err)
		}
		return r
	}
	got := refusal(Succeed{Node: "task-0"})
	want := &Refusal{
		Command: "SucceedNode", Guard: GuardNodeRunning, Reason: "node task-0 is READY, not RUNNING",
		Node: "task-0", NodeStatus: NodeIsReady, Cause: s.Nodes[1].Cause,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Cause.Type != NodeReadyType || got.Cause.Seq != 8 || got.Cause.At != f.Now {
		t.Errorf("the cause is %+v", got.Cause)
	}
	s = apply(t, s, Cancel{}, f)
	got = refusal(Resume{Node: "task-0"})
	if got.Guard != GuardCancelFence || got.Execution != Canceled || got.Fence != 9 ||
		got.Cause.Type != ExecutionCanceledType {
		t.Errorf("the refusal is %+v", got)
	}
	if got, want := got.Error(), "ResumeNode rejected because execution is cancel-requested"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Data by reference is asked for all at once, in order, and only when it is looked at.
func TestDataByReferenceIsAskedForOnce(t *testing.T) {
	p := compileGraph(t, `
nodes:
- {nodeId: s, type: Start}
- {nodeId: a, type: Task}
- {nodeId: b, type: Task}
- {nodeId: c, type: Task}
- {nodeId: ok, type: Success}
edges:
- {from: s, to: a}
- {from: a, to: b}
- {from: b, to: c}
- {from: c, to: ok, when: 'size(outputs.a.x) == size(outputs.b.x)'}
`)
	s, f := begun(t, p, nil)
	large := Data(`{"x":"` + strings.Repeat("x", MaxInline) + `"}`)
	for _, id := range []string{"a", "b"} {
		s = apply(t, s, StartNode{Node: id, Attempt: 1}, f)
		s = apply(t, s, Succeed{Node: id, Output: large}, f)
	}
	s = apply(t, s, StartNode{Node: "c", Attempt: 1}, f)
	_, err := Decide(s, Succeed{Node: "c", Output: large}, f)
	var need Need
	if !errors.As(err, &need) || len(need) != 2 || need[0] != s.Nodes[1].Output.Seq ||
		need[1] != s.Nodes[2].Output.Seq {
		t.Fatalf("got %v, want a need of the two outputs", err)
	}
	f.Outputs = map[uint64]Data{need[0]: large, need[1]: large}
	if s = apply(t, s, Succeed{Node: "c", Output: large}, f); s.Status != Completed || s.Result.Size != len(large) {
		t.Errorf("the execution is %s with %+v", s.Status, s.Result)
	}
}

// The largest graphs pass in one decision, however deep or wide they are.
func TestTheLargestGraphsAreDecidedAtOnce(t *testing.T) {
	const branches = MaxNodes - 4
	s, f := begun(t, wide(t, branches, AnySuccess), nil)
	live := 0
	for _, n := range s.Nodes {
		if n.Live() {
			live++
		}
	}
	if live != branches {
		t.Fatalf("%d branches are at work, want %d", live, branches)
	}
	s = apply(t, s, StartNode{Node: "task-5000", Attempt: 1}, f)
	before := s.Seq
	s = apply(t, s, Succeed{Node: "task-5000"}, f)
	if got, want := s.Seq-before, uint64(6+3*(branches-1)); got != want || s.Status != Completed {
		t.Errorf("%d events end it %s, want %d", got, s.Status, want)
	}
	s, f = begun(t, chain(t, MaxNodes-2), nil)
	if s = apply(t, s, Cancel{}, f); s.Seq != 1+MaxNodes+3+1+(MaxNodes-1)+1 {
		t.Errorf("the cancel ends at seq %d", s.Seq)
	}
}

func TestAWideCustomJoinFailsWithItsLastBranch(t *testing.T) {
	const branches = 300
	s, f := begun(t, wide(t, branches, Custom, "size(completed) > size(expected)"), nil)
	for i := range branches {
		if s.Status != Active {
			t.Fatalf("the execution is %s after %d of %d branches", s.Status, i, branches)
		}
		s = apply(t, s, CancelNode{Node: fmt.Sprintf("task-%d", i)}, f)
	}
	if s.Status != Failed || s.Error == nil || s.Error.Code != CodeNotPassable {
		t.Errorf("the execution is %s with %v", s.Status, s.Error)
	}
}

// A chain of cancelled forks inside of forks unwinds without recursion.
func TestNestedForksUnwind(t *testing.T) {
	depth := MaxNesting
	g := Graph{Nodes: []NodeSpec{{NodeID: "start", Type: StartKind}, {NodeID: "first", Type: TaskKind}}}
	g.Edges = append(g.Edges, Edge{From: "start", To: "first"})
	last := "first"
	for i := range depth {
		fork := fmt.Sprintf("fork-%d", i)
		g.Nodes = append(g.Nodes, NodeSpec{NodeID: fork, Type: ForkKind})
		g.Edges = append(g.Edges, Edge{From: last, To: fork})
		last = fork
	}
	g.Nodes = append(g.Nodes, NodeSpec{NodeID: "task", Type: TaskKind})
	g.Edges = append(g.Edges, Edge{From: last, To: "task"})
	last = "task"
	for i := range depth {
		join := fmt.Sprintf("join-%d", i)
		g.Nodes = append(g.Nodes, NodeSpec{NodeID: join, Type: JoinKind, Policy: AllDone})
		g.Edges = append(g.Edges, Edge{From: last, To: join})
		last = join
	}
	g.Nodes = append(g.Nodes, NodeSpec{NodeID: "end", Type: SuccessKind})
	g.Edges = append(g.Edges, Edge{From: last, To: "end"})
	s, f := begun(t, compiled(t, g), nil)
	s = apply(t, s, CancelNode{Node: "task"}, f)
	s = apply(t, s, StartNode{Node: "first", Attempt: 1}, f)
	if s = apply(t, s, Succeed{Node: "first"}, f); s.Status != Completed {
		t.Errorf("the execution is %s", s.Status)
	}
}

func BenchmarkSucceedNext(b *testing.B) {
	p := chain(b, 10)
	s, f := begun(b, p, Data(`{"n":1}`))
	s = apply(b, s, StartNode{Node: "task-0", Attempt: 1, Worker: "w", Lease: 60}, f)
	var c Command = Succeed{Node: "task-0", Attempt: 1, Worker: "w", Output: Data(`{"ok":true}`), Next: true}
	b.ReportAllocs()
	for b.Loop() {
		if events, err := Decide(s, c, f); err != nil || len(events) != 3 {
			b.Fatal(events, err)
		}
	}
}

func BenchmarkCreate(b *testing.B) {
	f := Facts{Now: scriptZero, ID: testID(1, 0), Execution: testID(2, 0), Plan: chain(b, 10), Actor: scriptActor}
	var c Command = Create{Input: Data(`{"n":1}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decide(State{}, c, f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWideFork(b *testing.B) {
	p := wide(b, MaxNodes-4, AllSuccess)
	f := Facts{Now: scriptZero, ID: testID(1, 0), Execution: testID(2, 0), Plan: p, Actor: scriptActor}
	created := apply(b, State{}, Create{}, f)
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Decide(created, Start{}, f); err != nil {
				b.Fatal(err)
			}
		}
	})
	s := apply(b, created.Clone(), Start{}, f)
	s = apply(b, s, StartNode{Node: "task-5000", Attempt: 1}, f)
	b.Run("branch", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Decide(s, Succeed{Node: "task-5000"}, f); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkJoin is one more of 1,000 branches that ends, half of which have, while
// the others may still let the join pass.
func BenchmarkJoin(b *testing.B) {
	for _, src := range []string{
		"", `size(completed) >= 400`, `size(completed) > size(canceled) && size(failed) < 510`,
		`"task-999" in completed || size(failed) > 700`,
		`completed.exists(c, c.startsWith("task-9"))`, `failed.all(f, f != "task-999") && size(completed) > 3`,
		`completed != [] && completed[0] == "task-999"`,
	} {
		b.Run(src, func(b *testing.B) {
			policy := Custom
			if src == "" {
				policy = AllDone // for comparison
			}
			s, f := begun(b, wide(b, 1_000, policy, src), nil)
			g := &JoinGateUpdated{
				NodeID: "join", Policy: policy, Expected: s.Nodes[1].Branches,
				Failed: s.Nodes[1].Branches[:500],
			}
			s = Apply(s, Event{Seq: s.Seq + 1, Type: g.Type(), Payload: g})
			b.ReportAllocs()
			for b.Loop() {
				if events, err := Decide(s, CancelNode{Node: "task-500"}, f); err != nil || len(events) != 4 {
					b.Fatal(events, err)
				}
			}
		})
	}
}

func BenchmarkAppendPayload(b *testing.B) {
	p := &NodeStarted{
		NodeID: "task-0", Attempt: 1, WorkerID: "worker-1", Lease: 60, LeaseUntil: scriptZero,
		TimeoutAt: scriptZero,
	}
	buf := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AppendPayload(buf, p); err != nil {
			b.Fatal(err)
		}
	}
}
