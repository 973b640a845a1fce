package engine_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// late are the late results of an execution.
func (r *rig) late(id flow.ID) []engine.LateResult {
	r.Helper()
	v, err := r.Execution(r.Context(), tenant, id, 0)
	if err != nil {
		r.Fatal(err)
	}
	return v.Late
}

func TestResultsThatComeTooLateAreKept(t *testing.T) {
	r := newRig(t)
	id := r.started("pair")
	r.must(r.to(id, flow.StartNode{Node: "a", Attempt: 1, Worker: "w"}))
	r.must(r.to(id, flow.Cancel{}))
	fail := &flow.Error{Code: "E", Message: "it broke"}
	results := r.send(
		r.to(id, flow.Succeed{Node: "a", Attempt: 1, Worker: "w", Output: flow.Data(`{"paid":true}`)}),
		r.to(id, flow.Fail{Node: "a", Attempt: 1, Error: fail}),
		r.to(id, flow.Succeed{Node: "b", Output: flow.Data(`{}`)}), // never ran
		r.to(id, flow.Progress{Node: "a"}),                         // no result
	)
	for i, want := range []bool{true, true, false, false} {
		if ans := results[i].Answer; ans.Refused == nil || ans.Late != want {
			t.Errorf("result %d: got %+v, want kept %v", i, ans, want)
		}
	}
	at := flow.At(r.clock.Now())
	want := []engine.LateResult{
		{
			Command: "SucceedNode", NodeID: "a", Attempt: 1, WorkerID: "w", At: at, Guard: flow.GuardCancelFence,
			Output: flow.Data(`{"paid":true}`),
		},
		{Command: "FailNode", NodeID: "a", Attempt: 1, At: at, Guard: flow.GuardCancelFence, Error: fail},
	}
	if diff := cmp.Diff(want, r.late(id)); diff != "" {
		t.Errorf("late results (-want +got):\n%s", diff)
	}
}

func TestOfALargeLateResultOnlyItsSizeIsKept(t *testing.T) {
	r := newRig(t)
	id := r.started("line")
	r.must(r.to(id, flow.StartNode{Node: "a", Attempt: 1}))
	r.must(r.to(id, flow.Cancel{}))
	fits := flow.Data(`"` + string(bytes.Repeat([]byte("x"), engine.MaxLateBytes-2)) + `"`)
	large := flow.Data(`"` + string(bytes.Repeat([]byte("x"), engine.MaxLateBytes-1)) + `"`)
	r.send(r.to(id, flow.Succeed{Node: "a", Output: fits}), r.to(id, flow.Succeed{Node: "a", Output: large}),
		r.to(id, flow.Fail{Node: "a", Error: &flow.Error{Detail: large}}))
	late := r.late(id)
	if len(late) != 3 || len(late[0].Output) != engine.MaxLateBytes || late[0].Size != 0 {
		t.Fatalf("got %d results, want three, the first in full", len(late))
	}
	if late[1].Output != nil || late[1].Size != len(large) || late[2].Error != nil || late[2].Size != len(large) {
		t.Errorf("got %d and %d bytes, want the sizes alone", late[1].Size, late[2].Size)
	}
}

func TestLateResultsHaveAnEnd(t *testing.T) {
	r := newRig(t)
	id := r.started("line")
	r.must(r.to(id, flow.StartNode{Node: "a", Attempt: 1}))
	r.must(r.to(id, flow.Cancel{}))
	for i := range engine.MaxLate + 5 {
		ans := r.send(r.to(id, flow.Succeed{Node: "a"}))[0].Answer
		if want := i < engine.MaxLate; ans.Late != want || ans.Refused == nil {
			t.Fatalf("result %d: got %+v, want kept %v", i, ans, want)
		}
	}
	if n := len(r.late(id)); n != engine.MaxLate {
		t.Errorf("got %d results, want %d", n, engine.MaxLate)
	}
	r.restart()
	if ans := r.send(r.to(id, flow.Succeed{Node: "a"}))[0].Answer; ans.Late {
		t.Error("another engine keeps more")
	}
}
