package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// conditional is a graph with a Task and n different conditions on the ways out of it, all false but the last.
func conditional(n int) string {
	var edges strings.Builder
	for i := range n {
		fmt.Fprintf(&edges, `{"from":"work","to":"end","when":"size(input) > 1000 + %d"},`, i)
	}
	return `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"work","type":"Task","queue":"q","timeout":"1h"},
		{"nodeId":"end","type":"Success"}],"edges":[{"from":"start","to":"work"},` + edges.String() +
		`{"from":"work","to":"end"}]}`
}

// cold is a rig with a started execution of a large graph, which its engine has not compiled.
func cold(t *testing.T) (*rig, flow.ID) {
	r := newRig(t)
	r.graph("large", conditional(600))
	id := r.started("large")
	r.restart()
	return r, id
}

// loop runs the engine until the test ends.
func (r *rig) loop(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Engine.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestALargeGraphIsNotCompiledInACommit(t *testing.T) {
	r, id := cold(t)
	for _, res := range r.send(r.to(id, flow.StartNode{Node: "work", Attempt: 1}), r.to(id, flow.Cancel{})) {
		r.kind(res.Err, fault.Unavailable, "OVERLOADED")
	}
	if s := r.state(id); s.Status != flow.Active {
		t.Errorf("the execution is %v, want that nothing was done", s.Status)
	}
}

func TestCommandsOnALargeGraphStayInTheirOrder(t *testing.T) {
	r, id := cold(t)
	r.loop(t)
	for _, res := range r.Submit(t.Context(), []engine.Request{
		r.to(id, flow.StartNode{Node: "work", Attempt: 1, Worker: "w"}), r.to(id, flow.Succeed{
			Node: "work", Attempt: 1,
			Worker: "w",
		}),
	}) {
		r.accepted(res)
	}
	if s := r.state(id); s.Status != flow.Completed {
		t.Errorf("the execution is %v", s.Status)
	}
}

func TestAUnitOnALargeGraphIsDone(t *testing.T) {
	r, id := cold(t)
	r.loop(t)
	results, err := r.Do(t.Context(), engine.Unit{Commands: []engine.Request{r.to(id, flow.Cancel{})}})
	if err != nil {
		t.Fatal(err)
	}
	r.accepted(results[0])
}

func TestAClaimWaitsForALargeGraph(t *testing.T) {
	r, id := cold(t)
	r.loop(t)
	got, err := r.Claim(t.Context(), r.claiming("w", 1, time.Minute))
	if err != nil || len(got.Tasks) != 1 || got.Tasks[0].Execution != id {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestADeadlineOfALargeGraphFires(t *testing.T) {
	r := newRig(t)
	r.graph("large", conditional(600))
	id := r.started("large")
	r.must(r.to(id, flow.StartNode{Node: "work", Attempt: 1, Worker: "w"}))
	r.restart()
	r.clock.Move(2 * time.Hour)
	for deadline := time.Now().Add(30 * time.Second); r.state(id).Status != flow.Failed; {
		if time.Now().After(deadline) {
			t.Fatal("it did not fire")
		}
		r.clock.Move(time.Second)
		r.settle()
		time.Sleep(time.Millisecond)
	}
}

func TestWhoCannotWaitForALargeGraphIsToldToRepeat(t *testing.T) {
	r, id := cold(t)
	r.loop(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	cancel()
	res := r.Submit(ctx, []engine.Request{r.to(id, flow.Cancel{})})[0]
	if f, ok := fault.As(res.Err); !ok || f.Kind != fault.Unavailable {
		t.Errorf("got %+v, %v", res.Answer, res.Err)
	}
}
