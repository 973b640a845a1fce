package flow

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Decisions at random: the walker checks everything after each. A run that did
// not see every event was too weak to prove anything.
func TestDecisionsKeepWhatMustAlwaysHold(t *testing.T) {
	seen := map[Type]int{}
	rapid.Check(t, func(t *rapid.T) {
		for _, ev := range drawLog(t) {
			seen[ev.Type]++
		}
	})
	for _, typ := range Types() {
		if seen[typ] == 0 {
			t.Errorf("no %s was seen", typ)
		}
	}
}

// EVT-3: no order of the events changes a cancelled outcome.
func TestNoOrderChangesACancel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.Permutation(withCancel(drawLog(t))).Draw(t, "order")
		var s State
		canceled := false
		for i, ev := range log {
			s = Apply(s, ev)
			canceled = canceled || ev.Type == ExecutionCanceledType
			if canceled && s.Status != Canceled {
				t.Fatalf("after event %d (%s) the execution is %s", i, ev.Type, s.Status)
			}
		}
		if s.Status != Canceled {
			t.Fatalf("the execution is %s", s.Status)
		}
		if s.Result.Size != 0 || s.Error != nil || s.FailedNode != "" {
			t.Fatalf("a cancelled execution has a result or an error: %+v", s)
		}
	})
}

// EVT-3: after a cancel request no event makes an execution COMPLETED or FAILED.
func TestARequestBlocksEveryOtherEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := slices.DeleteFunc(withCancel(drawLog(t)),
			func(ev Event) bool { return ev.Type == ExecutionCanceledType })
		log = rapid.Permutation(log).Draw(t, "order")
		var s State
		for i, ev := range log {
			before, requested := s.Status, s.CancelRequestedAt != 0
			s = Apply(s, ev)
			if requested && s.Status != before {
				t.Fatalf("event %d (%s) after the request made the execution %s", i, ev.Type, s.Status)
			}
			if ev.Type == ExecutionCancelRequestedType && s.CancelRequestedAt == 0 {
				t.Fatal("the request is not noted")
			}
		}
	})
}

// withCancel makes sure that a log holds a cancel, and the ends that it must win over.
func withCancel(log []Event) []Event {
	at := Event{Execution: log[0].Execution, At: scriptZero, Actor: Actor{Kind: KindSystem}}
	for _, p := range []Payload{
		&ExecutionCancelRequested{}, &ExecutionCanceled{}, &ExecutionCompleted{Result: Data(`{"a":1}`)},
		&ExecutionFailed{FailedNodeID: "a", Error: &Error{Code: "E"}},
	} {
		if slices.ContainsFunc(log, func(ev Event) bool { return ev.Type == p.Type() }) {
			continue
		}
		at.Seq, at.ID, at.Type, at.Payload = uint64(len(log)+1), testID(9, len(log)), p.Type(), p
		log = append(slices.Clip(log), at)
	}
	return log
}

// A snapshot anywhere in a log, written and read, gives the same end.
func TestASnapshotAnywhereGivesTheSameState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		cut := rapid.IntRange(0, len(log)).Draw(t, "cut")
		s := fold(log[:cut])
		text := encode(t, &s)
		again, err := ParseState(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), string(encode(t, &again))); diff != "" {
			t.Fatalf("the snapshot is not what was written:\n%s", diff)
		}
		clone := s.Clone()
		for _, ev := range log[cut:] {
			again, clone = Apply(again, ev), Apply(clone, ev)
		}
		if string(encode(t, &s)) != string(text) {
			t.Fatal("a clone is not a state of its own")
		}
		whole := fold(log)
		want := string(encode(t, &whole))
		if diff := cmp.Diff(want, string(encode(t, &again))); diff != "" {
			t.Fatalf("from the snapshot (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, string(encode(t, &clone))); diff != "" {
			t.Fatalf("from the clone (-want +got):\n%s", diff)
		}
	})
}

// A node is found by its name in any order and number of nodes.
func TestNodesAreFound(t *testing.T) {
	for _, count := range []int{1, indexFrom - 1, indexFrom, indexFrom + 1, 200} {
		var s State
		for i := range count {
			s = Apply(s, Event{Seq: uint64(i + 1), Payload: &NodeCreated{
				NodeID:   string(rune('A' + i)),
				NodeType: TaskKind,
			}})
		}
		for i := range count {
			if n, at := s.Find(string(rune('A' + i))); n == nil || at != i || n != s.Nodes[i] {
				t.Fatalf("of %d nodes, number %d is found at %d", count, i, at)
			}
		}
		if n, at := s.Find("?"); n != nil || at != -1 {
			t.Fatalf("of %d nodes, one that does not exist is found at %d", count, at)
		}
	}
}

// The guards of section 3 of the event document, one by one, in the reducer.
func TestApplyHoldsEveryGuardByItself(t *testing.T) {
	created := &NodeCreated{NodeID: "a", NodeType: TaskKind}
	ready, started := &NodeReady{NodeID: "a", Attempt: 1}, &NodeStarted{NodeID: "a", Attempt: 1}
	waiting, resumed := &NodeWaiting{NodeID: "a"}, &NodeResumed{NodeID: "a"}
	succeeded, failed := &NodeSucceeded{NodeID: "a", Output: Data(`{"x":1}`)}, &NodeFailed{NodeID: "a"}
	canceled := &NodeCanceled{NodeID: "a", Reason: "r"}
	request, cancel := &ExecutionCancelRequested{}, &ExecutionCanceled{}
	complete, fail := &ExecutionCompleted{}, &ExecutionFailed{}
	for _, c := range []struct {
		name   string
		events []Payload
		status Status
		node   NodeStatus
	}{
		{"ready on a completed execution", []Payload{created, complete, ready}, Completed, NodeIsCreated},
		{"ready after a request", []Payload{created, request, ready}, Active, NodeIsReady},
		{"ready on a cancelled execution", []Payload{created, cancel, ready}, Canceled, NodeIsCreated},
		{"started after a request", []Payload{created, ready, request, started}, Active, NodeIsReady},
		{"started after a cancel", []Payload{created, ready, cancel, started}, Canceled, NodeIsReady},
		{
			"an older attempt started",
			[]Payload{created, &NodeStarted{NodeID: "a", Attempt: 2}, waiting, started},
			Active, NodeIsWaiting,
		},
		{"resumed while running", []Payload{created, started, resumed}, Active, NodeIsRunning},
		{"resumed while ready", []Payload{created, ready, resumed}, Active, NodeIsReady},
		{"resumed while waiting", []Payload{created, started, waiting, resumed}, Active, NodeIsRunning},
		{
			"resume requested is a request only",
			[]Payload{created, waiting, &NodeResumeRequested{NodeID: "a"}},
			Active,
			NodeIsWaiting,
		},
		{
			"succeeded after a request",
			[]Payload{created, started, request, succeeded, complete},
			Active,
			NodeIsSucceeded,
		},
		{"failed after a request", []Payload{created, started, request, failed, fail}, Active, NodeIsFailed},
		{"completed after a cancel", []Payload{created, cancel, complete}, Canceled, NodeIsCreated},
		{"cancelled after completed", []Payload{created, complete, cancel}, Canceled, NodeIsCreated},
		{"failed after completed", []Payload{created, complete, fail}, Completed, NodeIsCreated},
		{"completed after failed", []Payload{created, fail, complete}, Failed, NodeIsCreated},
		{"requested after completed", []Payload{created, complete, request}, Completed, NodeIsCreated},
		{"node cancelled after it succeeded", []Payload{created, succeeded, canceled}, Active, NodeIsCanceled},
		{"node succeeded after it was cancelled", []Payload{created, canceled, succeeded}, Active, NodeIsCanceled},
		{"node failed after it succeeded", []Payload{created, succeeded, failed}, Active, NodeIsSucceeded},
		{"node succeeded after it failed", []Payload{created, failed, succeeded}, Active, NodeIsFailed},
		{"ready after it succeeded", []Payload{created, succeeded, ready, started, waiting}, Active, NodeIsSucceeded},
		{"a passable gate after a request", []Payload{
			created, request, &JoinGateUpdated{NodeID: "a", Passable: true},
			complete,
		}, Active, NodeIsCreated},
		{"a node before its creation", []Payload{started, created}, Active, NodeIsRunning},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s State
			for i, p := range c.events {
				s = Apply(s, Event{ID: testID(1, i), Seq: uint64(i + 1), Type: p.Type(), At: scriptZero, Payload: p})
			}
			n, _ := s.Find("a")
			if s.Status != c.status || n.Status != c.node || n.Kind != TaskKind {
				t.Errorf("got %s and a %s %s, want %s and %s", s.Status, n.Kind, n.Status, c.status, c.node)
			}
			if n.Status == NodeIsCanceled && (n.Output.Size != 0 || n.Reason != "r") {
				t.Errorf("a cancelled node: %+v", n)
			}
		})
	}
}
