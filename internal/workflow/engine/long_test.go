package engine_test

import (
	"strings"
	"sync"
	"testing"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// long is a rig with an execution whose log is long and not in memory.
func long(t *testing.T) (*rig, flow.ID) {
	r := newRig(t)
	r.graph("wide", fork(2_000))
	id := r.started("wide")
	r.restart()
	r.graph("wide", fork(2_000)) // it is compiled with that
	return r, id
}

func TestALongExecutionIsNotReadInACommit(t *testing.T) {
	r, id := long(t)
	other := r.creation("line")
	results := r.send(other, r.to(id, flow.StartNode{Node: "n0", Attempt: 1}), r.to(id, flow.Cancel{}))
	r.accepted(results[0])
	for _, res := range results[1:] {
		r.kind(res.Err, fault.Unavailable, "OVERLOADED")
		if !strings.Contains(res.Err.Error(), "execution is large") {
			t.Errorf("got %v", res.Err)
		}
	}
	if s := r.state(id); s.Status != flow.Active {
		t.Errorf("the execution is %v, want that nothing was done", s.Status)
	}
}

func TestCommandsOnALongExecutionStayInTheirOrder(t *testing.T) {
	r, id := long(t)
	r.loop(t)
	for _, res := range r.Submit(t.Context(), []engine.Request{
		r.to(id, flow.StartNode{Node: "n0", Attempt: 1, Worker: "w"}),
		r.to(id, flow.Succeed{Node: "n0", Attempt: 1, Worker: "w"}),
		r.to(id, flow.Cancel{}),
	}) {
		r.accepted(res)
	}
	if s := r.state(id); s.Status != flow.Canceled {
		t.Errorf("the execution is %v", s.Status)
	}
}

// TestManyCommandsOnALongExecution lets callers meet who all find it unread, while others of them push it out of
// the cache.
func TestManyCommandsOnALongExecution(t *testing.T) {
	r, id := long(t)
	second := r.started("wide")
	r.Engine = engine.New(r.mem, r.clock, engine.Config{Exclusive: true, CacheBytes: 1 << 20})
	r.graph("wide", fork(2_000))
	r.loop(t)
	var reqs []engine.Request
	for i := range 20 {
		node := []string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"}[i/2]
		reqs = append(reqs, r.to([]flow.ID{id, second}[i%2], flow.StartNode{Node: node, Attempt: 1, Worker: "w"}))
	}
	var all sync.WaitGroup
	for i := range reqs {
		all.Go(func() {
			if res := r.Submit(t.Context(), reqs[i:i+1])[0]; res.Err != nil || res.Answer.Refused != nil {
				t.Errorf("command %d: %v, %v", i, res.Answer.Refused, res.Err)
			}
		})
	}
	all.Wait()
	for _, x := range []flow.ID{id, second} {
		for _, node := range []string{"n0", "n9"} {
			r.node(x, node, flow.NodeIsRunning)
		}
	}
	if rep, err := r.Verify(t.Context(), nil); err != nil || len(rep.Problems) > 0 {
		t.Errorf("verify: %+v, %v", rep.Problems, err)
	}
}

// Whoever has no caller that could read it finds it all the same.
func TestAClaimOfALongExecutionIsServed(t *testing.T) {
	r, id := long(t)
	r.loop(t)
	got, err := r.Claim(t.Context(), r.claiming("w", 1, 0))
	if err != nil || len(got.Tasks) != 1 || got.Tasks[0].Execution != id {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestTwoProcessesWriteToALongExecution in turn: each finds that the other has moved it on.
func TestTwoProcessesWriteToALongExecution(t *testing.T) {
	processes(t, silent, func(a, b process) {
		g, err := flow.ParseGraph([]byte(fork(2_000)), false)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.PutGraph(t.Context(), tenant, "wide", g); err != nil {
			t.Fatal(err)
		}
		id := a.accepted(a.Submit(a.creation("wide"))[0]).Execution
		a.accepted(a.Submit(a.to(id, flow.Start{}))[0])
		for _, node := range []string{"n0", "n1", "n2", "n3"} {
			for _, p := range []process{b, a} {
				var cmd flow.Command = flow.StartNode{Node: node, Attempt: 1, Worker: "w"}
				if p == a {
					cmd = flow.Succeed{Node: node, Attempt: 1, Worker: "w"}
				}
				p.accepted(p.Submit(p.to(id, cmd))[0])
			}
		}
		if rep, err := a.Shards.Verify(t.Context(), nil); err != nil || len(rep.Problems) > 0 {
			t.Errorf("verify: %+v, %v", rep.Problems, err)
		}
	})
}
