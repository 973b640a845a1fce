package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// equal asks that a second answer is the first one, from memory.
func (r *rig) equal(first, second engine.Result) {
	r.Helper()
	if !second.Answer.Replay || second.Err != nil {
		r.Errorf("got %+v, want an answer from memory", second)
	}
	second.Answer.Replay = first.Answer.Replay
	if diff := cmp.Diff(first, second); diff != "" {
		r.Errorf("answer from memory (-first +second):\n%s", diff)
	}
}

func TestAKeyGivesItsAnswerAgain(t *testing.T) {
	r := newRig(t)
	create := r.creation("line")
	created := r.send(create)[0]
	id := created.Answer.Execution
	reqs := []engine.Request{
		create,
		r.to(id, flow.Start{}),
		r.to(id, flow.Start{}), // refused
		r.to(id, flow.StartNode{Node: "a", Attempt: 1, Worker: "w"}),
		r.to(id, flow.Progress{Node: "a"}),
		r.to(id, flow.Succeed{Node: "a", Output: flow.Data(`{"n":1}`), Next: true}),
		r.to(id, flow.Cancel{Reason: "enough"}),
		r.to(id, flow.Cancel{Reason: "once more"}),                      // changes nothing
		r.to(id, flow.Succeed{Node: "b", Output: flow.Data(`{"n":2}`)}), // refused, late
		r.to(id, flow.Archive{}),
	}
	first := []engine.Result{created}
	first = append(first, r.send(reqs[1:]...)...)
	if task := first[5].Answer.Task; task == nil || task.Node != "b" || string(task.Outputs["a"]) != `{"n":1}` {
		t.Errorf("next: got %+v, want task b with the output of a", task)
	}
	if first[2].Answer.Refused == nil || !first[8].Answer.Late || first[6].Answer.CancelSeq == 0 {
		t.Fatalf("got %+v", first)
	}
	if !first[6].Answer.Changed || first[7].Answer.Changed || first[7].Answer.CancelSeq != first[6].Answer.CancelSeq {
		t.Errorf("two cancels: got %+v and %+v, want that the first changed something", first[6].Answer,
			first[7].Answer)
	}
	for i, res := range r.send(reqs...) {
		r.equal(first[i], res)
	}
	r.restart()
	for i, req := range reqs {
		r.equal(first[i], r.send(req)[0])
	}
}

func TestAKeyInOneCommitDecidesOnce(t *testing.T) {
	r := newRig(t)
	create := r.creation("line")
	results := r.send(create, create)
	r.equal(results[0], results[1])
	start := r.to(results[0].Answer.Execution, flow.Start{})
	a, b := r.offer(start), r.offer(start)
	r.settle()
	r.equal((*a)[0], (*b)[0])
}

func TestAKeyWithAnotherBodySaysHowTheyDiffer(t *testing.T) {
	r := newRig(t)
	create := r.creation("line")
	id := r.must(create).Execution
	start := r.to(id, flow.Start{})
	r.must(start)
	at := flow.At(r.clock.Now())
	r.clock.Move(time.Minute)
	for name, req := range map[string]engine.Request{"of an execution": start, "of no execution": create} {
		t.Run(name, func(t *testing.T) {
			req.Idempotency = r.keyOf(req.Idempotency.Key, req.Idempotency.Endpoint, 2)
			f := r.kind(r.send(req)[0].Err, fault.Conflict, "IDEMPOTENCY_CONFLICT")
			want := map[string]any{
				"differs": []string{"n"}, "firstUsedAt": at, "expiresAt": at.Add(30 * 24 * time.Hour),
			}
			if diff := cmp.Diff(want, f.Details); diff != "" {
				t.Errorf("details (-want +got):\n%s", diff)
			}
		})
	}
	if s := r.state(id); s.Seq != 5+1+3 {
		t.Errorf("got %d events, want those of the first requests", s.Seq)
	}
}

func TestAKeyBelongsToItsCommandAndNode(t *testing.T) {
	r := newRig(t)
	id := r.started("pair")
	one := r.to(id, flow.StartNode{Node: "a", Attempt: 1})
	other := r.to(id, flow.StartNode{Node: "b", Attempt: 1})
	progress := r.to(id, flow.Progress{Node: "a"})
	other.Idempotency, progress.Idempotency = one.Idempotency, one.Idempotency
	for _, res := range r.send(one, other, progress) {
		if r.accepted(res).Replay {
			t.Errorf("got %+v, want three commands", res)
		}
	}
	r.node(id, "b", flow.NodeIsRunning)
}

func TestAKeyExpires(t *testing.T) {
	r := newRig(t)
	create := r.creation("line")
	id := r.must(create).Execution
	start := r.to(id, flow.Start{})
	r.must(start)
	r.clock.Move(30*24*time.Hour - time.Millisecond)
	for _, res := range r.send(create, start) {
		if !res.Answer.Replay {
			t.Errorf("got %+v, want an answer from memory", res)
		}
	}
	r.clock.Move(time.Millisecond)
	results := r.send(create, start)
	if ans := r.accepted(results[0]); ans.Replay || ans.Execution == id {
		t.Errorf("got %+v, want another execution", ans)
	}
	if ans := results[1].Answer; ans.Replay || ans.Refused == nil {
		t.Errorf("got %+v, want a new decision: refused", ans)
	}
	if res := r.send(start); !res[0].Answer.Replay || res[0].Answer.Refused == nil {
		t.Errorf("got %+v, want the newer answer", res)
	}
}

func TestWhatDoesNotExistIsNotRemembered(t *testing.T) {
	r := newRig(t)
	create := r.creation("later")
	r.kind(r.send(create)[0].Err, fault.NotFound, "GRAPH_NOT_FOUND")
	r.graph("later", taskQueue("a"))
	if r.must(create).Replay {
		t.Error("got a replay of what was not done")
	}
	id := r.started("line")
	r.kind(r.send(r.to(id, flow.Progress{Node: "x"}))[0].Err, fault.NotFound, "NODE_NOT_FOUND")
	stranger := r.to(id, flow.Cancel{})
	stranger.Tenant = "zeta"
	r.kind(r.send(stranger)[0].Err, fault.NotFound, "EXECUTION_NOT_FOUND")
}

func TestCommandsWithoutAKeyAreNotRemembered(t *testing.T) {
	r := newRig(t)
	create := r.creation("line")
	create.Idempotency.Key = ""
	a, b := r.must(create), r.must(create)
	if a.Execution == b.Execution || b.Replay {
		t.Errorf("got %v and %v, want two executions", a, b)
	}
	start := r.to(a.Execution, flow.Start{})
	start.Idempotency.Key = ""
	r.must(start)
	if ans := r.send(start)[0].Answer; ans.Replay || ans.Refused == nil {
		t.Errorf("got %+v, want a refusal", ans)
	}
}

// blind is a store in which a commit does not see, a number of times, what others
// remember at the same moment.
type blind struct {
	engine.Store
	times, commits int
}

func (b *blind) Commit(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	b.commits++
	return b.Store.Commit(ctx, func(ctx context.Context, tx engine.Tx) error { return fn(ctx, blindTx{tx, b}) })
}

type blindTx struct {
	engine.Tx
	store *blind
}

func (t blindTx) Keys(ctx context.Context, refs []engine.KeyRef) ([]*engine.KeyRow, error) {
	if t.store.times--; t.store.times >= 0 {
		return make([]*engine.KeyRow, len(refs)), nil
	}
	return t.Tx.Keys(ctx, refs)
}

func TestAKeyThatAnotherProcessUsedMeanwhileIsSeenTheSecondTime(t *testing.T) {
	for name, tt := range map[string]struct{ times, commits int }{
		"once":     {1, 2},
		"twice":    {2, 5}, // then each alone
		"for ever": {100, 5},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			req := r.creation("line")
			first := r.must(req).Execution
			store := &blind{Store: r.mem, times: tt.times}
			r.Engine = engine.New(store, r.clock, engine.Config{})
			results := r.send(r.creation("line"), req, r.creation("line"))
			r.accepted(results[0])
			r.accepted(results[2])
			if tt.times < 10 {
				if ans := r.accepted(results[1]); !ans.Replay || ans.Execution != first {
					t.Errorf("got %+v", ans)
				}
			} else {
				r.kind(results[1].Err, fault.Unavailable, "STORAGE_BUSY")
			}
			if store.commits != tt.commits {
				t.Errorf("%d commits, want %d", store.commits, tt.commits)
			}
		})
	}
}

// TestASnapshotKeepsKeysForTheirTime has a snapshot taken in the last millisecond of a key:
// an engine that begins with it still knows the key, and not a millisecond later.
func TestASnapshotKeepsKeysForTheirTime(t *testing.T) {
	r := newRig(t)
	id := r.must(r.creation("line")).Execution
	start := r.to(id, flow.Start{})
	r.must(start)
	r.must(r.to(id, flow.StartNode{Node: "a", Attempt: 1, Worker: "w"}))
	r.clock.Move(30*24*time.Hour - time.Millisecond)
	for range 20 { // more than a snapshot is taken for
		r.must(r.to(id, flow.Progress{Node: "a", Message: strings.Repeat("x", 4000)}))
	}
	if r.snapshots(id) == 0 {
		t.Fatal("no snapshot was taken: the test says nothing")
	}
	r.restart()
	if res := r.send(start)[0]; !res.Answer.Replay {
		t.Errorf("in its last millisecond: got %+v, want an answer from memory", res)
	}
	r.clock.Move(time.Millisecond)
	if res := r.send(start)[0]; res.Answer.Replay || res.Answer.Refused == nil {
		t.Errorf("after its time: got %+v, want a new decision: refused", res)
	}
}

// snapshots counts those of an execution.
func (r *rig) snapshots(id flow.ID) (n int) {
	r.Helper()
	err := r.mem.Commit(r.Context(), func(ctx context.Context, tx engine.Tx) error {
		all, err := tx.Fetch(ctx, []engine.Want{{Tenant: tenant, ID: id}})
		for i := range all {
			for k := range all[i].Rows {
				if all[i].Rows[k].Snapshot != nil {
					n++
				}
			}
		}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return n
}
