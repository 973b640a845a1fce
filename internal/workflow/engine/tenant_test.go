package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// neighbour is a tenant whose callers choose the same names, keys, workers and queues.
const neighbour = "zeta"

// twoTenants is a rig in which both tenants have the graph "line", each its own. With shared
// set, other processes work on the store too, and the engine remembers less.
func twoTenants(t *testing.T, shared bool) *rig {
	r := newRig(t)
	if shared {
		r.Engine = engine.New(r.mem, r.clock, engine.Config{})
	}
	g, err := flow.ParseGraph([]byte(taskQueue("z")), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.PutGraph(t.Context(), neighbour, "line", g); err != nil {
		t.Fatal(err)
	}
	return r
}

// bothWays runs a test on an engine that is alone and on one that is not.
func bothWays(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("exclusive", func(t *testing.T) { test(t, twoTenants(t, false)) })
	t.Run("shared", func(t *testing.T) { test(t, twoTenants(t, true)) })
}

func TestTenantsShareNoKeyOfACreation(t *testing.T) {
	bothWays(t, func(t *testing.T, r *rig) {
		mine := r.creation("line")
		theirs := mine
		theirs.Tenant = neighbour
		results := r.send(mine, theirs) // in one commit
		id, other := r.accepted(results[0]).Execution, r.accepted(results[1]).Execution
		if id == other || results[1].Answer.Replay {
			t.Errorf("got %v and %v, want two executions", results[0], results[1])
		}
		r.restart()
		if again := r.send(theirs)[0]; again.Answer.Execution != other { // from the store
			t.Errorf("got %+v, want the neighbour's own execution", again)
		}
		if again := r.send(mine)[0]; again.Answer.Execution != id {
			t.Errorf("got %+v, want the tenant's own execution", again)
		}
	})
}

func TestTenantsShareNoKeyOfAClaim(t *testing.T) {
	bothWays(t, func(t *testing.T, r *rig) {
		id := r.started("line")
		mine := r.claiming("w", 5, 0)
		theirs := mine
		theirs.Tenant = neighbour
		first, second := r.claim(mine), r.claim(theirs) // in one commit
		r.settle()
		r.tasks(first, id)
		r.tasks(second)
		for range 2 {
			later := r.claim(theirs) // the key is stored
			r.settle()
			r.tasks(later)
			if later.err != nil || later.Replay {
				t.Errorf("got %+v, want an answer of the neighbour's own", later)
			}
			r.restart()
		}
	})
}

// TestTenantsShareNoClaimUnderWay asks while the claim of the other tenant waits for tasks.
func TestTenantsShareNoClaimUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := twoTenants(t, false)
		mine := r.claiming("w", 5, time.Minute)
		theirs := mine
		theirs.Tenant, theirs.Wait = neighbour, time.Second
		claim := func(req engine.ClaimRequest) <-chan engine.Claimed {
			got := make(chan engine.Claimed, 1)
			go func() {
				out, err := r.Claim(t.Context(), req)
				if err != nil {
					t.Error(err)
				}
				got <- out
			}()
			synctest.Wait()
			return got
		}
		first, second := claim(mine), claim(theirs)
		id := r.started("line")
		if out := <-first; len(out.Tasks) != 1 || out.Tasks[0].Execution != id {
			t.Errorf("got %+v, want the task", out)
		}
		r.clock.Move(2 * time.Second)
		time.Sleep(2 * time.Second)
		r.settle()
		if out := <-second; len(out.Tasks) > 0 || out.Replay {
			t.Errorf("got %+v, want nothing: the tasks are another tenant's", out)
		}
	})
}

func TestTenantsShareNoGraph(t *testing.T) {
	bothWays(t, func(t *testing.T, r *rig) {
		theirs := r.creation("line")
		theirs.Tenant = neighbour
		for range 2 { // the second time from memory
			results := r.send(r.creation("line"), theirs)
			r.node(r.accepted(results[0]).Execution, "a", flow.NodeIsCreated)
			v, err := r.Execution(t.Context(), neighbour, r.accepted(results[1]).Execution, 0)
			if err != nil {
				t.Fatal(err)
			}
			if n, _ := v.State.Find("z"); n == nil {
				t.Errorf("got %+v, want the graph of the neighbour", v.State.Nodes)
			}
			theirs = r.creation("line")
			theirs.Tenant = neighbour
		}
	})
}

// TestAnExecutionIsNotFoundByAnotherTenant asks before its tenant does, after it, and in
// the same commit.
func TestAnExecutionIsNotFoundByAnotherTenant(t *testing.T) {
	bothWays(t, func(t *testing.T, r *rig) {
		id := r.started("line")
		for _, cached := range []bool{true, false} {
			if !cached {
				r.restart()
			}
			theirs := r.to(id, flow.StartNode{Node: "a"})
			theirs.Tenant = neighbour
			mine := r.to(id, flow.Progress{Node: "a"})
			results := r.send(theirs, mine, theirs)
			r.kind(results[0].Err, fault.NotFound, "EXECUTION_NOT_FOUND")
			r.kind(results[2].Err, fault.NotFound, "EXECUTION_NOT_FOUND")
			if results[1].Err != nil {
				t.Errorf("cached %t: the tenant itself: %v", cached, results[1].Err)
			}
		}
		r.node(id, "a", flow.NodeIsReady)
		held := []engine.TaskRef{{Execution: id, Node: "a", Attempt: 1}}
		r.must(r.to(id, flow.StartNode{Node: "a", Attempt: 1, Worker: "w"}))
		if lost, err := r.Lost(t.Context(), tenant, held); err != nil || len(lost) > 0 {
			t.Errorf("got %v %v, want a task that is held", lost, err)
		}
		if lost, err := r.Lost(t.Context(), neighbour, held); err != nil || len(lost) != 1 || lost[0].Found {
			t.Errorf("the neighbour: got %+v %v, want a task that is unknown", lost, err)
		}
	})
}

// TestTheNewestGraphIsTheOneThatWasPutLast creates executions before and after a new version.
func TestTheNewestGraphIsTheOneThatWasPutLast(t *testing.T) {
	bothWays(t, func(t *testing.T, r *rig) {
		for version, tasks := range [][]string{{"a", "b", "c"}, {"x"}, {"y"}} {
			r.graph("line", taskQueue(tasks...))
			for range 2 { // the second time from memory
				if s := r.state(r.must(r.creation("line")).Execution); s.GraphVersion != version+1 {
					t.Errorf("got version %d of the graph, want %d", s.GraphVersion, version+1)
				}
			}
		}
	})
}
