package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/sim"
)

const shards = 3

// process is one of several that share a store.
type process struct {
	*engine.Shards
	*rig
}

// processes lets fn use two processes on one store, in a bubble. What the first
// announces reaches the second through tell.
func processes(t *testing.T, tell func(b *engine.Shards) func(tenant, queue string, n int), fn func(a, b process)) {
	synctest.Test(t, func(t *testing.T) {
		mem := sim.NewMemory()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{}, 2)
		start := func(keys int, announce func(string, string, int)) process {
			p := process{rig: &rig{T: t, mem: mem, keys: keys}}
			p.Shards = engine.NewShards(mem, wall{}, engine.Config{Announce: announce}, shards)
			go func() {
				if err := p.Run(ctx); err != nil {
					t.Error(err)
				}
				ended <- struct{}{}
			}()
			return p
		}
		b := start(5000, nil)
		a := start(1, tell(b.Shards))
		defer func() {
			cancel()
			<-ended
			<-ended
		}()
		g, err := flow.ParseGraph([]byte(taskQueue("a", "b")), false)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.PutGraph(ctx, tenant, "line", g); err != nil {
			t.Fatal(err)
		}
		fn(a, b)
	})
}

func silent(*engine.Shards) func(string, string, int) { return nil }
func loud(b *engine.Shards) func(string, string, int) { return b.WakeClaims }
func (p process) Submit(reqs ...engine.Request) []engine.Result {
	return p.Shards.Submit(p.T.Context(), reqs)
}

// begin creates and starts executions in one call.
func (p process) begin(n int) []flow.ID {
	p.Helper()
	reqs := make([]engine.Request, n)
	for i := range reqs {
		reqs[i] = p.creation("line")
		reqs[i].Start = true
	}
	ids := make([]flow.ID, n)
	for i, res := range p.Submit(reqs...) {
		ids[i] = p.accepted(res).Execution
	}
	return ids
}

func (p process) asks(queue string, most int) <-chan answer {
	p.keys++
	ch := make(chan answer, 1)
	go func() {
		got, err := p.Shards.Claim(p.T.Context(), engine.ClaimRequest{
			Tenant: tenant, Worker: "w", Queues: []string{queue}, Max: most, Wait: 20 * time.Second, Lease: 60,
			Idempotency: p.keyOf("claim-"+string(rune('a'+p.keys%26)), "POST /tasks/claim", p.keys),
		})
		ch <- answer{got, err, time.Now()}
	}()
	synctest.Wait()
	return ch
}

func TestShardsShareTheExecutionsAndAnswerInOrder(t *testing.T) {
	processes(t, silent, func(a, b process) {
		ids := a.begin(60)
		perShard := map[byte]int{}
		for _, id := range ids {
			perShard[id[15]%shards]++
		}
		if len(perShard) != shards {
			t.Errorf("executions per shard: %v", perShard)
		}
		reqs := make([]engine.Request, 0, 2*len(ids))
		for _, id := range ids {
			reqs = append(reqs, b.to(id, flow.StartNode{Node: "a", Attempt: 1}), b.to(id, flow.Succeed{Node: "a"}))
		}
		for i, res := range b.Submit(reqs...) {
			if ans := b.accepted(res); ans.Execution != ids[i/2] || ans.Key != reqs[i].Idempotency.Key {
				t.Fatalf("answer %d is %+v", i, ans)
			}
		}
		for i, res := range a.Submit(reqs...) {
			if !a.accepted(res).Replay {
				t.Fatalf("answer %d of the repetition at the other process: %+v", i, res)
			}
		}
		rep, err := a.Verify(t.Context(), nil)
		if err != nil || len(rep.Problems) > 0 || rep.Executions != len(ids) {
			t.Errorf("verify: %+v, %v", rep, err)
		}
	})
}

func TestAKeyCreatesOnceInAllProcesses(t *testing.T) {
	processes(t, silent, func(a, b process) {
		req := a.creation("line")
		got := make(chan engine.Result, 20)
		for i := range cap(got) {
			p := a
			if i%2 == 1 {
				p = b
			}
			go func() { got <- p.Submit(req)[0] }()
		}
		first := a.accepted(<-got).Execution
		for range cap(got) - 1 {
			if id := a.accepted(<-got).Execution; id != first {
				t.Errorf("one key created %v and %v", first, id)
			}
		}
	})
}

func TestAClaimThatWaitsIsServedWhicheverShardMakesTheTaskReady(t *testing.T) {
	processes(t, silent, func(a, _ process) {
		began := time.Now()
		answers := make([]<-chan answer, 12)
		for i := range answers {
			answers[i] = a.asks("q", 1)
		}
		a.begin(len(answers))
		for i, ch := range answers {
			if got := <-ch; got.err != nil || len(got.Tasks) != 1 || got.at.Sub(began) >= 100*time.Millisecond {
				t.Errorf("claim %d after %v: %+v", i, got.at.Sub(began), got)
			}
		}
	})
}

func TestAClaimInAnotherProcessIsServedSoonWithoutAWakeup(t *testing.T) {
	processes(t, silent, func(a, b process) {
		first, second := b.asks("q", 5), b.asks("q", 5)
		began := time.Now()
		a.begin(6)
		x, y := <-first, <-second
		if x.err != nil || y.err != nil || len(x.Tasks)+len(y.Tasks) != 6 {
			t.Fatalf("claims got %+v and %+v", x, y)
		}
		if took := max(x.at.Sub(began), y.at.Sub(began)); took > 1100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

func TestAClaimInAnotherProcessIsServedAtOnceWithAWakeup(t *testing.T) {
	processes(t, loud, func(a, b process) {
		first := b.asks("q", 5)
		began := time.Now()
		a.begin(3)
		n := 0
		for n < 3 {
			got := <-first
			if got.err != nil || got.at.Sub(began) >= 100*time.Millisecond {
				t.Fatalf("after %v: %+v", got.at.Sub(began), got)
			}
			if n += len(got.Tasks); n < 3 { // a shard of a was faster than the others
				first = b.asks("q", 5)
			}
		}
	})
}

// TestAClaimThatAnotherProcessServedIsAnsweredAlike repeats a claim at the process
// that had it first and found nothing, after another one has served it.
func TestAClaimThatAnotherProcessServedIsAnsweredAlike(t *testing.T) {
	processes(t, silent, func(a, b process) {
		req := a.claiming("w", 1, 300*time.Millisecond)
		ask := func(p process) <-chan answer {
			ch := make(chan answer, 1)
			go func() {
				got, err := p.Shards.Claim(p.T.Context(), req)
				ch <- answer{got, err, time.Now()}
			}()
			synctest.Wait()
			return ch
		}
		first := ask(b)
		time.Sleep(100 * time.Millisecond)
		id := a.begin(1)[0]
		if got := <-ask(a); got.err != nil || len(got.Tasks) != 1 || got.Tasks[0].Execution != id {
			t.Fatalf("the second process gives %+v", got)
		}
		time.Sleep(100 * time.Millisecond)
		again := ask(b) // while the first still waits there
		if got := <-first; got.err != nil || len(got.Tasks) > 0 {
			t.Fatalf("the first process gives %+v", got)
		}
		if got := <-again; got.err != nil || !got.Replay || len(got.Tasks) != 1 || got.Tasks[0].Execution != id {
			t.Errorf("the repetition gives %+v", got)
		}
	})
}

func TestWatchersOfOneProcessAreWokenByAnother(t *testing.T) {
	processes(t, silent, func(a, b process) {
		id := a.begin(1)[0]
		wake, stop := b.Watch(id)
		defer stop()
		time.Sleep(2 * time.Second) // the first look finds what is there
		select {
		case <-wake:
		default:
		}
		began := time.Now()
		a.Submit(a.to(id, flow.Cancel{}))
		<-wake
		if took := time.Since(began); took > 600*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

// TestDeadlinesOfOneShardDoNotHideThoseOfAnother has more executions of one shard
// that cannot be handled than a sweep looks at.
func TestDeadlinesOfOneShardDoNotHideThoseOfAnother(t *testing.T) {
	processes(t, silent, func(a, _ process) {
		var mu sync.Mutex
		sick := map[int64]bool{} // the executions of the first shard
		a.mem.Interfere(func(_ sim.Point, b *engine.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			for i := 0; b != nil && i < len(b.Create); i++ {
				sick[b.Create[i].Num] = b.Create[i].ID[15]%shards == 0
			}
			return nil
		})
		var first, second []engine.Request
		ids := a.begin(1800)
		for _, id := range ids {
			start := a.to(id, flow.StartNode{Node: "a", Attempt: 1, Worker: "w", Lease: 60})
			if id[15]%shards == 0 {
				first = append(first, start)
			} else {
				second = append(second, start)
			}
		}
		if len(first) <= 500 {
			t.Fatalf("only %d executions in the first shard", len(first))
		}
		a.Submit(first...)
		time.Sleep(time.Second)
		a.Submit(second...)
		a.mem.Interfere(func(p sim.Point, b *engine.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			for i := 0; p == sim.MidWrite && i < len(b.Log); i++ {
				if sick[b.Log[i].Execution] {
					return errBroken
				}
			}
			return nil
		})
		time.Sleep(65 * time.Second)
		for _, id := range ids {
			v, err := a.Execution(t.Context(), tenant, id, 0)
			if err != nil {
				t.Fatal(err)
			}
			n, _ := v.State.Find("a")
			if held := n.Status == flow.NodeIsRunning; held != (id[15]%shards == 0) {
				t.Fatalf("a task of shard %d is %v after its lease", id[15]%shards, n.Status)
			}
		}
		a.mem.Interfere(nil)
	})
}

// TestACostlyTenantIsServedApart lets one tenant run the widest executions beside another:
// what it asks for is decided by the spare engine, all of it and once.
func TestACostlyTenantIsServedApart(t *testing.T) {
	processes(t, silent, func(a, _ process) {
		const other, wide = "other", 3000
		t := a.T // of the bubble
		g, err := flow.ParseGraph([]byte(fork(wide)), false)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.PutGraph(t.Context(), other, "wide", g); err != nil {
			t.Fatal(err)
		}
		costly := func() flow.ID {
			req := a.creation("wide")
			req.Tenant, req.Start = other, true
			return a.accepted(a.Submit(req)[0]).Execution
		}
		claim := func(wait time.Duration) engine.Claimed {
			got, err := a.Shards.Claim(t.Context(), engine.ClaimRequest{
				Tenant: other, Worker: "w", Queues: []string{"none", "q"}, Max: 1000, Wait: wait, Lease: 1,
			})
			if err != nil {
				t.Error(err)
			}
			return got
		}
		waits := make(chan engine.Claimed, 1)
		go func() { waits <- claim(time.Minute) }()
		synctest.Wait()
		first := costly()
		a.begin(1)
		before := a.Spare().Metrics().Commits
		second := costly()
		if a.Spare().Metrics().Commits == before {
			t.Error("the spare engine did nothing for the costly tenant")
		}
		if got := len((<-waits).Tasks) + len(claim(0).Tasks); got != 2000 {
			t.Errorf("the claims got %d tasks", got)
		}
		apart := a.Spare().Metrics().Commands
		a.begin(1)
		if got := a.Spare().Metrics().Commands; got != apart {
			t.Errorf("the spare engine decided %d commands of the other tenant", got-apart)
		}
		cancel := a.to(second, flow.Cancel{Reason: "enough"})
		cancel.Tenant = other
		a.accepted(a.Submit(cancel)[0])
		time.Sleep(5 * time.Second) // the leases end, and with them the first
		view, err := a.Execution(t.Context(), other, first, 0)
		if err != nil || view.State.Status != flow.Failed {
			t.Errorf("the execution whose leases ended is %v: %v", view.State.Status, err)
		}
		rep, err := a.Verify(t.Context(), nil)
		if err != nil || len(rep.Problems) > 0 {
			t.Errorf("verify: %+v, %v", rep, err)
		}
	})
}

// fork is a graph of so many tasks at a time, of one queue.
func fork(width int) string {
	var s strings.Builder
	s.WriteString(
		`{"nodes":[{"nodeId":"s","type":"Start"},{"nodeId":"f","type":"Fork"},
		{"nodeId":"j","type":"Join"},{"nodeId":"e","type":"Success"}`,
	)
	for i := range width {
		fmt.Fprintf(&s, `,{"nodeId":"n%d","type":"Task","queue":"q"}`, i)
	}
	s.WriteString(`],"edges":[{"from":"s","to":"f"},{"from":"j","to":"e"}`)
	for i := range width {
		fmt.Fprintf(&s, `,{"from":"f","to":"n%d"},{"from":"n%d","to":"j"}`, i, i)
	}
	return s.String() + `]}`
}
