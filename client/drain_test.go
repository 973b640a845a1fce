package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/client"
)

func TestADrainLetsHandlersFinishAndSendsTheirResults(t *testing.T) {
	s := newServer(t)
	p := newProxy(t, s, nil)
	c := dial(t, p.url)
	began, goOn := make(chan *client.Task, 10), make(chan struct{})
	w := run(t, client.Worker{Client: c, Concurrency: 2, Handle: func(ctx context.Context, task *client.Task) (any,
		error,
	) {
		began <- task
		<-goOn
		return map[string]bool{"done": true}, ctx.Err()
	}})
	var ids []string
	for range 3 { // the third has to wait for another worker
		ids = append(ids, started(t, c, line("default", "a", "b"), nil))
	}
	worked := map[string]bool{}
	for range 2 {
		worked[wait(t, began, "a task").ExecutionID] = true
	}
	w.end()
	claims := len(p.requests("/tasks/claim"))
	close(goOn)
	if took, err := w.stop(); err != nil || took > 5*time.Second {
		t.Errorf("Run returned %v after %v", err, took)
	}
	if n := len(p.requests("/tasks/claim")); n > claims {
		t.Errorf("%d claims were sent after the end", n-claims)
	}
	for _, id := range ids {
		e := must[*client.Execution](t)(c.Executions.Get(soon(t), id))
		want := [2]client.NodeStatus{client.NodeReady, client.NodeCreated}
		if worked[id] {
			want = [2]client.NodeStatus{client.NodeSucceeded, client.NodeReady} // and nobody took the next
		}
		if got := [2]client.NodeStatus{e.Node("a").Status, e.Node("b").Status}; got != want {
			t.Errorf("the nodes are %v, want %v", got, want)
		}
	}
}

func TestADrainThatTakesTooLongInterrupts(t *testing.T) {
	t.Parallel()
	c := rig(t)
	began, ended := make(chan *client.Task, 1), make(chan interruption, 1)
	w := run(t, client.Worker{Client: c, DrainTimeout: 200 * time.Millisecond, Handle: blocking(began, ended)})
	id := started(t, c, line("default", "a"), nil)
	wait(t, began, "the task")
	if took, err := w.stop(); err != nil || took > 4*time.Second {
		t.Errorf("Run returned %v after %v", err, took)
	}
	if got := wait(t, ended, "the interruption"); !errors.Is(got.cause, client.ErrInterrupted) {
		t.Errorf("interrupted because %v", got.cause)
	}
	// The server was told: nobody has to wait for the lease of a minute.
	if e := must[*client.Execution](t)(c.Executions.Get(soon(t), id)); e.Node("a").Error == nil ||
		e.Node("a").Error.Code != client.CodeInterrupted {
		t.Errorf("the node is %+v", e.Node("a"))
	}
}

func TestAHandlerThatDoesNotStopIsLeftBehind(t *testing.T) {
	t.Parallel()
	c := rig(t)
	began, release := make(chan struct{}), make(chan struct{})
	w := run(t, client.Worker{Client: c, DrainTimeout: time.Millisecond, Handle: func(context.Context, *client.Task) (
		any, error,
	) {
		close(began)
		<-release
		return nil, nil
	}})
	started(t, c, line("default", "a"), nil)
	wait(t, began, "the task")
	took, err := w.stop()
	if err == nil || !strings.Contains(err.Error(), "1 handlers did not stop") || took > 2*patience {
		t.Errorf("Run returned %v after %v", err, took)
	}
	close(release)
}

func TestResultsThatCannotBeSentAreReported(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var deaf atomic.Bool
	p := newProxy(t, s, func(int, seen) string {
		if deaf.Load() {
			return "503 Retry-After "
		}
		return ""
	})
	c := dial(t, p.url)
	w := run(t, client.Worker{Client: c, DrainTimeout: 100 * time.Millisecond, Handle: func(context.Context,
		*client.Task,
	) (any, error) {
		deaf.Store(true)
		return nil, nil
	}})
	started(t, dial(t, s.url), line("default", "a"), nil)
	for !deaf.Load() {
		if !wakeAfter(soon(t), time.Millisecond) {
			t.Fatal("nothing was handled")
		}
	}
	took, err := w.stop()
	if err == nil || !errors.Is(err, client.ErrUnavailable) ||
		!strings.Contains(err.Error(), "1 results could not be sent") || took > 2*patience {
		t.Errorf("Run returned %v after %v", err, took)
	}
}

// Workers come and go all the time, and no attempt is lost: every Task has one
// attempt, so one that was given to a worker which left would fail its execution.
func TestNoTaskIsLostWhenWorkersComeAndGo(t *testing.T) {
	t.Parallel()
	c, ctx := rig(t), soon(t)
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", line("default", "a", "b", "c")))
	var cmds []client.Command
	const executions = 150
	for range executions {
		cmds = append(cmds, client.CreateExecution{GraphID: "g", Start: true})
	}
	done := make(chan struct{})
	var left atomic.Int64
	var workers sync.WaitGroup
	for i := range 3 {
		workers.Go(func() {
			for {
				life, end := context.WithTimeout(t.Context(), time.Duration(30+20*i)*time.Millisecond)
				w := client.Worker{Client: c, Concurrency: 5, Log: quiet, Handle: func(ctx context.Context,
					_ *client.Task,
				) (any, error) {
					wakeAfter(ctx, 2*time.Millisecond)
					return nil, ctx.Err()
				}}
				err := w.Run(life)
				end()
				if err != nil {
					t.Error(err)
				}
				left.Add(1)
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for from := range 15 { // work comes in as they come and go
		results := must[[]client.Result](t)(c.SendAll(ctx, cmds[from*10:from*10+10]))
		for _, r := range results {
			if e := ends(t, c, r.ExecutionID); e.Status != client.Completed {
				t.Errorf("an execution ended %s: %+v", e.Status, e.Error)
			}
		}
	}
	close(done)
	workers.Wait()
	if n := left.Load(); n < 10 {
		t.Errorf("too weak: only %d workers left", n)
	}
	t.Logf("%d workers came and went", left.Load())
}

// child is a server in a process of its own.
type child struct {
	t   *testing.T
	dir string
	at  string
	cmd *exec.Cmd
}

// start starts the server again, where it was before.
func (c *child) start() {
	c.t.Helper()
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	c.cmd = exec.Command(self)
	c.cmd.Env = append(os.Environ(), asServer+"="+c.dir, asAddress+"="+c.at)
	c.cmd.Stderr = os.Stderr
	if _, err := c.cmd.StdinPipe(); err != nil { // open until Wait, or the end of this process
		c.t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		c.t.Fatalf("the server did not start: %v", err)
	}
	c.at = strings.TrimPrefix(strings.TrimSpace(line), "http://")
}

// kill ends the server as a power switch would.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func TestAWorkerOutlivesItsServer(t *testing.T) {
	t.Parallel()
	s := &child{t: t, dir: t.TempDir(), at: "127.0.0.1:0"}
	s.start()
	t.Cleanup(func() { s.kill() })
	c, ctx := dial(t, "http://"+s.at), soon(t)
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", line("default", "a", "b", "c")))
	var handled atomic.Int64
	w := run(t, client.Worker{Client: c, Concurrency: 8, Handle: func(ctx context.Context, _ *client.Task) (any,
		error,
	) {
		handled.Add(1)
		wakeAfter(ctx, 5*time.Millisecond)
		return nil, ctx.Err()
	}})
	const executions, kills = 60, 5
	var cmds []client.Command
	for i := range executions {
		cmds = append(cmds, client.CreateExecution{Key: fmt.Sprint(i), GraphID: "g", Start: true})
	}
	results := must[[]client.Result](t)(c.SendAll(ctx, cmds))
	for i := range kills {
		for before := handled.Load(); handled.Load() < min(before+10, 3*executions); {
			if !wakeAfter(ctx, time.Millisecond) {
				t.Fatalf("nothing goes on after %d kills", i)
			}
		}
		s.kill()
		s.start()
	}
	for _, r := range results {
		if e := ends(t, c, r.ExecutionID); e.Status != client.Completed {
			t.Errorf("an execution ended %s: %+v", e.Status, e.Error)
		}
	}
	if _, err := w.stop(); err != nil {
		t.Error(err)
	}
	if n := handled.Load(); n != 3*executions {
		t.Errorf("%d tasks were handled, want %d: an answer was lost for good", n, 3*executions)
	}
}

// TestAWorkerWithoutAServerWaitsForOne starts before there is one.
func TestAWorkerWithoutAServerWaitsForOne(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	c := dial(t, "http://"+address)
	w := run(t, client.Worker{Client: c, Handle: func(context.Context, *client.Task) (any, error) { return nil, nil }})
	if !wakeAfter(soon(t), 300*time.Millisecond) {
		t.Fatal("no time left")
	}
	s, err := open(t.TempDir(), address)
	if err != nil {
		t.Fatal(err)
	}
	if e := ends(t, c, started(t, c, line("default", "a"), nil)); e.Status != client.Completed {
		t.Errorf("the execution ended %s", e.Status)
	}
	if _, err := w.stop(); err != nil {
		t.Error(err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
