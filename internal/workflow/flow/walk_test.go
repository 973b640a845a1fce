package flow

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// roll draws a number below n, every one as likely as the others. (The integers of
// rapid are mostly small, which would make walks that mostly cancel.)
func roll(t *rapid.T, n int) int {
	got := 0
	for bit := 1; bit < 2*n; bit <<= 1 { // one bit more than needed evens out the rest
		if bits.Draw(t, "bit") {
			got |= bit
		}
	}
	return got % n
}

var bits = rapid.Bool()

// sketch draws graphs that can run: tasks, waits, choices and forks in forks.
type sketch struct {
	t *rapid.T
	g Graph
}

func drawPlan(t *rapid.T) *Plan {
	s := sketch{t: t}
	start := s.node(NodeSpec{Type: StartKind})
	first, exits := s.row(2)
	ok := s.node(NodeSpec{Type: SuccessKind})
	s.edge(start, first, OnSuccess, "")
	for _, from := range exits {
		s.edge(from, ok, OnSuccess, "")
	}
	s.failures()
	p, err := s.g.Compile("g", 1)
	if err != nil {
		t.Fatalf("graph: %v\n%+v", err, s.g)
	}
	return p
}

// node adds a node, named by its type and place.
func (s *sketch) node(spec NodeSpec) string {
	spec.NodeID = fmt.Sprintf("%s%d", strings.ToLower(spec.Type.String()[:2]), len(s.g.Nodes))
	s.g.Nodes = append(s.g.Nodes, spec)
	return spec.NodeID
}

func (s *sketch) edge(from, to string, on Outcome, when string) {
	s.g.Edges = append(s.g.Edges, Edge{From: from, To: to, On: on, When: when})
}

func (s *sketch) chance(percent int) bool {
	return roll(s.t, 100) < percent
}

// row draws blocks one after the other: the first node, and those that lead on.
func (s *sketch) row(depth int) (first string, exits []string) {
	for n := 1 + roll(s.t, 4); n > 0; n-- {
		head, out := s.block(depth)
		if first == "" {
			first = head
		}
		for _, from := range exits {
			s.edge(from, head, OnSuccess, "")
		}
		exits = out
	}
	return first, exits
}

func (s *sketch) block(depth int) (first string, exits []string) {
	kind := roll(s.t, 10)
	switch {
	case kind < 4 && depth > 0:
		return s.fork(depth - 1)
	case kind < 5 && depth > 0:
		return s.choice(depth - 1)
	case kind < 7:
		spec := NodeSpec{Type: WaitKind}
		if s.chance(50) {
			spec.Timeout = Duration(5 * time.Second)
		}
		if s.chance(50) {
			spec.WaitKey = "k"
		}
		id := s.node(spec)
		return id, []string{id}
	}
	id := s.node(s.task())
	if s.chance(30) {
		fix := s.node(s.task())
		s.edge(id, fix, OnFailure, "")
		return id, []string{id, fix}
	}
	return id, []string{id}
}

func (s *sketch) task() NodeSpec {
	spec := NodeSpec{Type: TaskKind}
	if s.chance(30) {
		spec.Timeout = Duration(10 * time.Second)
	}
	if s.chance(30) {
		spec.Retry = &Retry{
			MaxAttempts: 2, InitialInterval: Duration(time.Second), Backoff: 2,
			MaxInterval: Duration(time.Minute),
		}
	}
	if s.chance(20) {
		spec.Queue = "other"
	}
	return spec
}

// choice goes one of two ways; an output without "ok" is an error of the expression.
func (s *sketch) choice(depth int) (first string, exits []string) {
	id := s.node(s.task())
	left, out := s.row(depth)
	right, out2 := s.row(depth)
	s.edge(id, left, OnSuccess, "output.ok")
	s.edge(id, right, OnSuccess, []string{"", "outputs." + id + ".ok == false"}[roll(s.t, 2)])
	return id, append(out, out2...)
}

func (s *sketch) fork(depth int) (first string, exits []string) {
	fork := s.node(NodeSpec{Type: ForkKind})
	var outs []string
	for n := 1 + roll(s.t, 3); n > 0; n-- {
		head, out := s.row(depth)
		s.edge(fork, head, OnSuccess, []string{"", "", "", "input.n == 1", "input.n == 2"}[roll(s.t, 5)])
		outs = append(outs, out...)
	}
	spec := NodeSpec{Type: JoinKind}
	spec.Policy = []Policy{AllSuccess, AnySuccess, AllDone, Custom}[roll(s.t, 4)]
	if spec.Policy == Custom {
		spec.Expression = "size(completed) * 2 > size(expected)"
	}
	join := s.node(spec)
	for _, from := range outs {
		s.edge(from, join, OnSuccess, "")
	}
	return fork, []string{join}
}

// failures leads some nodes that have no failure edge to an end of their own.
func (s *sketch) failures() {
	if !s.chance(50) {
		return
	}
	kind := []Kind{FailedKind, CanceledKind}[roll(s.t, 2)]
	var from []string
	for _, n := range s.g.Nodes {
		if (n.Type == TaskKind || n.Type == JoinKind) && !s.fails(n.NodeID) && s.chance(30) {
			from = append(from, n.NodeID)
		}
	}
	if len(from) == 0 {
		return
	}
	end := s.node(NodeSpec{Type: kind})
	for _, id := range from {
		s.edge(id, end, OnFailure, "")
	}
}

func (s *sketch) fails(id string) bool {
	for _, e := range s.g.Edges {
		if e.From == id && e.On == OnFailure {
			return true
		}
	}
	return false
}

// walker drives one execution with commands at random and checks after each what
// must always hold.
type walker struct {
	t     *rapid.T
	plan  *Plan
	now   Time
	state State
	log   []Event
}

func newWalker(t *rapid.T, p *Plan) *walker {
	w := &walker{t: t, plan: p, now: scriptZero}
	w.do(Create{Input: Data(`{"n":1}`)})
	return w
}

// facts are those of the next decision.
func (w *walker) facts() Facts {
	f := Facts{
		Now: w.now, ID: testID(7, len(w.log)), Execution: testID(8, 0), Plan: w.plan,
		Actor: Actor{Kind: KindUser, ID: "ann"}, CorrelationID: "c", Outputs: map[uint64]Data{},
	}
	for _, ev := range w.log { // all data at hand, so that a decision never needs more
		if p, ok := ev.Payload.(*NodeSucceeded); ok && len(p.Output) > MaxInline {
			f.Outputs[ev.Seq] = p.Output
		}
	}
	return f
}

// do decides a command and applies its events. The draft of the decision must be
// the fold of its events, and the input must stay as it was.
func (w *walker) do(c Command) error {
	before := encode(w.t, &w.state)
	d := newDraft(w.state, c, w.facts())
	err := d.settle()
	if after := encode(w.t, &w.state); !bytes.Equal(before, after) {
		w.t.Fatalf("%+v changed its input:\n%s", c, cmp.Diff(string(before), string(after)))
	}
	var refused *Refusal
	if err != nil && !errors.As(err, &refused) {
		w.t.Fatalf("%+v: %v", c, err)
	}
	if err != nil {
		return err
	}
	w.chain(c, d.events)
	for _, ev := range d.events {
		w.state = Apply(w.state, ev)
	}
	if diff := cmp.Diff(string(encode(w.t, &d.State)), string(encode(w.t, &w.state))); diff != "" {
		w.t.Fatalf("%+v: the events do not give what was decided (-decided +folded):\n%s", c, diff)
	}
	w.log = append(w.log, d.events...)
	w.check(c)
	return nil
}

// chain checks the envelopes of one decision.
func (w *walker) chain(c Command, events []Event) {
	for i, ev := range events {
		if want := uint64(len(w.log) + i + 1); ev.Seq != want {
			w.t.Fatalf("%+v: event %d has seq %d, want %d", c, i, ev.Seq, want)
		}
		if ev.Type != ev.Payload.Type() || ev.ID != testID(7, len(w.log)+i) || ev.At != w.now ||
			ev.Execution != testID(8, 0) {
			w.t.Fatalf("%+v: bad envelope %+v", c, ev)
		}
		if i > 0 && ev.CausationID != events[i-1].ID {
			w.t.Fatalf("%+v: event %d is not caused by the one before", c, i)
		}
		if i == 0 && ev.CausationID.IsZero() != (len(w.log) == 0) {
			w.t.Fatalf("%+v: the first event has cause %s", c, ev.CausationID)
		}
	}
}

// check is what holds at every rest point.
func (w *walker) check(c Command) {
	live, ends := 0, 0
	for i, n := range w.state.Nodes {
		if n.Live() {
			live++
		}
		if n.Status == NodeIsRunning && n.Attempt < 1 {
			w.t.Fatalf("%+v: %s runs without an attempt", c, n.ID)
		}
		if n.Gate != nil {
			w.checkGate(c, n, w.state.Nodes[w.plan.nodes[i].peer])
		}
	}
	for _, ev := range w.log {
		switch ev.Type {
		case ExecutionCompletedType, ExecutionFailedType, ExecutionCanceledType:
			ends++
		}
	}
	switch {
	case w.state.Status.Terminal() && (live > 0 || ends != 1):
		w.t.Fatalf("%+v: %s with %d live nodes and %d terminal events", c, w.state.Status, live, ends)
	case !w.state.Status.Terminal() && (ends != 0 || w.state.StartedAt != 0 && live == 0):
		w.t.Fatalf("%+v: ACTIVE with %d live nodes and %d terminal events", c, live, ends)
	case w.state.CancelRequestedAt != 0 && w.state.Status != Canceled:
		w.t.Fatalf("%+v: a cancel was accepted, the execution is %s", c, w.state.Status)
	}
}

// checkGate is what holds for every Join that was reached: it expects the branches
// that its Fork opened, and each has ended at most once.
func (w *walker) checkGate(c Command, join, fork *Node) {
	g := join.Gate
	if diff := cmp.Diff(fork.Branches, g.Expected); diff != "" || len(g.Expected) == 0 {
		w.t.Fatalf("%+v: %s opened other branches than %s expects:\n%s", c, fork.ID, join.ID, diff)
	}
	ended := slices.Concat(g.Completed, g.Failed, g.Canceled)
	slices.Sort(ended)
	if len(slices.Compact(ended)) != len(g.Completed)+len(g.Failed)+len(g.Canceled) {
		w.t.Fatalf("%+v: a branch of %s has ended twice: %+v", c, join.ID, g)
	}
	if (join.Status == NodeIsSucceeded) != g.Passed || g.Passed && !g.Passable {
		w.t.Fatalf("%+v: join %s is %s with %+v", c, join.ID, join.Status, g)
	}
}

// step sends one command, most often one that fits.
func (w *walker) step() {
	if w.chance(20) {
		w.now = w.now.Add(time.Duration(1+roll(w.t, 15_000)) * time.Millisecond)
	}
	if due := w.state.Due(w.now); len(due) > 0 && w.chance(70) {
		if err := w.do(due[0]); err != nil {
			w.t.Fatalf("%+v: %v", due[0], err)
		}
		return
	}
	n := w.state.Nodes[roll(w.t, len(w.state.Nodes))]
	if w.chance(90) {
		for _, other := range w.state.Nodes {
			if other.Live() && (w.chance(60) || !n.Live()) {
				n = other
			}
		}
	}
	_ = w.do(w.command(n)) // a refusal is an answer too
}

func (w *walker) chance(percent int) bool {
	return roll(w.t, 100) < percent
}

func (w *walker) command(n *Node) Command {
	pick := roll(w.t, 100)
	switch {
	case pick < 2:
		return CancelNode{Node: n.ID}
	case pick < 4:
		return Cancel{Reason: "enough"}
	case pick < 5:
		return Archive{}
	case pick < 6:
		return Expire{Node: n.ID, Attempt: n.Attempt, At: w.now}
	case w.state.StartedAt == 0:
		return Start{}
	}
	switch n.Status {
	case NodeIsReady:
		return StartNode{Node: n.ID, Attempt: n.Attempt + 1, Worker: "w", Lease: roll(w.t, 20)}
	case NodeIsWaiting:
		return Resume{Node: n.ID, ResumeKey: n.WaitKey, Output: w.output()}
	}
	switch {
	case pick < 15:
		return Progress{Node: n.ID, Message: "m"}
	case pick < 25:
		return Wait{Node: n.ID, WaitKey: "k"}
	case pick < 38:
		return Fail{Node: n.ID, Error: &Error{Code: "E"}, Next: pick%2 == 0}
	}
	return Succeed{Node: n.ID, Output: w.output(), Next: pick%2 == 0}
}

func (w *walker) output() Data {
	switch pick := roll(w.t, 10); {
	case pick < 5:
		return Data(`{"ok":true}`)
	case pick < 8:
		return Data(`{"ok":false}`)
	case pick < 9:
		return Data(`{"ok":true,"x":"` + strings.Repeat("x", MaxInline) + `"}`)
	}
	return nil
}

// drawLog is the log of an execution that went at random for a while.
func drawLog(t *rapid.T) []Event {
	w := newWalker(t, drawPlan(t))
	for n := 1 + roll(t, 80); n > 0; n-- {
		w.step()
	}
	return w.log
}

// fold applies a log to nothing.
func fold(log []Event) State {
	var s State
	for _, ev := range log {
		s = Apply(s, ev)
	}
	return s
}
