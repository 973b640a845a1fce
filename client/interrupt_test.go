package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/client"
	"renga.dev/renga/test/stalltest"
	"renga.dev/renga/test/tier"
)

// interruption is what a handler saw.
type interruption struct {
	at    time.Time
	cause error
}

// blocking is a handler that works until it is interrupted.
func blocking(began chan<- *client.Task, ended chan<- interruption) func(context.Context, *client.Task) (any, error) {
	return func(ctx context.Context, task *client.Task) (any, error) {
		began <- task
		<-ctx.Done()
		ended <- interruption{time.Now(), context.Cause(ctx)}
		return nil, ctx.Err()
	}
}

func TestACancelInterruptsTheHandlerWithinASecond(t *testing.T) {
	tier.System(t)
	t.Parallel()
	s := newServer(t)
	p := newProxy(t, s, nil)
	c, ctx := dial(t, p.url), soon(t)
	began, ended := make(chan *client.Task, 100), make(chan interruption, 100)
	run(t, client.Worker{Client: c, Concurrency: 20, Handle: blocking(began, ended)})
	stalls := stalltest.New(t)
	// One after the other, after being held for longer and longer: before and after it is watched.
	for i := range 10 {
		id := started(t, c, line("default", "a"), nil)
		wait(t, began, "the task")
		if !wakeAfter(ctx, time.Duration(i)*60*time.Millisecond) {
			t.Fatal("no time left")
		}
		canceled := time.Now()
		must[client.Answer](t)(c.Send(ctx, client.CancelExecution{ExecutionID: id}))
		got := wait(t, ended, "the interruption")
		if took := stalls.Between(canceled, got.at); took > time.Second ||
			!errors.Is(got.cause, client.ErrInterrupted) {
			t.Errorf("held for %d ms: interrupted after %v, because %v", 60*i, took, got.cause)
		}
		e := must[*client.Execution](t)(c.Executions.Get(ctx, id))
		if e.Status != client.Canceled || len(e.LateResults) > 0 {
			t.Errorf("the execution is %s, with %d late results", e.Status, len(e.LateResults))
		}
	}
	// Many at once, of which all but one are cancelled.
	var ids []string
	for range 20 {
		ids = append(ids, started(t, c, line("default", "a"), nil))
		wait(t, began, "the task")
	}
	canceled := time.Now()
	var cmds []client.Command
	for _, id := range ids[1:] {
		cmds = append(cmds, client.CancelExecution{ExecutionID: id})
	}
	must[[]client.Result](t)(c.SendAll(ctx, cmds))
	for range cmds {
		got := wait(t, ended, "the interruption")
		if took := stalls.Between(canceled, got.at); took > time.Second {
			t.Errorf("interrupted after %v", took)
		}
	}
	must[client.Answer](t)(c.Send(ctx, client.CancelNode{ExecutionID: ids[0], NodeID: "a"}))
	wait(t, ended, "the interruption of a node that is cancelled alone")
	t.Logf("%d watches", len(p.requests("/tasks/watch")))
}

// wakeAfter waits; tests use it only where the passing of time is what they are about.
func wakeAfter(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func TestAResultAfterACancelIsKeptAsEvidence(t *testing.T) {
	t.Parallel()
	c, ctx := rig(t), soon(t)
	began := make(chan *client.Task, 1)
	run(t, client.Worker{Client: c, Handle: func(ctx context.Context, task *client.Task) (any, error) {
		began <- task
		<-ctx.Done()
		return map[string]string{"receipt": "R-1"}, nil // the money is gone, cancelled or not
	}})
	id := started(t, c, line("default", "a"), nil)
	wait(t, began, "the task")
	must[client.Answer](t)(c.Send(ctx, client.CancelExecution{ExecutionID: id}))
	var e *client.Execution
	for e == nil || len(e.LateResults) == 0 {
		if !wakeAfter(ctx, 5*time.Millisecond) {
			t.Fatal("the result was not kept")
		}
		e = must[*client.Execution](t)(c.Executions.Get(ctx, id))
	}
	if e.Status != client.Canceled || string(e.LateResults[0].Output) != `{"receipt":"R-1"}` {
		t.Errorf("the evidence is %+v", e.LateResults)
	}
}

func TestALostLeaseInterruptsTheHandler(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	p := newProxy(t, s, func(_ int, r seen) string {
		if r.path == "/commands" || r.path == "/tasks/watch" {
			return cutBefore // neither signs of life nor warnings come through
		}
		return ""
	})
	c := dial(t, s.url)
	began, ended := make(chan *client.Task, 2), make(chan interruption, 2)
	w := run(t, client.Worker{
		Client: dial(t, p.url), Lease: 2 * time.Second, Concurrency: 1,
		DrainTimeout: time.Millisecond, Handle: blocking(began, ended),
	})
	id := started(t, c, line("default", "a"), nil)
	wait(t, began, "the task")
	stalls, at := stalltest.New(t), time.Now()
	got := wait(t, ended, "the interruption")
	if took := stalls.Between(at, got.at); took > 4*time.Second || !strings.Contains(fmt.Sprint(got.cause), "lease") {
		t.Errorf("interrupted after %v, because %v", took, got.cause)
	}
	if e := ends(t, c, id); e.Error == nil || e.Error.Code != "ERR_TIMEOUT" {
		t.Errorf("the execution ended %s with %+v", e.Status, e.Error)
	}
	if _, err := w.stop(); err != nil {
		t.Errorf("nothing was left to send, and Run says %v", err)
	}
}
