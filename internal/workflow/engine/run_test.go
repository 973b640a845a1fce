package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/sim"
)

// wall is the clock of the bubble that a test runs in.
type wall struct{}

func (wall) Now() time.Time { return time.Now() }

// running lets fn use an engine that runs, in a bubble whose time passes when
// everybody waits. stop ends the engine.
func running(t *testing.T, fn func(r *rig, stop func())) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, mem: sim.NewMemory(), keys: 1}
		r.Engine = engine.New(r.mem, wall{}, engine.Config{Exclusive: true})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			if err := r.Engine.Run(ctx); err != nil {
				t.Error(err)
			}
			close(ended)
		}()
		stop := func() {
			cancel()
			<-ended
		}
		defer stop()
		r.graph("line", taskQueue("a", "b"))
		r.graph("pair", pair())
		fn(r, stop)
	})
}

// submit decides one request that has to be accepted.
func (r *rig) submit(req engine.Request) engine.Answer {
	r.Helper()
	return r.accepted(r.Submit(r.Context(), []engine.Request{req})[0])
}

// ready is a new execution, started.
func (r *rig) ready(graph string) flow.ID {
	r.Helper()
	id := r.submit(r.creation(graph)).Execution
	r.submit(r.to(id, flow.Start{}))
	return id
}

// answer is what somebody got who called Claim.
type answer struct {
	engine.Claimed
	err error
	at  time.Time
}

// ask calls Claim in a goroutine.
func (r *rig) ask(ctx context.Context, req engine.ClaimRequest) <-chan answer {
	ch := make(chan answer, 1)
	go func() {
		out, err := r.Claim(ctx, req)
		ch <- answer{out, err, time.Now()}
	}()
	synctest.Wait()
	return ch
}

func TestAClaimWaitsAsLongAsItSays(t *testing.T) {
	running(t, func(r *rig, _ func()) {
		begin := time.Now()
		got := <-r.ask(r.Context(), r.claiming("w", 1, 7*time.Second))
		if got.err != nil || len(got.Tasks) > 0 || got.at.Sub(begin) != 7*time.Second {
			r.Errorf("got %d tasks, %v after %v", len(got.Tasks), got.err, got.at.Sub(begin))
		}
		ch := r.ask(r.Context(), r.claiming("w", 1, 7*time.Second))
		id := r.ready("line")
		if got := <-ch; len(got.Tasks) != 1 || got.Tasks[0].Execution != id {
			r.Errorf("got %+v, want the task that became ready", got)
		}
	})
}

// holdCommits makes commits wait, once they are written, until the channel is
// closed; err is what becomes of them then.
func (r *rig) holdCommits(err error) chan struct{} {
	hold := make(chan struct{})
	r.mem.Interfere(func(p sim.Point, _ *engine.Batch) error {
		if p == sim.BeforeApply {
			<-hold
			return err
		}
		return nil
	})
	return hold
}

func TestAClaimWhoseCommitFailsAtItsEndStillEnds(t *testing.T) {
	running(t, func(r *rig, _ func()) {
		id := r.submit(r.creation("line")).Execution
		ch := r.ask(r.Context(), r.claiming("w", 1, time.Second))
		hold := r.holdCommits(errDown)
		results := make(chan engine.Result, 1)
		r.Offer([]engine.Request{r.to(id, flow.Start{})}, func(got []engine.Result) { results <- got[0] })
		time.Sleep(2 * time.Second) // the claim's time is up while a commit serves it
		close(hold)
		if got := <-ch; got.err != nil || len(got.Tasks) > 0 {
			r.Errorf("got %+v, want nothing", got)
		}
		r.kind((<-results).Err, fault.Unavailable, "STORAGE_FULL")
	})
}

func TestTheSameClaimTwiceIsOne(t *testing.T) {
	running(t, func(r *rig, _ func()) {
		req := r.claiming("w", 1, time.Minute)
		first, second := r.ask(r.Context(), req), r.ask(r.Context(), req)
		other := req
		other.Idempotency = r.keyOf(req.Idempotency.Key, req.Idempotency.Endpoint, 2)
		third := <-r.ask(r.Context(), other)
		r.kind(third.err, fault.Conflict, "IDEMPOTENCY_CONFLICT")
		id := r.ready("line")
		r.ready("line")
		a, b := <-first, <-second
		if a.err != nil || len(a.Tasks) != 1 || a.Tasks[0].Execution != id || a.Replay {
			r.Errorf("first: got %+v", a)
		}
		if diff := cmp.Diff(a.Tasks, b.Tasks); diff != "" || !b.Replay || b.err != nil {
			r.Errorf("second: replay %v, %v, tasks (-first +second):\n%s", b.Replay, b.err, diff)
		}
	})
}

func TestTheSecondOfTwoEqualClaimsGoesOnWhenTheFirstLeaves(t *testing.T) {
	running(t, func(r *rig, _ func()) {
		req := r.claiming("w", 1, time.Minute)
		ctx, leave := context.WithCancel(r.Context())
		first, second := r.ask(ctx, req), r.ask(r.Context(), req)
		leave()
		r.kind((<-first).err, fault.Unavailable, "TIMEOUT")
		synctest.Wait()
		id := r.ready("line")
		if got := <-second; got.err != nil || len(got.Tasks) != 1 || got.Tasks[0].Execution != id {
			r.Errorf("got %+v, want the task", got)
		}
	})
}

func TestClaimsWithoutAKeyAreNotTheSame(t *testing.T) {
	running(t, func(r *rig, _ func()) {
		one, two := r.claiming("w1", 1, time.Minute), r.claiming("w2", 1, time.Minute)
		one.Idempotency.Key, two.Idempotency.Key = "", ""
		first, second := r.ask(r.Context(), one), r.ask(r.Context(), two)
		a, b := r.ready("line"), r.ready("line")
		if got := <-first; len(got.Tasks) != 1 || got.Tasks[0].Execution != a {
			r.Errorf("first: got %+v", got)
		}
		if got := <-second; len(got.Tasks) != 1 || got.Tasks[0].Execution != b {
			r.Errorf("second: got %+v", got)
		}
	})
}

func TestDrainAnswersThoseWhoWait(t *testing.T) {
	running(t, func(r *rig, _ func()) {
		ch := r.ask(r.Context(), r.claiming("w", 1, time.Hour))
		begin := time.Now()
		r.Drain()
		if got := <-ch; got.err != nil || len(got.Tasks) > 0 || got.at != begin {
			r.Errorf("got %+v, want nothing, at once", got)
		}
		if got := <-r.ask(r.Context(), r.claiming("w", 1, time.Hour)); len(got.Tasks) > 0 || got.at != begin {
			r.Errorf("got %+v, want no wait any more", got)
		}
		id := r.ready("line") // commands are still taken
		if got := <-r.ask(r.Context(), r.claiming("w", 1, time.Hour)); len(got.Tasks) != 1 {
			r.Errorf("got %+v, want what is ready", got)
		}
		r.submit(r.to(id, flow.Succeed{Node: "a", Worker: "w"}))
	})
}

func TestRunEndsWhenEverybodyIsAnswered(t *testing.T) {
	running(t, func(r *rig, stop func()) {
		id := r.ready("line")
		waiting := r.ask(r.Context(), r.claiming("w", 1, 0))
		<-waiting
		waiting = r.ask(r.Context(), r.claiming("w", 1, time.Hour))
		var taken []engine.Result
		r.Offer([]engine.Request{r.to(id, flow.Progress{Node: "a"})}, func(got []engine.Result) { taken = got })
		stop()
		if len(taken) != 1 {
			r.Fatal("what was taken was not answered")
		}
		r.accepted(taken[0])
		if got := <-waiting; got.err != nil || len(got.Tasks) > 0 {
			r.Errorf("got %+v, want nothing", got)
		}
		for _, cmd := range []flow.Command{flow.Progress{Node: "a"}, flow.Cancel{}} {
			res := r.Submit(r.Context(), []engine.Request{r.to(id, cmd)})
			r.kind(res[0].Err, fault.Unavailable, "SHUTTING_DOWN")
		}
		_, err := r.Do(r.Context(), engine.Unit{})
		r.kind(err, fault.Unavailable, "SHUTTING_DOWN")
		_, err = r.Claim(r.Context(), r.claiming("w", 1, time.Hour))
		r.kind(err, fault.Unavailable, "SHUTTING_DOWN")
	})
}

func TestDeadlinesFireByThemselves(t *testing.T) {
	running(t, func(r *rig, _ func()) {
		id := r.ready("pair")
		time.Sleep(123 * time.Millisecond) // not when the loop wakes anyway
		r.submit(r.to(id, flow.StartNode{Node: "a", Attempt: 1}))
		r.submit(r.to(id, flow.Fail{Node: "a"}))
		begin := time.Now()
		if got := <-r.ask(r.Context(), r.claiming("w", 1, time.Minute)); len(got.Tasks) != 1 ||
			got.at.Sub(begin) != 10*time.Second {
			r.Errorf("got %+v after %v, want the retry after ten seconds", got, got.at.Sub(begin))
		}
	})
}

func TestADeadlineSoonerThanTheLoopSleepsFiresInTime(t *testing.T) {
	running(t, func(r *rig, _ func()) {
		r.graph("short", `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"wait","type":"Wait","timeout":"20ms"},
			{"nodeId":"end","type":"Success"}],"edges":[{"from":"start","to":"wait"},{"from":"wait","to":"end"}]}`)
		id := r.submit(r.creation("short")).Execution
		time.Sleep(time.Second)
		synctest.Wait()
		r.submit(r.to(id, flow.Start{}))
		wake, stop := r.Watch(id)
		defer stop()
		begin := time.Now()
		<-wake
		if took := time.Since(begin); took != 20*time.Millisecond {
			r.Errorf("the timeout of 20ms came after %v", took)
		}
	})
}

func TestACallerThatLeavesDoesNotTakeItsCommandAlong(t *testing.T) {
	running(t, func(r *rig, _ func()) {
		id := r.submit(r.creation("line")).Execution
		hold := r.holdCommits(nil)
		r.offer(r.to(id, flow.Progress{Node: "a"})) // keeps the loop busy
		synctest.Wait()
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		start := r.to(id, flow.Start{})
		r.kind(r.Submit(ctx, []engine.Request{start})[0].Err, fault.Unavailable, "TIMEOUT")
		_, err := r.Do(ctx, engine.Unit{Commands: []engine.Request{start}})
		r.kind(err, fault.Unavailable, "TIMEOUT")
		close(hold)
		if ans := r.submit(start); !ans.Replay {
			r.Errorf("got %+v, want the outcome of the first", ans)
		}
	})
}

func TestWatchWakesWhenEventsCome(t *testing.T) {
	running(t, func(r *rig, _ func()) {
		id, other := r.submit(r.creation("line")).Execution, r.submit(r.creation("line")).Execution
		wake, stop := r.Watch(id)
		r.submit(r.to(other, flow.Start{}))
		select {
		case <-wake:
			r.Error("woken by another execution")
		default:
		}
		start := r.to(id, flow.Start{})
		r.submit(start)
		<-wake
		r.submit(start)
		select {
		case <-wake:
			r.Error("woken by an answer from memory")
		default:
		}
		stop()
		stop()
		r.submit(r.to(id, flow.Cancel{}))
		select {
		case <-wake:
			r.Error("woken after it stopped")
		default:
		}
	})
}
