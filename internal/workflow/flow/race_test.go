package flow_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"renga.dev/renga/internal/workflow/flow"
)

// How many orders of logs the tests try, and with RENGA_LONG=1.
const (
	ordersWanted     = 6_000
	ordersWantedLong = 200_000
)

// TestCancelWinsInEveryOrder takes the log of an execution and that of a cancel that
// came in between, puts the events of both in any order, and asks after each event
// for the status that the rule gives (EVT-3), and for the guards of the reducer.
func TestCancelWinsInEveryOrder(t *testing.T) {
	wanted, seen := ordersWanted, map[string]int{}
	if os.Getenv("RENGA_LONG") != "" {
		wanted = ordersWantedLong
	}
	for seed, tried := uint64(1), 0; tried < wanted; seed++ {
		r := rand.New(rand.NewPCG(seed, 7))
		s := randomShape(r)
		plan := compile(t, s)
		for range 4 {
			run, cancel := race(t, s, plan, r)
			for range 6 {
				log := mix(r, run, cancel)
				if complaint := checkOrder(log, seen); complaint != "" {
					t.Fatalf("seed %d: %s\n%s\n%s", seed, complaint, s.text, lines(log))
				}
				tried++
			}
		}
	}
	for _, what := range []string{
		"canceled", "canceled over COMPLETED", "canceled over FAILED", "blocked EXECUTION_COMPLETED",
		"blocked EXECUTION_FAILED",
		"blocked NODE_READY", "blocked NODE_STARTED", "blocked NODE_RESUMED", "stays COMPLETED", "stays FAILED",
		"requested only",
		"node canceled over SUCCEEDED", "node canceled over FAILED", "node stays SUCCEEDED", "node stays FAILED",
	} {
		if seen[what] < ordersWanted/100 {
			t.Errorf("%q was seen only %d times", what, seen[what])
		}
	}
}

// race plays a script, and beside it the same script with a cancel in between. It
// gives the log of the first and what the cancel added to the second.
func race(t *testing.T, s *shape, plan *flow.Plan, r *rand.Rand) (run, cancel []flow.Event) {
	t.Helper()
	steps, complaint := play(s, plan, r, map[string]int{})
	if complaint != "" {
		t.Fatal(complaint)
	}
	all := replay(t, s, plan, steps)
	other := replay(t, s, plan, steps[:1+r.IntN(len(steps))])
	before := len(other.log)
	if complaint := other.do(step{flow.Cancel{}, epoch + 1e9, flow.Actor{Kind: flow.KindUser}}); complaint != "" {
		t.Fatal(complaint)
	}
	return all.log, other.log[before:]
}

func replay(t *testing.T, s *shape, plan *flow.Plan, steps []step) *bench {
	t.Helper()
	b := newBench(s, plan, map[string]int{})
	for _, next := range steps {
		if complaint := b.do(next); complaint != "" {
			t.Fatal(complaint)
		}
	}
	return b
}

// mix puts the events of two logs in some order: any, or one that keeps the order of
// each log, or one in which few events have moved. Some events come twice, and
// sometimes the confirmation of the cancel is lost.
func mix(r *rand.Rand, run, cancel []flow.Event) []flow.Event {
	var log []flow.Event
	order := r.IntN(3)
	for a, b := run, cancel; len(a)+len(b) > 0; {
		if len(b) == 0 || len(a) > 0 && r.IntN(len(a)+len(b)) < len(a) {
			log, a = append(log, a[0]), a[1:]
		} else {
			log, b = append(log, b[0]), b[1:]
		}
	}
	for range len(log) / 10 {
		log = append(log, log[r.IntN(len(log))])
	}
	if r.IntN(4) == 0 {
		log = slices.DeleteFunc(log, func(ev flow.Event) bool { return ev.Type == flow.ExecutionCanceledType })
	}
	swap := func(i, j int) { log[i], log[j] = log[j], log[i] }
	switch order {
	case 0:
		r.Shuffle(len(log), swap)
	case 1:
		for range 5 {
			swap(r.IntN(len(log)), r.IntN(len(log)))
		}
	}
	for i := range log {
		log[i].Seq = uint64(i + 1)
	}
	return log
}

// checkOrder applies a log and asks, after each event, for what must hold.
func checkOrder(log []flow.Event, seen map[string]int) string {
	var s flow.State
	rule := statusRule{nodes: map[string]string{}}
	for _, ev := range log {
		before := nodeStatus(&s, ev)
		blocked := rule.blocks(ev, before)
		if overruled := rule.see(ev); overruled != "" {
			seen[overruled]++
		}
		s = flow.Apply(s, ev)
		after, want := nodeStatus(&s, ev), rule.nodes[ev.Payload.Node()]
		switch {
		case s.Status.String() != rule.execution():
			return "the execution is " + s.Status.String() + ", want " + rule.execution()
		case s.CancelRequestedAt != 0 != rule.requested:
			return "the cancel request is not kept"
		case want != "" && after != want:
			return "node " + ev.Payload.Node() + " is " + after + ", want " + want
		case blocked && before != after:
			return ev.Type.String() + " made the node " + after
		}
		if blocked {
			seen["blocked "+ev.Type.String()]++
		}
	}
	switch {
	case rule.status == "CANCELED":
		seen["canceled"]++
	case rule.status != "":
		seen["stays "+rule.status]++
	case rule.requested:
		seen["requested only"]++
	}
	return ""
}

// nodeStatus is the status of the node that an event is about.
func nodeStatus(s *flow.State, ev flow.Event) string {
	for _, n := range s.Nodes {
		if n.ID == ev.Payload.Node() {
			return n.Status.String()
		}
	}
	return "CREATED"
}

// statusRule is the rule of EVT-3, as plainly as it can be put: CANCELED wins; a
// request blocks the other ends; of those the first stands.
type statusRule struct {
	status    string
	requested bool
	nodes     map[string]string // the terminal status of each node that has one
}

func (r *statusRule) execution() string {
	if r.status == "" {
		return "ACTIVE"
	}
	return r.status
}

// blocks reports whether an event of a node, which is in a status, means nothing now.
func (r *statusRule) blocks(ev flow.Event, status string) bool {
	switch ev.Type {
	case flow.NodeReadyType:
		return r.status != ""
	case flow.NodeStartedType:
		return r.requested || r.status == "CANCELED"
	case flow.NodeResumedType:
		return status != "WAITING"
	case flow.NodeResumeRequestedType, flow.NodeCancelRequestedType, flow.NodeInterruptRequestedType,
		flow.NodeProgressReportedType:
		return true
	}
	return false
}

// see takes an event in and tells when something was overruled.
func (r *statusRule) see(ev flow.Event) string {
	switch ev.Type {
	case flow.ExecutionCanceledType:
		had := r.status
		r.status = "CANCELED"
		if had == "COMPLETED" || had == "FAILED" {
			return "canceled over " + had
		}
	case flow.ExecutionCancelRequestedType:
		r.requested = true
	case flow.ExecutionCompletedType, flow.ExecutionFailedType:
		if r.requested || r.status != "" {
			return "blocked " + ev.Type.String()
		}
		r.status = map[flow.Type]string{
			flow.ExecutionCompletedType: "COMPLETED",
			flow.ExecutionFailedType:    "FAILED",
		}[ev.Type]
	case flow.NodeCanceledType:
		had := r.nodes[ev.Payload.Node()]
		r.nodes[ev.Payload.Node()] = "CANCELED"
		if had == "SUCCEEDED" || had == "FAILED" {
			return "node canceled over " + had
		}
	case flow.NodeSucceededType, flow.NodeFailedType:
		if had := r.nodes[ev.Payload.Node()]; had != "" {
			return "node stays " + had
		}
		r.nodes[ev.Payload.Node()] = map[flow.Type]string{
			flow.NodeSucceededType: "SUCCEEDED",
			flow.NodeFailedType:    "FAILED",
		}[ev.Type]
	}
	return ""
}

// lines lists a log, for a failure.
func lines(log []flow.Event) string {
	var text string
	for _, ev := range log {
		text += ev.Type.String() + " " + ev.Payload.Node() + "\n"
	}
	return text
}

// TestARequestAloneIsAFence cuts logs behind their cancel request: nothing but a
// cancel gets through, and that one ends what the request began.
func TestARequestAloneIsAFence(t *testing.T) {
	cut := 0
	for seed := uint64(1); seed <= 60; seed++ {
		r := rand.New(rand.NewPCG(seed, 8))
		s := randomShape(r)
		plan := compile(t, s)
		for range 10 {
			run, cancel := race(t, s, plan, r)
			if len(cancel) == 0 || cancel[0].Type != flow.ExecutionCancelRequestedType {
				continue // the cancel came too late
			}
			cut++
			checkFence(t, plan, fold(append(run[:cancel[0].Seq-1], cancel[0])))
		}
	}
	if cut < 300 {
		t.Errorf("only %d logs were cut: too few", cut)
	}
}

// checkFence tries everything on an execution whose last event is a cancel request.
func checkFence(t *testing.T, plan *flow.Plan, s flow.State) {
	t.Helper()
	at := s.Seq
	facts := flow.Facts{Now: epoch + 1e9, ID: flow.ID{2, 8: 0x80}, Execution: executionID, Plan: plan}
	for _, n := range plan.Graph.Nodes {
		for _, c := range []flow.Command{
			flow.Start{},
			flow.StartNode{Node: n.NodeID},
			flow.Progress{Node: n.NodeID},
			flow.Wait{Node: n.NodeID},
			flow.Resume{Node: n.NodeID},
			flow.Succeed{Node: n.NodeID},
			flow.Fail{Node: n.NodeID},
			flow.CancelNode{Node: n.NodeID},
		} {
			_, err := flow.Decide(s, c, facts)
			if r := (*flow.Refusal)(nil); !errors.As(err, &r) || r.Guard != flow.GuardCancelFence || r.Fence != at {
				t.Fatalf("%s after the request: %v", c.Name(), err)
			}
		}
	}
	if due := s.Due(facts.Now); len(due) > 0 {
		t.Fatalf("deadlines after the request: %v", due)
	}
	events, err := flow.Decide(s, flow.Cancel{Reason: "again"}, facts)
	if err != nil {
		t.Fatalf("a cancel after the request: %v", err)
	}
	for _, ev := range events {
		s = flow.Apply(s, ev)
	}
	live := slices.ContainsFunc(s.Nodes, func(n *flow.Node) bool { return !n.Status.Terminal() })
	if s.Status != flow.Canceled || s.CancelSeq != at || live {
		t.Fatalf("the cancel left %+v", s)
	}
}

func fold(log []flow.Event) flow.State {
	var s flow.State
	for _, ev := range log {
		s = flow.Apply(s, ev)
	}
	return s
}
