package client_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/stalltest"
	"renga.dev/renga/test/tier"
)

// twoServers are two servers on one PostgreSQL database, which tell each other
// nothing but through it.
func twoServers(t *testing.T) (one, two *server) {
	t.Helper()
	database := pgtest.New(t)
	both := make([]*server, 2)
	for i := range both {
		s, err := serve(app.Place{DataDir: t.TempDir(), DatabaseURL: database}, "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		end := s.close
		closed := false
		s.close = func() error {
			if closed {
				return nil
			}
			closed = true
			return end()
		}
		t.Cleanup(func() {
			if err := s.close(); err != nil {
				t.Error(err)
			}
		})
		both[i] = s
	}
	return both[0], both[1]
}

func TestACancelInAnotherProcessInterruptsTheHandlerWithinASecond(t *testing.T) {
	tier.System(t)
	t.Parallel()
	one, two := twoServers(t)
	here, there, ctx := dial(t, one.url), dial(t, two.url), soon(t)
	began, ended := make(chan *client.Task, 100), make(chan interruption, 100)
	run(t, client.Worker{Client: here, Concurrency: 20, Handle: blocking(began, ended)})
	stalls, slowest := stalltest.New(t), time.Duration(0)
	for i := range 12 {
		id := started(t, there, line("default", "a"), nil)
		wait(t, began, "the task")
		if !wakeAfter(ctx, time.Duration(i)*70*time.Millisecond) {
			t.Fatal("no time left")
		}
		canceled := time.Now()
		must[client.Answer](t)(there.Send(ctx, client.CancelExecution{ExecutionID: id}))
		got := wait(t, ended, "the interruption")
		took := stalls.Between(canceled, got.at)
		if slowest = max(slowest, took); took > time.Second || !errors.Is(got.cause, client.ErrInterrupted) {
			t.Errorf("held for %d ms: interrupted after %v, because %v", 70*i, took, got.cause)
		}
	}
	t.Logf("the slowest interruption took %v", slowest)
}

func TestAWorkerGoesOnWithAnotherProcess(t *testing.T) {
	t.Parallel()
	one, two := twoServers(t)
	c, ctx := dial(t, one.url+","+two.url), soon(t)
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", line("default", "a", "b", "c", "d", "e")))
	var handled atomic.Int64
	gone := make(chan struct{})
	w := run(t, client.Worker{Client: c, Concurrency: 4, Handle: func(ctx context.Context, _ *client.Task) (any,
		error,
	) {
		if handled.Add(1) == 20 {
			close(gone)
		}
		wakeAfter(ctx, 5*time.Millisecond)
		return nil, ctx.Err()
	}})
	var cmds []client.Command
	for range 30 {
		cmds = append(cmds, client.CreateExecution{GraphID: "g", Start: true})
	}
	results := must[[]client.Result](t)(c.SendAll(ctx, cmds))
	wait(t, gone, "work")
	if err := one.close(); err != nil { // in the middle of it
		t.Fatal(err)
	}
	for _, r := range results {
		if e := ends(t, c, r.ExecutionID); e.Status != client.Completed {
			t.Errorf("an execution ended %s: %+v", e.Status, e.Error)
		}
	}
	if _, err := w.stop(); err != nil {
		t.Error(err)
	}
	if n := handled.Load(); n != 150 {
		t.Errorf("%d tasks were handled, want 150", n)
	}
}
