package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/client"
	"renga.dev/renga/test/stalltest"
	"renga.dev/renga/test/tier"
)

// running is a worker at work. stop ends it and gives what Run returned.
type running struct {
	t    testing.TB
	end  context.CancelFunc
	done chan error
}

func run(t testing.TB, w client.Worker) *running {
	t.Helper()
	if w.Log == nil {
		w.Log = quiet
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{t: t, end: cancel, done: make(chan error, 1)}
	go func() { r.done <- w.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-r.done })
	return r
}

// stop ends the worker and gives what Run returned, and how long that took without the time in
// which the machine stood still.
func (r *running) stop() (time.Duration, error) {
	r.t.Helper()
	stalls, began := stalltest.New(r.t), time.Now()
	r.end()
	select {
	case err := <-r.done:
		r.done <- err
		return stalls.Since(began), err
	case <-time.After(3 * patience):
		r.t.Fatal("the worker does not stop")
		return 0, nil
	}
}

// ends waits until an execution has ended.
func ends(t testing.TB, c *client.Client, id string) *client.Execution {
	t.Helper()
	for _, err := range c.Executions.Stream(soon(t), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return must[*client.Execution](t)(c.Executions.Get(soon(t), id))
}

// wait waits for something that must come.
func wait[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

func TestAWorkerWorksWholeGraphsInFewRequests(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	p := newProxy(t, s, nil)
	c, ctx := dial(t, p.url), soon(t)
	const executions, tasks = 40, 10
	var names []string
	for i := range tasks {
		names = append(names, fmt.Sprintf("t%d", i))
	}
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", line("pay", names...)))
	var cmds []client.Command
	for i := range executions {
		cmds = append(cmds, client.CreateExecution{GraphID: "g", Input: map[string]int{"n": i}, Start: true})
	}
	var handled atomic.Int64
	w := run(t, client.Worker{
		Client: c, Queues: []string{"other", "pay"}, Concurrency: 20,
		Handle: func(_ context.Context, task *client.Task) (any, error) {
			handled.Add(1)
			var in struct{ N int }
			if err := task.DecodeInput(&in); err != nil {
				return nil, err
			}
			var before struct{ Sum int }
			if task.NodeID != "t0" {
				if err := task.DecodeOutput(fmt.Sprintf("t%s", string(task.NodeID[1]-1)), &before); err != nil {
					return nil, err
				}
			}
			return map[string]int{"sum": before.Sum + in.N}, nil
		},
	})
	for i, r := range must[[]client.Result](t)(c.SendAll(ctx, cmds)) {
		e := ends(t, c, r.ExecutionID)
		if want := fmt.Sprintf(`{"sum":%d}`, tasks*i); e.Status != client.Completed || string(e.Result) != want {
			t.Errorf("execution %d ended %s with %s, want %s", i, e.Status, e.Result, want)
		}
		for _, n := range e.Nodes {
			if n.Attempt > 1 {
				t.Errorf("node %s took %d attempts", n.NodeID, n.Attempt)
			}
		}
	}
	if _, err := w.stop(); err != nil {
		t.Error(err)
	}
	if n := handled.Load(); n != executions*tasks {
		t.Errorf("%d tasks were handled, want %d", n, executions*tasks)
	}
	claims, reports := len(p.requests("/tasks/claim")), len(p.requests("/commands"))
	if all := claims + reports; all > executions*tasks/2 {
		t.Errorf("%d tasks took %d claims and %d other requests", executions*tasks, claims, reports)
	}
	if n := len(p.requests("/tasks/watch")); n > 2 {
		t.Errorf("tasks of no length were watched %d times", n)
	}
	t.Logf("%d tasks took %d claims and %d POST /commands", executions*tasks, claims, reports)
}

func TestHowAHandlerFailsIsHowTheNodeFails(t *testing.T) {
	t.Parallel()
	c := rig(t)
	results := map[string]func() (any, error){
		"plain": func() (any, error) { return nil, errors.New("no money") },
		"chosen": func() (any, error) {
			return nil, fmt.Errorf("pay: %w", &client.NodeError{Code: "BROKE", Message: "none", Detail: map[string]int{
				"have": 3,
			}})
		},
		"text": func() (any, error) { return "done", nil },
		"chan": func() (any, error) { return make(chan int), nil },
		"big":  func() (any, error) { return map[string]string{"x": strings.Repeat("x", 1<<20)}, nil },
		"deep": func() (any, error) {
			return json.RawMessage(strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)), nil
		},
		"panic": func() (any, error) { panic("oh no") },
		"long":  func() (any, error) { return nil, errors.New(strings.Repeat("é\xff", 5000)) },
		"detail": func() (any, error) {
			return nil, &client.NodeError{
				Code:   strings.Repeat("C", 200),
				Detail: []int{1},
			}
		},
		"canceled": func() (any, error) { return nil, context.Canceled },
	}
	want := map[string]string{
		"plain": "ERR_HANDLER no money", "chosen": `BROKE none {"have":3}`,
		"text": "ERR_RESULT the result must be a JSON object, not a string",
		"chan": "ERR_RESULT the result cannot be written as JSON", "big": "ERR_RESULT a command may have at most",
		"deep":  "ERR_RESULT ",
		"panic": "ERR_PANIC oh no", "long": "ERR_HANDLER é", "detail": "CCC",
		"canceled": "ERR_HANDLER context canceled",
	}
	var panicked atomic.Bool
	run(t, client.Worker{Client: c, Concurrency: 3, Handle: func(_ context.Context, task *client.Task) (any, error) {
		var in struct{ How string }
		if err := task.DecodeInput(&in); err != nil {
			return nil, err
		}
		if in.How == "panic" {
			panicked.Store(true)
		}
		return results[in.How]()
	}})
	for how := range results {
		e := ends(t, c, started(t, c, line("default", "a"), map[string]string{"how": how}))
		if e.Status != client.Failed || e.Error == nil {
			t.Errorf("%s: the execution ended %s", how, e.Status)
			continue
		}
		got := strings.TrimSpace(e.Error.Code + " " + e.Error.Message + " " + string(e.Error.Detail))
		if !strings.HasPrefix(got, want[how]) {
			t.Errorf("%s: the node failed with %.200s, want %s", how, got, want[how])
		}
	}
	if !panicked.Load() {
		t.Error("nothing panicked")
	}
}

func TestAResultOfNothingIsASuccess(t *testing.T) {
	t.Parallel()
	c := rig(t)
	var none map[string]int
	for _, output := range []any{nil, none, struct{}{}, json.RawMessage(`{}`)} {
		w := run(t, client.Worker{Client: c, Handle: func(context.Context, *client.Task) (any, error) {
			return output,
				nil
		}})
		if e := ends(t, c, started(t, c, line("default", "a"), nil)); e.Status != client.Completed {
			t.Errorf("%#v: the execution ended %s", output, e.Status)
		}
		if _, err := w.stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestHeartbeatsKeepAShortLeaseForLong(t *testing.T) {
	tier.System(t)
	t.Parallel()
	s := newServer(t)
	p := newProxy(t, s, nil)
	c := dial(t, p.url)
	var ids []string
	run(t, client.Worker{Client: c, Lease: 10 * time.Second, Concurrency: 10, Handle: func(ctx context.Context,
		_ *client.Task,
	) (any, error) {
		if !wakeAfter(ctx, 22*time.Second) {
			return nil, context.Cause(ctx)
		}
		return nil, nil
	}})
	for range 10 {
		ids = append(ids, started(t, c, line("default", "a"), nil))
	}
	for _, id := range ids {
		if e := ends(t, c, id); e.Status != client.Completed || e.Node("a").Attempt != 1 {
			t.Errorf("the execution ended %s after %d attempts: %+v", e.Status, e.Node("a").Attempt, e.Error)
		}
	}
	if n := len(p.requests("/commands")); n > 40 { // about 7 renewals of each, together
		t.Errorf("10 tasks of 22 s took %d requests", n)
	}
}

func TestProgressIsReported(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	p := newProxy(t, s, nil)
	c := dial(t, p.url)
	reports := 0
	run(t, client.Worker{Client: c, Handle: func(_ context.Context, task *client.Task) (any, error) {
		for len(p.requests("/commands")) < 5 {
			reports++
			task.Progress(float64(reports), fmt.Sprintf("row %d", reports))
		}
		return nil, nil
	}})
	id := started(t, c, line("default", "a"), nil)
	e := ends(t, c, id)
	n := 0
	for ev, err := range c.Executions.Events(soon(t), id, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == "NODE_PROGRESS_REPORTED" {
			n++
		}
	}
	if n < 4 || n > 10 || reports < 100 || e.Node("a").Progress == nil || !strings.HasPrefix(e.Node("a").Message,
		"row ") {
		t.Errorf("%d of %d reports were sent, the last is %v", n, reports, e.Node("a").Message)
	}
	new(client.Task).Progress(1, "nobody holds it")
}

func TestATaskWaitsForSomebody(t *testing.T) {
	tier.System(t)
	t.Parallel()
	c, ctx := rig(t), soon(t)
	run(t, client.Worker{Client: c, Lease: 10 * time.Second, Handle: func(ctx context.Context, task *client.Task) (any,
		error,
	) {
		answer, err := task.Wait(ctx, "k-1", map[string]string{"question": "which shelf?"})
		if err != nil {
			return nil, err
		}
		if !wakeAfter(ctx, 12*time.Second) { // its lease goes on
			return nil, context.Cause(ctx)
		}
		return map[string]json.RawMessage{"answer": answer}, nil
	}})
	waiting := func(id string) {
		t.Helper()
		for ev, err := range c.Executions.Stream(ctx, id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Type == "NODE_WAITING" {
				break
			}
		}
	}
	id := started(t, c, line("default", "a"), nil)
	waiting(id)
	if !wakeAfter(ctx, 11*time.Second) { // longer than the lease, which stands still
		t.Fatal("no time left")
	}
	if e := must[*client.Execution](t)(c.Executions.Get(ctx, id)); e.Node("a").Status != client.NodeWaiting ||
		string(e.Node("a").Prompt) != `{"question":"which shelf?"}` {
		t.Errorf("the node is %+v", e.Node("a"))
	}
	must[client.Answer](t)(c.Send(ctx, client.ResumeNode{
		ExecutionID: id, NodeID: "a", ResumeKey: "k-1",
		Output: map[string]string{"shelf": "B4"},
	}))
	if e := ends(t, c, id); e.Status != client.Completed || string(e.Result) != `{"answer":{"shelf":"B4"}}` {
		t.Errorf("the execution ended %s with %s, %+v", e.Status, e.Result, e.Error)
	}
	id = started(t, c, line("default", "a"), nil)
	waiting(id)
	must[client.Answer](t)(c.Send(ctx, client.CancelExecution{ExecutionID: id}))
	if e := ends(t, c, id); e.Status != client.Canceled {
		t.Errorf("the execution ended %s", e.Status)
	}
	if _, err := new(client.Task).Wait(ctx, "", nil); err == nil {
		t.Error("a task that nobody holds waited")
	}
}

func TestAWorkerThatCannotWorkSaysSo(t *testing.T) {
	c := rig(t)
	handle := func(context.Context, *client.Task) (any, error) { return nil, nil }
	for name, w := range map[string]client.Worker{
		"no client":             {Handle: handle},
		"no handler":            {Client: c},
		"a bad URL":             {Client: client.New(client.Config{URL: "nowhere"}), Handle: handle},
		"too much at a time":    {Client: c, Handle: handle, Concurrency: client.MaxConcurrency + 1},
		"a lease of no seconds": {Client: c, Handle: handle, Lease: 1500 * time.Millisecond},
		"a queue with a blank":  {Client: c, Handle: handle, Queues: []string{"a b"}, Log: quiet},
	} {
		done := make(chan error, 1)
		go func() { done <- w.Run(soon(t)) }()
		if err := wait(t, done, name+": the error"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestManyWorkersShareTheWork(t *testing.T) {
	t.Parallel()
	c, ctx := rig(t), soon(t)
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", line("default", "a", "b")))
	var mu sync.Mutex
	handled := map[client.TaskRef]int{}
	for range 4 {
		run(t, client.Worker{Client: c, Concurrency: 4, Handle: func(_ context.Context, task *client.Task) (any,
			error,
		) {
			mu.Lock()
			defer mu.Unlock()
			handled[task.Ref()]++
			return nil, nil
		}})
	}
	var cmds []client.Command
	for range 200 {
		cmds = append(cmds, client.CreateExecution{GraphID: "g", Start: true})
	}
	for _, r := range must[[]client.Result](t)(c.SendAll(ctx, cmds)) {
		if e := ends(t, c, r.ExecutionID); e.Status != client.Completed {
			t.Errorf("an execution ended %s", e.Status)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(handled) != 400 {
		t.Errorf("%d tasks were handled, want 400", len(handled))
	}
	for ref, n := range handled {
		if n != 1 {
			t.Errorf("%+v was handled %d times", ref, n)
		}
	}
}
