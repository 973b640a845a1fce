package test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "renga.dev/renga/client"
	"renga.dev/renga/test/tier"
)

// TestACancelStartsItsCleanupOnceThroughKills kills the server again and again while clients start executions and
// cancel them, each cancel until it is answered. In the end every one of them has one execution that cleans up.
func TestACancelStartsItsCleanupOnceThroughKills(t *testing.T) {
	tier.System(t)
	at := newSite(t)
	server := serve(t, at)
	ctx := t.Context()
	var url atomic.Value // of the server that runs
	url.Store(server.url)
	// do repeats a request, of one key, on whatever server runs until one answers.
	do := func(cmd sdk.Command) (sdk.Answer, error) {
		for {
			c := sdk.New(sdk.Config{URL: url.Load().(string), RetryFor: time.Millisecond})
			answer, err := c.Send(ctx, cmd)
			c.Close()
			if refused := (*sdk.Error)(nil); err == nil || ctx.Err() != nil ||
				errors.As(err, &refused) && refused.Status < 500 {
				return answer, err
			}
			pause(10 * time.Millisecond)
		}
	}
	first := sdk.New(sdk.Config{URL: server.url})
	for _, g := range []struct{ id, cleanup string }{{"cleanup", ""}, {"order", `,"onCancel":{"graph":"cleanup"}`}} {
		text := fmt.Sprintf(`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"work","type":"Task"},
			{"nodeId":"done","type":"Success"}],"edges":[{"from":"start","to":"work"},{"from":"work","to":"done"}]%s}`,
			g.cleanup)
		if _, err := first.Graphs.Put(ctx, g.id, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	first.Close()

	var made sync.Map // canceled executions
	var count atomic.Int64
	var hands sync.WaitGroup
	stop := make(chan struct{})
	for hand := range 8 {
		hands.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("%d-%d", hand, n)
				answer, err := do(sdk.CreateExecution{Key: "create-" + key, GraphID: "order", Start: true})
				if err != nil {
					t.Errorf("create %s: %v", key, err)
					return
				}
				id := answer.ExecutionID
				for _, again := range []string{"a", "a", "b"} { // repeated, and asked for anew
					if _, err := do(sdk.CancelExecution{Key: "cancel-" + key + again, ExecutionID: id}); err != nil {
						t.Errorf("cancel %s: %v", key, err)
						return
					}
				}
				made.Store(id, true)
				count.Add(1)
			}
		})
	}
	for range 6 {
		for before := count.Load(); count.Load() < before+20 && !t.Failed(); {
			pause(5 * time.Millisecond)
		}
		pause(time.Duration(rand.IntN(20)) * time.Millisecond)
		server.kill()
		server = serve(t, at)
		url.Store(server.url)
	}
	close(stop)
	hands.Wait()

	c := sdk.New(sdk.Config{URL: server.url})
	defer c.Close()
	cleans := map[string]bool{}
	made.Range(func(id, _ any) bool {
		e, err := c.Executions.Get(ctx, id.(string))
		if err != nil || e.Status != sdk.Canceled || e.Cancel == nil || e.Cancel.CompensationID == "" ||
			cleans[e.Cancel.CompensationID] {
			t.Errorf("execution %v: %+v, %v", id, e, err)
			return false
		}
		cleans[e.Cancel.CompensationID] = true
		after, err := c.Executions.Get(ctx, e.Cancel.CompensationID)
		if err != nil || after.GraphID != "cleanup" || after.Node("work").Status != sdk.NodeReady {
			t.Errorf("execution %v is cleaned up after by %+v, %v", id, after, err)
		}
		return err == nil
	})
	started := 0
	for e, err := range c.Executions.All(context.WithoutCancel(ctx), sdk.ExecutionFilter{GraphID: "cleanup"}) {
		if err != nil {
			t.Fatal(err)
		}
		if started++; !cleans[e.ExecutionID] {
			t.Errorf("execution %s cleans up after none that is known", e.ExecutionID)
		}
	}
	if started != int(count.Load()) || started < 120 {
		t.Errorf("%d executions clean up after %d", started, count.Load())
	}
	server.stop()
	verify(t, at)
	t.Logf("%d cancels, 6 kills", started)
}
