package test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/stalltest"
)

// quietWithin is how long after the last fault everything must be delivered.
const (
	quietWithin = time.Minute
	quietAtAll  = 5 * time.Minute // the machine may stand still meanwhile
)

// busRig is the processes of a bus and the ledger of what they acknowledged.
type busRig struct {
	t     *testing.T
	setup busSetup
	procs []*busChild // nil: not running

	mu     sync.Mutex
	acked  map[string]bool // ids of events whose transaction was committed, as its producer said
	grown  chan struct{}   // holds a token after something was added
	starts int
	up     time.Duration // that processes were publishing, together
	undone []int         // what each start found to be done
}

// newBusRig makes a rig for processes on SQLite, or on PostgreSQL if the run is about that.
func newBusRig(t *testing.T, n int, setup busSetup) *busRig {
	t.Helper()
	together(t)
	setup.Dir = t.TempDir()
	if postgres() {
		setup.Database = pgtest.New(t)
	}
	setup.Lease = time.Second
	return &busRig{t: t, setup: setup, procs: make([]*busChild, n), acked: map[string]bool{}, grown: make(chan struct{},
		1)}
}

// busChild is one process.
type busChild struct {
	rig      *busRig
	cmd      *exec.Cmd
	in       io.Writer
	log      *tail
	instance string
	lines    chan string // what it says, but for acks
	ended    chan struct{}
	began    time.Time // when it was ready
}

// start starts a process and waits until it works.
func (r *busRig) start(i int) *busChild {
	r.t.Helper()
	c := r.launch(i)
	if line := c.await("ready"); line == "" {
		r.t.Fatalf("process %d is not ready:\n%s", i, c.log)
	}
	return c
}

// launch starts a process.
func (r *busRig) launch(i int) *busChild {
	r.t.Helper()
	r.starts++
	setup := r.setup
	setup.Instance = fmt.Sprintf("p%d-%d", i, r.starts)
	if setup.Database != "" && setup.NATS == "" {
		r.t.Fatal("processes on PostgreSQL need one NATS server")
	}
	text, err := json.Marshal(setup)
	if err != nil {
		r.t.Fatal(err)
	}
	c := &busChild{
		rig: r, cmd: renga(), log: &tail{}, instance: setup.Instance, lines: make(chan string, 1000),
		ended: make(chan struct{}),
	}
	c.cmd.Env = append(c.cmd.Env, asBus+"="+string(text))
	in, err := c.cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	c.in = in
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	errs, err := c.cmd.StderrPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	c.began = time.Now()
	r.procs[i] = c
	go c.follow(out, errs)
	r.t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it may have ended
		<-c.ended
	})
	return c
}

// follow reads what the process says until it has ended.
func (c *busChild) follow(out, errs io.Reader) {
	var logged sync.WaitGroup
	logged.Go(func() { c.log.read(errs) })
	for in := bufio.NewReader(out); ; {
		line, err := in.ReadString('\n')
		if err != nil { // a line without an end was not said
			break
		}
		line = strings.TrimSuffix(line, "\n")
		if ids, ok := strings.CutPrefix(line, "ack "); ok {
			c.rig.ack(strings.Fields(ids))
			continue
		}
		if n, ok := strings.CutPrefix(line, "found "); ok {
			c.rig.find(n)
		}
		c.lines <- line
	}
	logged.Wait()
	_ = c.cmd.Wait() // how it ended is in ProcessState
	close(c.lines)
	close(c.ended)
}

func (r *busRig) ack(ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		r.acked[id] = true
	}
	select {
	case r.grown <- struct{}{}:
	default:
	}
}

func (r *busRig) find(text string) {
	n, err := strconv.Atoi(text)
	if err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.undone = append(r.undone, n)
}

func (r *busRig) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.acked)
}

// acks waits for so many more acknowledged events.
func (r *busRig) acks(n int) {
	r.t.Helper()
	want, late := r.count()+n, time.After(maxWait)
	for r.count() < want {
		select {
		case <-r.grown:
		case <-late:
			r.t.Fatalf("too weak: %d of %d events were acknowledged within %v\n%s", n-(want-r.count()), n, maxWait,
				r.logs())
		}
	}
}

// await waits for a line that begins with a word and gives it; "": the process ended
// before, or it did not come in time.
func (c *busChild) await(word string) string {
	late := time.After(quietAtAll)
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return ""
			}
			if strings.HasPrefix(line, word) {
				return line
			}
		case <-late:
			return ""
		}
	}
}

// ask tells the process something and waits for its answer.
func (c *busChild) ask(line, answer string) {
	c.rig.t.Helper()
	c.tell(line)
	if c.await(answer) == "" {
		c.rig.t.Fatalf("%s was told %q and never said %q:\n%s", c.instance, line, answer, c.log)
	}
}

// tell tells the process something.
func (c *busChild) tell(line string) {
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.rig.t.Errorf("%s: %v\n%s", c.instance, err, c.log)
	}
}

// kill kills a process as a power switch would.
func (r *busRig) kill(i int) {
	c := r.procs[i]
	_ = c.cmd.Process.Signal(syscall.SIGKILL)
	r.gone(i)
}

// gone waits for the end of a process that was killed.
func (r *busRig) gone(i int) {
	r.t.Helper()
	c := r.procs[i]
	select {
	case <-c.ended:
	case <-time.After(maxWait):
		r.t.Fatalf("%s does not end:\n%s", c.instance, c.log)
	}
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		r.t.Fatalf("%s ended by itself, %v:\n%s", c.instance, c.cmd.ProcessState, c.log)
	}
	r.up += time.Since(c.began)
	r.procs[i] = nil
}

// finish lets producers stop, waits until everything is delivered, ends the processes in
// order, and opens the books.
func (r *busRig) finish() *busBooks {
	r.t.Helper()
	began, stalls := time.Now(), stalltest.New(r.t)
	for _, c := range r.procs {
		c.tell("quiet")
		r.up += time.Since(c.began)
	}
	for _, c := range r.procs {
		if c.await("idle") == "" {
			r.t.Errorf("not everything is delivered %v after the last fault:\n%s", time.Since(began).Round(time.Second),
				r.logs())
		}
	}
	took := stalls.Since(began)
	r.t.Logf("everything was delivered %v after the last fault, and %v in which the machine stood still",
		took.Round(time.Millisecond), (time.Since(began) - took).Round(time.Millisecond))
	if took > quietWithin {
		r.t.Errorf("that is more than %v", quietWithin)
	}
	for i, c := range r.procs {
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-c.ended:
		case <-time.After(maxWait):
			r.t.Fatalf("%s does not end:\n%s", c.instance, c.log)
		}
		if code := c.cmd.ProcessState.ExitCode(); code != 0 {
			r.t.Errorf("%s ended with code %d:\n%s", c.instance, code, c.log)
		}
		r.procs[i] = nil
	}
	return openBusBooks(r.t, r.setup, r.acked)
}

func (r *busRig) logs() string {
	var all strings.Builder
	for _, c := range r.procs {
		if c != nil {
			fmt.Fprintf(&all, "%s:\n%s", c.instance, c.log)
		}
	}
	return all.String()
}

// atLeast fails a run that did not ask enough of the bus.
func (r *busRig) atLeast(what string, got, want int) {
	r.t.Helper()
	if got < want {
		r.t.Errorf("too weak: %d %s, want at least %d", got, what, want)
	}
}

// busy is how many starts found something to be done, and how much in all.
func (r *busRig) busy() (starts, events int) {
	for _, n := range r.undone {
		if n > 0 {
			starts++
		}
		events += n
	}
	return starts, events
}

// rate is how many events a second were acknowledged while all processes ran.
func (r *busRig) rate() int {
	return int(float64(len(r.acked)) * float64(len(r.procs)) / r.up.Seconds())
}

// consumers are those whose books are checked.
func (r *busRig) consumers() []string {
	all := []string{strict, loose, owners}
	if r.setup.Log {
		all = append(all, engines)
	}
	if r.setup.Late {
		all = append(all, late)
	}
	return all
}
