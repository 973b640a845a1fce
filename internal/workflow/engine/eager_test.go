package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// eager is a creation that claims.
func (r *rig) eager(graph string, most int, queues ...string) engine.Request {
	r.Helper()
	req := r.creation(graph)
	req.Start, req.Claim = true, &engine.Eager{Worker: "w", Queues: queues, Max: most, Lease: 30}
	return req
}

func TestACreationThatClaimsIsOneCommit(t *testing.T) {
	r := newRig(t)
	before := r.Metrics().Commits
	ans := r.must(r.eager("line", 1, "q"))
	if got := r.Metrics().Commits - before; got != 1 {
		t.Errorf("got %d commits, want 1", got)
	}
	want := []engine.Task{{
		Execution: ans.Execution, Node: "a", Attempt: 1, GraphID: "line", Queue: "q", Corr: ans.CorrelationID,
		Input:      flow.Data(`{"n":1}`),
		LeaseUntil: flow.At(r.clock.Now()).Add(30 * time.Second),
	}}
	if diff := cmp.Diff(want, ans.Tasks); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
	next := r.must(r.to(ans.Execution, flow.Succeed{Node: "a", Attempt: 1, Worker: "w", Next: true}))
	if next.Task == nil || next.Task.Node != "b" {
		t.Errorf("got %+v, want the next task", next.Task)
	}
}

func TestACreationTakesItsTasksAheadOfThoseWhoWait(t *testing.T) {
	r := newRig(t)
	waits := r.claiming("v", 9, time.Minute)
	waits.Queues = []string{"q", "other"}
	c := r.claim(waits)
	r.settle()
	ans := r.must(r.eager("pair", 9, "q"))
	if len(ans.Tasks) != 1 || ans.Tasks[0].Node != "a" {
		t.Errorf("got %+v, want a", ans.Tasks)
	}
	r.tasks(c, ans.Execution) // the other one
	if len(c.Tasks) == 1 && c.Tasks[0].Node != "b" {
		t.Errorf("the claim got %s, want b", c.Tasks[0].Node)
	}
}

func TestTasksOfACreationHaveALeaseThatRunsOut(t *testing.T) {
	r := newRig(t)
	id := r.must(r.eager("pair", 1, "q")).Execution
	r.clock.Move(31 * time.Second)
	r.settle()
	r.node(id, "a", flow.NodeIsCreated) // it waits for its second attempt
	r.clock.Move(10 * time.Second)
	r.settle()
	c := r.claim(r.claiming("v", 1, 0))
	r.settle()
	r.tasks(c, id)
}

func TestACreationIsAnsweredAlikeAfterARestart(t *testing.T) {
	r := newRig(t)
	reqs := []engine.Request{r.eager("line", 1, "q"), r.eager("line", 1, "elsewhere")}
	var first []engine.Answer
	for _, res := range r.send(reqs...) {
		first = append(first, r.accepted(res))
	}
	if len(first[0].Tasks) != 1 || first[1].Tasks == nil || len(first[1].Tasks) != 0 {
		t.Fatalf("got %+v and %+v, want one task and none", first[0].Tasks, first[1].Tasks)
	}
	r.must(r.to(first[0].Execution, flow.Cancel{}))
	r.restart()
	for i, res := range r.send(reqs...) {
		got := r.accepted(res)
		first[i].Replay = true
		if diff := cmp.Diff(first[i], got); diff != "" {
			t.Errorf("answer %d (-first +second):\n%s", i, diff)
		}
	}
}

func TestACommitThatIsFullLeavesTheTasksOfACreationReady(t *testing.T) {
	r := newRig(t)
	const each = 100
	r.graph("wide", fork(each))
	var reqs []engine.Request
	for range engine.MaxBatch/each + 1 {
		reqs = append(reqs, r.eager("wide", each, "q"))
	}
	started := 0
	for _, res := range r.send(reqs...) {
		started += len(r.accepted(res).Tasks)
	}
	if started != engine.MaxBatch {
		t.Errorf("%d tasks were started, want %d", started, engine.MaxBatch)
	}
	c := r.claim(r.claiming("v", each, 0))
	r.settle()
	if len(c.Tasks) != each {
		t.Errorf("%d tasks were left, want %d", len(c.Tasks), each)
	}
}

func TestAUnitThatFailsTakesItsClaimBack(t *testing.T) {
	r := newRig(t)
	req := r.eager("line", 1, "q")
	var failure error
	r.OfferUnit(engine.Unit{Commands: []engine.Request{req}, After: func(context.Context, *sqldb.Tx,
		[]engine.Result,
	) error {
		return fault.New(fault.Conflict, "NO", "no")
	}}, func(_ []engine.Result, err error) { failure = err })
	r.settle()
	r.kind(failure, fault.Conflict, "NO")
	c := r.claim(r.claiming("v", 1, 0))
	r.settle()
	r.tasks(c)
	if ans := r.must(req); ans.Replay || len(ans.Tasks) != 1 {
		t.Errorf("got %+v, want a first answer", ans)
	}
}

func TestACreationThatClaimsIsDoneOnceInAllProcesses(t *testing.T) {
	processes(t, silent, func(a, b process) {
		req := a.eager("line", 1, "q")
		first := a.accepted(a.Submit(req)[0])
		again := b.accepted(b.Submit(req)[0])
		if !again.Replay || len(first.Tasks) != 1 {
			t.Fatalf("got %+v after %+v", again, first)
		}
		again.Replay = false
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("answer (-first +second):\n%s", diff)
		}
	})
}
