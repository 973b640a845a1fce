package engine_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/sim"
)

// counted counts the executions that are read whole.
type counted struct {
	*sim.Memory
	read int
}

func (c *counted) History(ctx context.Context, tenant string, id flow.ID, upTo uint64) (engine.History, error) {
	c.read++
	return c.Memory.History(ctx, tenant, id, upTo)
}

func TestLostTasksAreThoseThatTheirAttemptDoesNotHold(t *testing.T) {
	r := newRig(t)
	store := &counted{Memory: r.mem}
	r.Engine = engine.New(store, r.clock, engine.Config{Exclusive: true})
	line, pair := r.started("line"), r.started("pair")
	ref := func(id flow.ID, node string, attempt int) engine.TaskRef {
		return engine.TaskRef{Execution: id, Node: node, Attempt: attempt}
	}
	// lost asks, and demands how many executions were read for the answer.
	lost := func(tenant string, read int, tasks ...engine.TaskRef) []engine.LostTask {
		t.Helper()
		before := store.read
		got, err := r.Lost(t.Context(), tenant, tasks)
		if err != nil {
			t.Fatal(err)
		}
		if store.read-before != read {
			t.Errorf("%d executions were read, want %d", store.read-before, read)
		}
		return got
	}
	is := func(got []engine.LostTask, want ...engine.LostTask) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the lost tasks differ (-want +got):\n%s", diff)
		}
	}
	found := func(task engine.TaskRef, status flow.NodeStatus) engine.LostTask {
		return engine.LostTask{TaskRef: task, Found: true, Status: status}
	}
	both := []engine.TaskRef{ref(line, "a", 1), ref(pair, "a", 1)}
	is(lost(tenant, 2, both...), found(both[0], flow.NodeIsReady), found(both[1], flow.NodeIsReady))
	r.must(r.to(line, flow.StartNode{Node: "a", Attempt: 1}))
	r.must(r.to(pair, flow.StartNode{Node: "a", Attempt: 1}))
	is(lost(tenant, 2, both...))
	is(lost(tenant, 0, both...)) // nothing has moved
	is(lost(tenant, 0, both[1]))
	r.must(r.to(line, flow.Progress{Node: "a"}))
	is(lost(tenant, 1, both...))
	is(lost(tenant, 0, both...))
	is(lost(tenant, 1, ref(line, "a", 2)), found(ref(line, "a", 2), flow.NodeIsRunning))
	r.must(r.to(line, flow.Wait{Node: "a"}))
	is(lost(tenant, 1, both...))
	// Of other tenants' executions, and of what does not exist, nothing is known, ever.
	is(lost("other", 1, both[1]), engine.LostTask{TaskRef: both[1]})
	is(lost("other", 1, both[1]), engine.LostTask{TaskRef: both[1]})
	is(lost(tenant, 1, ref(pair, "nowhere", 1)), engine.LostTask{TaskRef: ref(pair, "nowhere", 1)})
	is(lost(tenant, 1, ref(flow.ID{1}, "a", 1)), engine.LostTask{TaskRef: ref(flow.ID{1}, "a", 1)})
	r.must(r.to(line, flow.Cancel{}))
	is(lost(tenant, 1, both...), found(both[0], flow.NodeIsCanceled))
	r.must(r.to(pair, flow.Fail{Node: "a", Attempt: 1}))
	is(lost(tenant, 1, both[1]), found(both[1], flow.NodeIsCreated)) // until its next attempt
}
