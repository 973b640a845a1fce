package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

func TestClaimsGetTheOldestTasks(t *testing.T) {
	r := newRig(t)
	var ids []flow.ID
	for range 4 {
		ids = append(ids, r.started("line"))
		r.clock.Move(time.Millisecond)
	}
	first := r.claim(r.claiming("w1", 2, 0))
	second := r.claim(r.claiming("w2", 5, 0))
	third := r.claim(r.claiming("w3", 1, 0))
	r.settle()
	r.tasks(first, ids[:2]...)
	r.tasks(second, ids[2:]...)
	r.tasks(third)
	s := r.state(ids[0])
	want := engine.Task{
		Execution: ids[0], Node: "a", Attempt: 1, GraphID: "line", Queue: "q", Corr: s.CorrelationID,
		Input:      flow.Data(`{"n":1}`),
		LeaseUntil: flow.At(r.clock.Now()).Add(30 * time.Second),
	}
	if diff := cmp.Diff(want, first.Tasks[0]); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
	if n, _ := s.Find("a"); n.Worker != "w1" || n.LeaseUntil != want.LeaseUntil {
		t.Errorf("got %+v, want a lease of w1", n)
	}
}

func TestClaimsSeeTheirQueuesAndTenantAlone(t *testing.T) {
	r := newRig(t)
	id := r.started("pair")
	stranger := r.claiming("w", 9, 0)
	stranger.Tenant = "zeta"
	none := r.claiming("w", 9, 0)
	none.Queues = []string{"empty"}
	both := r.claiming("w", 9, 0)
	both.Queues = []string{"other", "q"}
	a, b, c := r.claim(stranger), r.claim(none), r.claim(both)
	r.settle()
	r.tasks(a)
	r.tasks(b)
	r.tasks(c, id, id)
	if c.Tasks[0].Node != "b" || c.Tasks[1].Node != "a" {
		t.Errorf("got %s then %s, want the queues in the order asked for", c.Tasks[0].Node, c.Tasks[1].Node)
	}
}

func TestClaimsThatWaitAreServedInTheirOrder(t *testing.T) {
	r := newRig(t)
	a, b, c := r.claim(r.claiming("w1", 1, time.Minute)), r.claim(r.claiming("w2", 2, time.Minute)),
		r.claim(r.claiming("w3", 1, time.Minute))
	r.settle()
	var ids []flow.ID
	for range 3 {
		ids = append(ids, r.must(r.creation("line")).Execution)
	}
	r.send(r.to(ids[0], flow.Start{}), r.to(ids[1], flow.Start{}), r.to(ids[2], flow.Start{}))
	r.tasks(a, ids[0])
	r.tasks(b, ids[1], ids[2])
	if c.answered {
		t.Errorf("got %v, want the third to wait on", c.Tasks)
	}
	last := r.started("line")
	r.tasks(c, last)
}

func TestAClaimThatLeftGetsNothing(t *testing.T) {
	r := newRig(t)
	gone, next := r.claim(r.claiming("w1", 1, time.Minute)), r.claim(r.claiming("w2", 1, time.Minute))
	r.settle()
	early := r.claim(r.claiming("w3", 1, time.Minute))
	if !gone.withdraw() || !early.withdraw() || gone.withdraw() {
		t.Fatal("a claim that waits can leave, once")
	}
	id := r.started("line")
	r.tasks(next, id)
	if gone.answered || early.answered {
		t.Error("a claim that left was answered")
	}
	if next.withdraw() {
		t.Error("a claim that was answered left")
	}
}

func TestAClaimIsReplayed(t *testing.T) {
	r := newRig(t)
	id := r.started("line")
	r.must(r.to(id, flow.StartNode{Node: "a", Attempt: 1}))
	r.must(r.to(id, flow.Succeed{Node: "a", Output: flow.Data(`{"n":7}`)}))
	other := r.started("line")
	req := r.claiming("w", 5, 0)
	first := r.claim(req)
	r.settle()
	r.tasks(first, id, other)
	r.must(r.to(id, flow.Progress{Node: "b", Worker: "w"})) // renews the lease
	r.must(r.to(other, flow.Cancel{}))
	r.restart()
	second := r.claim(req)
	r.settle()
	if diff := cmp.Diff(first.Tasks, second.Tasks); diff != "" || !second.Replay {
		t.Errorf("replay %v, tasks (-first +second):\n%s", second.Replay, diff)
	}
	if string(second.Tasks[0].Outputs["a"]) != `{"n":7}` {
		t.Errorf("got outputs %s", second.Tasks[0].Outputs)
	}
	req.Idempotency = r.keyOf(req.Idempotency.Key, req.Idempotency.Endpoint, 2)
	conflict := r.claim(req)
	r.settle()
	f := r.kind(conflict.err, fault.Conflict, "IDEMPOTENCY_CONFLICT")
	if differs := f.Details.(map[string]any)["differs"]; !cmp.Equal(differs, []string{"n"}) {
		t.Errorf("got %v, want n to differ", differs)
	}
}

// A server with too much to do comes to a claim later than its caller wanted to wait.
func TestAClaimIsReplayedHoweverLateItsTurnComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		id := r.started("line")
		req := r.claiming("w", 5, time.Second)
		first := r.claim(req)
		r.settle()
		r.tasks(first, id)
		again := make(chan engine.Claimed, 1)
		go func() {
			out, err := r.Claim(t.Context(), req)
			if err != nil {
				t.Error(err)
			}
			again <- out
		}()
		time.Sleep(5 * time.Second)
		r.settle()
		if out := <-again; !cmp.Equal(out.Tasks, first.Tasks) {
			t.Errorf("got %v, want %v", out.Tasks, first.Tasks)
		}
	})
}

func TestAClaimThatGotNothingIsNotRemembered(t *testing.T) {
	r := newRig(t)
	req := r.claiming("w", 1, 0)
	c := r.claim(req)
	r.settle()
	r.tasks(c)
	id := r.started("line")
	c = r.claim(req)
	r.settle()
	r.tasks(c, id)
	if c.Replay {
		t.Error("got a replay of nothing")
	}
}

func TestAClaimThatDoesNotWantToWaitDoesNot(t *testing.T) {
	r := newRig(t)
	c := r.claim(r.claiming("w", 1, 0))
	r.clock.Move(-time.Hour)
	r.settle()
	r.tasks(c)
}

func TestAClaimOfTheCommitThatMakesATaskReadyGetsIt(t *testing.T) {
	r := newRig(t)
	id := r.must(r.creation("line")).Execution
	r.settle()
	r.offer(r.to(id, flow.Start{}))
	c := r.claim(r.claiming("w", 1, 0))
	r.settle()
	r.tasks(c, id)
	if n := r.state(id); n.Nodes[2].Status != flow.NodeIsRunning {
		t.Errorf("got %v", n.Nodes[2].Status)
	}
}

// TestMoreTasksThanAWindowHolds takes them in one commit, where what was taken
// still has its rows.
func TestMoreTasksThanAWindowHolds(t *testing.T) {
	r := newRig(t)
	const n = 2*engine.MaxWindow + 100
	var reqs []engine.Request
	for range n {
		reqs = append(reqs, r.creation("line"))
	}
	var starts []engine.Request
	for _, res := range r.send(reqs...) {
		starts = append(starts, r.to(res.Answer.Execution, flow.Start{}))
	}
	r.send(starts...)
	r.restart()
	got := map[flow.ID]bool{}
	var claims []*claimed
	for range n / 64 {
		claims = append(claims, r.claim(r.claiming("w", 64, 0)))
	}
	claims = append(claims, r.claim(r.claiming("w", 64, 0)))
	r.settle()
	for _, c := range claims {
		for _, task := range c.Tasks {
			got[task.Execution] = true
		}
	}
	if len(got) != n {
		t.Errorf("got %d tasks, want %d", len(got), n)
	}
}

func TestATaskBelongsToOneClaim(t *testing.T) {
	r := newRig(t)
	id := r.started("line")
	a, b := r.claim(r.claiming("w1", 1, 0)), r.claim(r.claiming("w2", 1, 0))
	r.settle()
	r.tasks(a, id)
	r.tasks(b)
	late := r.send(r.to(id, flow.Succeed{Node: "a", Attempt: 1, Worker: "w2"}))[0].Answer
	if late.Refused == nil || late.Refused.Guard != flow.GuardWorker {
		t.Errorf("got %+v, want a refusal: the lease is another's", late)
	}
}

func TestALeaseThatRunsOutGivesTheTaskToAnother(t *testing.T) {
	r := newRig(t)
	id := r.started("pair")
	a := r.claim(r.claiming("w1", 1, 0))
	r.settle()
	r.tasks(a, id)
	b := r.claim(r.claiming("w2", 1, time.Hour))
	r.clock.Move(30*time.Second - time.Millisecond)
	r.settle()
	r.node(id, "a", flow.NodeIsRunning)
	r.clock.Move(time.Millisecond)
	r.settle()
	r.node(id, "a", flow.NodeIsCreated) // until the retry
	r.clock.Move(10 * time.Second)
	r.settle()
	r.tasks(b, id)
	if b.Tasks[0].Attempt != 2 {
		t.Errorf("got attempt %d, want 2", b.Tasks[0].Attempt)
	}
	old := r.send(r.to(id, flow.Succeed{Node: "a", Attempt: 1, Worker: "w1"}))[0].Answer
	if old.Refused == nil || old.Refused.Guard != flow.GuardAttempt || !old.Late {
		t.Errorf("got %+v, want the old attempt refused and kept", old)
	}
}

func TestProgressKeepsALease(t *testing.T) {
	r := newRig(t)
	id := r.started("line")
	r.claim(r.claiming("w", 1, 0))
	r.settle()
	for range 5 {
		r.clock.Move(20 * time.Second)
		r.settle()
		r.must(r.to(id, flow.Progress{Node: "a", Attempt: 1, Worker: "w"}))
	}
	r.clock.Move(30 * time.Second)
	r.settle()
	if s := r.state(id); s.Status != flow.Failed {
		t.Errorf("got %v, want the execution failed by the lease", s.Status)
	}
}

// TestClaimsDoNotMakeACommitOfAnySize lets many workers ask at once for a backlog:
// one commit starts so many tasks, the next one goes on.
func TestClaimsDoNotMakeACommitOfAnySize(t *testing.T) {
	r := newRig(t)
	const each, workers = 100, 12
	r.graph("wide", fork(each))
	for range workers {
		r.started("wide")
	}
	var claims []*claimed
	for range workers {
		claims = append(claims, r.claim(r.claiming("w", each, 0)))
	}
	r.Step(t.Context())
	for i, c := range claims {
		if c.answered != (i < engine.MaxBatch/each) {
			t.Errorf("claim %d: answered %v by the first commit", i, c.answered)
		}
	}
	r.settle()
	for i, c := range claims {
		if !c.answered || len(c.Tasks) != each {
			t.Errorf("claim %d: answered %v with %d tasks, want %d", i, c.answered, len(c.Tasks), each)
		}
	}
}

// TestClaimsDoNotMakeAnAnswerOfAnySize claims tasks with much data, those that are
// ready and those that become so while the claims wait.
func TestClaimsDoNotMakeAnAnswerOfAnySize(t *testing.T) {
	r := newRig(t)
	input := flow.Data(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	const fit, all = 16, 20
	create := func() (starts []engine.Request) {
		for range all {
			req := r.creation("line")
			req.Command = flow.Create{Input: input}
			starts = append(starts, r.to(r.must(req).Execution, flow.Start{}))
		}
		return starts
	}
	check := func(c *claimed, want int) {
		t.Helper()
		if !c.answered || len(c.Tasks) != want {
			t.Errorf("answered %v with %d tasks, want %d", c.answered, len(c.Tasks), want)
		}
	}
	r.send(create()...)
	first, second := r.claim(r.claiming("w", 100, 0)), r.claim(r.claiming("w", 100, 0))
	r.settle()
	check(first, fit)
	check(second, all-fit)

	first, second = r.claim(r.claiming("w", 100, time.Minute)), r.claim(r.claiming("w", 100, time.Minute))
	r.settle()
	r.send(create()...)
	check(first, fit)
	check(second, all-fit)
}

func TestAClaimThatLookedInVainKeepsItsPlace(t *testing.T) {
	r := newRig(t)
	other := r.Engine
	r.Engine = engine.New(r.mem, r.clock, engine.Config{}) // other processes make tasks ready too
	var claims []*claimed
	for _, worker := range []string{"w1", "w2", "w3"} {
		claims = append(claims, r.claim(r.claiming(worker, 1, time.Minute)))
		r.clock.Move(time.Millisecond)
		r.settle()
	}
	for range 4 { // the first looks now and then
		r.clock.Move(time.Second)
		r.settle()
	}
	for i := range claims {
		here := r.Engine
		r.Engine = other
		id := r.started("line")
		r.Engine = here
		r.clock.Move(time.Second)
		r.settle()
		r.tasks(claims[i], id)
	}
}

// countingTx counts which executions are read.
type countingTx struct {
	engine.Tx
	read map[int64]int
}

func (t countingTx) Fetch(ctx context.Context, want []engine.Want) ([]engine.History, error) {
	for _, w := range want {
		t.read[w.Num]++
	}
	return t.Tx.Fetch(ctx, want)
}

type countingStore struct {
	engine.Store
	read map[int64]int
}

func (s countingStore) Commit(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	return s.Store.Commit(ctx, func(ctx context.Context, tx engine.Tx) error { return fn(ctx, countingTx{tx, s.read}) })
}

// TestAClaimReadsAnExecutionOnce claims many tasks of one execution that no cache has.
func TestAClaimReadsAnExecutionOnce(t *testing.T) {
	r := newRig(t)
	r.graph("wide", fork(100))
	r.must(r.to(r.must(r.creation("wide")).Execution, flow.Start{}))
	store := countingStore{r.mem, map[int64]int{}}
	r.Engine = engine.New(store, r.clock, engine.Config{Exclusive: true})
	c := r.claim(r.claiming("w", 100, 0))
	r.settle()
	if len(c.Tasks) != 100 {
		t.Fatalf("got %d tasks", len(c.Tasks))
	}
	for num, n := range store.read {
		if n != 1 {
			t.Errorf("execution %d was read %d times", num, n)
		}
	}
}
