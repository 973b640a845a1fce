package flow_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/test/tier"
)

// How much the tests against the model do, and with RENGA_LONG=1.
const (
	commandsQuick      = 25_000
	commandsWanted     = 140_000
	commandsWantedLong = 2_000_000
	scriptsPerPlan     = 12
	longestScript      = 120
)

// TestDecideAgreesWithTheModel plays random scripts on random graphs and compares
// every decision, and the state that it leads to, with what the model says.
func TestDecideAgreesWithTheModel(t *testing.T) {
	compareWithModel(t, commandsQuick)
}

// TestDecideAgreesWithTheModelInAllItsWays is the same for so long that everything comes up.
func TestDecideAgreesWithTheModelInAllItsWays(t *testing.T) {
	tier.System(t)
	wanted := commandsWanted
	if os.Getenv("RENGA_LONG") != "" {
		wanted = commandsWantedLong
	}
	checkCoverage(t, compareWithModel(t, wanted))
}

// compareWithModel plays scripts until so many commands were decided, and counts what came up.
func compareWithModel(t *testing.T, wanted int) map[string]int {
	seen := map[string]int{}
	for seed, decided := uint64(1), 0; decided < wanted; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		s := randomShape(r)
		plan := compile(t, s)
		for k := range scriptsPerPlan {
			steps, complaint := play(s, plan, rand.New(rand.NewPCG(seed, uint64(k)+1)), seen)
			if complaint != "" {
				report(t, fmt.Sprintf("seed %d/%d", seed, k+1), s, plan, steps)
				t.FailNow()
			}
			decided += len(steps)
		}
	}
	return seen
}

// compile makes a plan of what the graph's author wrote.
func compile(t *testing.T, s *shape) *flow.Plan {
	t.Helper()
	g, err := flow.ParseGraph(s.text, false)
	if err != nil {
		t.Fatalf("a graph that can run is refused: %v\n%s", err, s.text)
	}
	plan, err := g.Compile(graphID, 1)
	if err != nil {
		t.Fatalf("a graph that can run is refused: %v\n%s", err, s.text)
	}
	return plan
}

// play makes up a script and plays it until the execution is over for a while. The
// complaint is empty when code and model agreed.
func play(s *shape, plan *flow.Plan, r *rand.Rand, seen map[string]int) (steps []step, complaint string) {
	b := newBench(s, plan, seen)
	p := &player{Rand: r, m: b.model, now: epoch, calm: pickOne(r, 100, 95, 90, 80)}
	late := pickOne(r, 1, 2, 3, 6) // commands that come when it is over
	for len(steps) < longestScript && late > 0 {
		next := p.next()
		steps = append(steps, next)
		if complaint := b.do(next); complaint != "" {
			return steps, complaint
		}
		if b.model.status != "ACTIVE" {
			late--
		}
	}
	return steps, ""
}

// report looks for the shortest script that still shows a disagreement, and prints it.
func report(t *testing.T, name string, s *shape, plan *flow.Plan, steps []step) {
	t.Helper()
	disagree := func(steps []step) (string, int) {
		b := newBench(s, plan, map[string]int{})
		for i, next := range steps {
			if complaint := b.do(next); complaint != "" {
				return complaint, i + 1
			}
		}
		return "", 0
	}
	complaint, _ := disagree(steps)
	for i := len(steps) - 2; i > 0; i-- {
		shorter := slices.Delete(slices.Clone(steps), i, i+1)
		if text, n := disagree(shorter); n > 0 {
			complaint, steps = text, shorter[:n]
			i = min(i, n)
		}
	}
	var script strings.Builder
	for _, st := range steps {
		fmt.Fprintln(&script, st)
	}
	t.Fatalf("%s\n%s\n%s\n%s", name, s.text, script.String(), complaint)
}

// bench runs the code and the model side by side.
type bench struct {
	model   *model
	plan    *flow.Plan
	state   flow.State
	log     []flow.Event
	seqs    map[flow.ID]int
	decided int
}

func newBench(s *shape, plan *flow.Plan, seen map[string]int) *bench {
	return &bench{model: newModel(s, seen), plan: plan, seqs: map[flow.ID]int{{}: 0}}
}

// do lets both decide one step, and complains when they differ.
func (b *bench) do(s step) string {
	b.decided++
	facts := flow.Facts{Now: s.now, Plan: b.plan, Actor: s.actor, CorrelationID: "corr", Execution: executionID}
	facts.Compensation = flow.ID{3, 8: 0x80}
	facts.ID[0] = 1
	binary.BigEndian.PutUint32(facts.ID[2:], uint32(b.decided))
	facts.ID[8] = 0x80
	before := ""
	if b.decided%8 == 0 {
		before = dump(b.state)
	}
	events, err := b.decide(s.command, facts)
	if before != "" && before != dump(b.state) {
		return fmt.Sprintf("Decide changed its input from\n%s\nto\n%s", before, dump(b.state))
	}
	if complaint := b.envelopes(events, facts); complaint != "" {
		return complaint
	}
	got := b.answer(events, err)
	want := expected(b.model.decide(s.command, facts))
	if got != want {
		return fmt.Sprintf("%s\n--- the code says\n%s\n--- the model says\n%s", s, got, want)
	}
	if r := (*flow.Refusal)(nil); errors.As(err, &r) {
		if complaint := b.refusal(r, s.command); complaint != "" {
			return complaint
		}
	}
	for _, ev := range events {
		b.state = flow.Apply(b.state, ev)
	}
	b.log = append(b.log, events...)
	if got, want := b.text(), b.model.String(); got != want {
		return fmt.Sprintf("%s\n%s\n%s", s, strings.Join(b.model.out, "\n"), differ(got, want))
	}
	if got, want := b.due(s.now), names(b.model.due(int64(s.now))); got != want {
		return fmt.Sprintf("%s\ndue: the code says %s, the model says %s", s, got, want)
	}
	return ""
}

// decide gives the code the data that it asks for.
func (b *bench) decide(c flow.Command, f flow.Facts) ([]flow.Event, error) {
	for range 3 {
		events, err := flow.Decide(b.state, c, f)
		var need flow.Need
		if !errors.As(err, &need) {
			return events, err
		}
		b.model.note("data held by reference")
		f.Outputs = map[uint64]flow.Data{}
		for _, seq := range need {
			f.Outputs[seq] = b.log[seq-1].Payload.(*flow.NodeSucceeded).Output
		}
	}
	return nil, errors.New("asks for data again and again")
}

// envelopes checks what all events have in common, and learns their IDs.
func (b *bench) envelopes(events []flow.Event, f flow.Facts) string {
	for i, ev := range events {
		b.seqs[ev.ID] = len(b.log) + i + 1
		if ev.ID != f.ID.Plus(i) || ev.Execution != executionID || ev.Seq != uint64(len(b.log)+i+1) || ev.At != f.Now ||
			ev.CorrelationID != "corr" || ev.Type != ev.Payload.Type() {
			return fmt.Sprintf("the envelope of event %d is wrong: %+v", i, ev)
		}
	}
	return ""
}

var executionID = flow.ID{9, 8: 0x80, 15: 1}

// expected is the verdict of the model as text.
func expected(v verdict) string {
	switch {
	case v.notFound:
		return "! NODE_NOT_FOUND"
	case v.unfit:
		return "! OUTPUT_INVALID"
	case v.guard != "":
		return fmt.Sprintf("! %s cause %d", v.guard, v.cause)
	}
	return strings.Join(v.events, "\n")
}

// answer is what the code decided as text.
func (b *bench) answer(events []flow.Event, err error) string {
	var refusal *flow.Refusal
	switch {
	case errors.As(err, &refusal):
		return fmt.Sprintf("! %s cause %d", refusal.Guard, b.seqs[refusal.Cause.ID])
	case err != nil:
		if f, ok := fault.As(err); ok && (f.Kind == fault.NotFound || f.Kind == fault.Invalid) {
			return "! " + f.Code
		}
		return "! error " + err.Error()
	}
	var lines []string
	for _, ev := range events {
		lines = append(lines, line(ev.Type.String(), ev.Payload.Node(), fields(ev), ev.Actor.Kind+"/"+ev.Actor.ID,
			b.seqs[ev.CausationID]))
	}
	return strings.Join(lines, "\n")
}

// refusal checks what a refusal tells beside its guard.
func (b *bench) refusal(r *flow.Refusal, c flow.Command) string {
	want := flow.Refusal{
		Command: c.Name(), Guard: r.Guard, Reason: r.Reason, Execution: b.state.Status,
		Node: r.Node, NodeStatus: r.NodeStatus, Attempt: r.Attempt, Cause: r.Cause, Fence: uint64(b.model.fence),
		Needs: r.Needs,
	}
	if n := b.model.nodes[c.Target()]; n != nil && strings.HasPrefix(string(r.Guard), "node_") {
		want.Node = n.NodeID
		if r.NodeStatus.String() != n.status || r.Attempt != n.attempt {
			return fmt.Sprintf("the refusal saw another node: %+v", *r)
		}
	}
	if *r != want {
		return fmt.Sprintf("the refusal is %+v, want %+v", *r, want)
	}
	if text := c.Name() + " rejected because execution is cancel-requested"; r.Guard == "cancel_fence" &&
		r.Error() != text {
		return fmt.Sprintf("the refusal reads %q, want %q", r.Error(), text)
	}
	return ""
}

func dump(s flow.State) string {
	text, err := json.Marshal(&s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// differ shows the lines in which two states differ.
func differ(got, want string) string {
	var out strings.Builder
	was := strings.Split(want, "\n")
	for i, text := range strings.Split(got, "\n") {
		if i >= len(was) || text != was[i] {
			fmt.Fprintf(&out, "--- the state has  %s\n", text)
		}
		if i < len(was) && text != was[i] {
			fmt.Fprintf(&out, "--- the model has  %s\n", was[i])
		}
	}
	return out.String()
}
