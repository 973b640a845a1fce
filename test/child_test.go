package test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus/jet/jettest"
	"renga.dev/renga/internal/program"
	"renga.dev/renga/test/stalltest"
)

// asProgram makes the test binary behave as the program itself, so that tests run
// the real main in processes of its own without building it again.
const asProgram = "RENGA_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	jettest.Main()
	if setup := os.Getenv(asBus); setup != "" {
		if err := busMain(setup); err != nil {
			panic(err)
		}
		return
	}
	if os.Getenv(asProgram) != "" {
		if err := limitFiles(os.Getenv(fileLimit)); err != nil {
			panic(err)
		}
		if os.Getenv(withParent) != "" {
			go endWithParent()
		}
		if server := os.Getenv(asWorker); server != "" {
			if err := worker(server); err != nil {
				panic(err)
			}
			return
		}
		os.Exit(program.Main())
	}
	os.Exit(m.Run())
}

// withParent makes a child end when its standard input does: a test that is cut
// off, by its time limit or a panic, leaves no server behind.
const withParent = "RENGA_TEST_WITH_PARENT"

func endWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

// long says that the full counts are wanted.
func long() bool { return os.Getenv("RENGA_LONG") != "" }

// command runs a command of the program at a server to the end that is wanted, and gives what
// it prints. It is run again when the server cannot do it now, which it says it may be.
func command(t testing.TB, server string, want int, args ...string) (out, errs string) {
	t.Helper()
	for late := time.Now().Add(maxWait); ; pause(100 * time.Millisecond) {
		var o, e bytes.Buffer
		code := program.Run(t.Context(), slices.Concat(args, []string{"--server", server}), &o, &e)
		switch {
		case code == want:
			return o.String(), e.String()
		case code != 5 || time.Now().After(late):
			t.Fatalf("renga %s ended with %d: %s%s", strings.Join(args, " "), code, &o, &e)
		}
	}
}

// child is a renga process that a test started.
type child struct {
	t     testing.TB
	url   string
	cmd   *exec.Cmd
	log   *tail
	ready time.Duration // from the start of the process to the first 200 of /readyz
	stood time.Duration // how long of that the machine stood still
	ended chan struct{} // closed when the process is gone
}

// renga is a command of the binary, with settings of its own and no others.
func renga(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self, args...)
	for _, set := range os.Environ() {
		if !strings.HasPrefix(set, "RENGA_") && !strings.HasPrefix(set, "AX_") {
			cmd.Env = append(cmd.Env, set)
		}
	}
	cmd.Env = append(cmd.Env, asProgram+"=1")
	return cmd
}

// serve starts a server at a site and waits until it is ready. It is
// killed when the test ends, if it has not ended before.
func serve(t testing.TB, at site) *child {
	t.Helper()
	stalls := stalltest.New(t)
	c, listening := launch(t, at)
	select {
	case addr := <-listening:
		c.url = "http://" + addr
	case <-c.ended:
		t.Fatalf("the server ended before it listened:\n%s", c.log)
	}
	began, late := time.Now().Add(-c.ready), time.Now().Add(maxWait)
	for {
		status, body := ready(t, c)
		if status == http.StatusOK {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("readyz answered %d %v after the server listened: %s\n%s", status, maxWait, body, c.log)
		}
		pause(5 * time.Millisecond)
	}
	c.ready = time.Since(began)
	c.stood = c.ready - stalls.Since(began)
	return c
}

// late is what a start took beyond what a server may take, the time apart in which the machine
// stood still.
func (c *child) late() bool { return c.ready-c.stood > readyWithin() }

// launch starts a server; its address comes when it listens.
func launch(t testing.TB, at site) (*child, <-chan string) {
	t.Helper()
	c := &child{t: t, cmd: at.program("serve", "--addr", "127.0.0.1:0"), ended: make(chan struct{})}
	c.cmd.Env = append(append(c.cmd.Env, withParent+"=1"), at.env...)
	if _, err := c.cmd.StdinPipe(); err != nil { // open until Wait, or the end of this process
		t.Fatal(err)
	}
	listening := make(chan string, 1)
	began := time.Now()
	c.log = &tail{whole: at.whole, line: func(line string) {
		if _, rest, ok := strings.Cut(line, "msg=serving address="); ok {
			addr, _, _ := strings.Cut(rest, " ")
			c.ready = time.Since(began)
			listening <- addr
		}
	}}
	pipe, err := c.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		c.log.read(pipe)
		_ = c.cmd.Wait() // how it ended is in ProcessState
		close(c.ended)
	}()
	t.Cleanup(c.kill)
	return c, listening
}

// kill ends the process as a power switch would, and waits until it is gone.
func (c *child) kill() {
	c.signal(syscall.SIGKILL)
	<-c.ended
}

// signal sends a signal. A process that has ended takes it as it is.
func (c *child) signal(s os.Signal) {
	if err := c.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Error(err)
	}
}

// code waits for the end of the process and gives its exit code, -1 after a signal.
func (c *child) code(within time.Duration) int {
	c.t.Helper()
	select {
	case <-c.ended:
		return c.cmd.ProcessState.ExitCode()
	case <-time.After(within):
		c.t.Fatalf("the process still runs after %v:\n%s", within, c.log)
		return 0
	}
}

// stop asks the process to end and expects that it does, well.
func (c *child) stop() {
	c.t.Helper()
	c.signal(syscall.SIGTERM)
	if code := c.code(20 * time.Second); code != 0 {
		c.t.Fatalf("the server ended with code %d:\n%s", code, c.log)
	}
}

// sizeOf is the length of a file, 0 when there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// verify runs `renga verify` at the site of a server that has ended.
func verify(t testing.TB, at site) string {
	t.Helper()
	out, err := at.program("verify", "-q").CombinedOutput()
	line := strings.TrimSpace(string(out))
	if err != nil || !strings.HasSuffix(line, ": 0 problems") {
		t.Fatalf("renga verify: %v\n%s", err, line)
	}
	return line
}

// tail keeps the end of what a process logged, or all of it.
type tail struct {
	line  func(string)
	whole bool
	mu    sync.Mutex
	lines []string
}

const tailLines = 200

func (l *tail) read(r io.Reader) {
	for in := bufio.NewReader(r); ; {
		line, err := in.ReadString('\n')
		if line != "" {
			l.mu.Lock()
			l.lines = append(l.lines, line)
			if len(l.lines) > tailLines && !l.whole {
				l.lines = l.lines[len(l.lines)-tailLines:]
			}
			l.mu.Unlock()
			if l.line != nil {
				l.line(strings.TrimSuffix(line, "\n"))
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "")
}

func (l *tail) has(text string) bool { return strings.Contains(l.String(), text) }

// wait waits until a text was logged.
func (l *tail) wait(ctx context.Context, text string) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !l.has(text) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// TestOneDataFolderHasOneServer starts a second process on the folder of a first.
func TestOneDataFolderHasOneServer(t *testing.T) {
	onSQLite(t)
	at := newSite(t)
	first := serve(t, at)
	second, _ := launch(t, at)
	if code := second.code(20 * time.Second); code != 1 {
		t.Errorf("the second process ended with code %d, want 1", code)
	}
	for _, want := range []string{"another process", "uses this database", "another data folder"} {
		if !second.log.has(want) {
			t.Errorf("its message does not say %q:\n%s", want, second.log)
		}
	}
	out, err := at.program("verify").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "uses this database") {
		t.Errorf("verify beside a server: %v\n%s", err, out)
	}
	if got := newClient(t, first, "c").get("/healthz", nil); got != http.StatusOK {
		t.Errorf("the first server answers %d", got)
	}
	first.stop()
	verify(t, at)
}
