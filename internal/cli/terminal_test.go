package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"renga.dev/renga/internal/workflow/flow"
)

// syncBuffer is a buffer that several goroutines write to, and that tells when.
type syncBuffer struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	wrote chan struct{}
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.wrote <- struct{}{}:
	default:
	}
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// await waits until a text was written.
func (b *syncBuffer) await(t *testing.T, text string) {
	t.Helper()
	late := time.After(20 * time.Second)
	for !strings.Contains(b.String(), text) {
		select {
		case <-b.wrote:
		case <-late:
			t.Fatalf("%q did not come:\n%s", text, b.String())
		}
	}
}

const forked = `nodes:
  - {nodeId: start,   type: Start}
  - {nodeId: both,    type: Fork}
  - {nodeId: charge,  type: Task, timeout: 5m, retry: {maxAttempts: 2}}
  - {nodeId: approve, type: Wait, waitKey: "承認:見積", timeout: 72h}
  - {nodeId: joined,  type: Join}
  - {nodeId: done,    type: Success}
edges:
  - {from: start, to: both}
  - {from: both, to: charge}
  - {from: both, to: approve}
  - {from: charge, to: joined}
  - {from: approve, to: joined}
  - {from: joined, to: done}
`

// TestWatchDrawsTheGraphOnATerminal follows an execution to its end and looks at
// the pictures.
func TestWatchDrawsTheGraphOnATerminal(t *testing.T) {
	r := newRig(t, options{})
	t.Setenv("RENGA_SERVER", r.url)
	r.must(forked, "graph", "apply", "-", "--id", "order")
	id := strings.TrimSpace(r.must("", "execution", "create", "order", "--start", "-q"))
	r.must("", "tasks", "claim", "--worker", "太郎")
	r.must("", "tasks", "progress", id, "charge", "--worker", "太郎", "--percent", "40", "--message", "照会中")
	out := &syncBuffer{wrote: make(chan struct{}, 1)}
	root := &root{}
	ended := make(chan int, 1)
	go func() {
		ended <- Run(t.Context(), Program{
			Root: root, Flags: &root.Flags, In: strings.NewReader(""), Out: out, Err: out,
			now: r.clock.Now, screen: &screen{terminal: true, width: 100, height: 30},
		}, []string{"execution", "watch", id})
	}()
	out.await(t, "照会中")
	first := strings.Split(out.String(), "\x1b[J")[0]
	r.must("", "tasks", "complete", id, "charge", "--worker", "太郎")
	out.await(t, "1 of 2 branches")
	r.must("", "execution", "resume", id, "approve", "--key", "承認:見積", "--output", `{"ok":true}`)
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
	pictures := strings.Split(strings.TrimSuffix(out.String(), "\x1b[J"), "\x1b[J")
	for i, picture := range []string{first, pictures[len(pictures)-1]} {
		got := undraw(picture)
		want := []string{`<id>  order version 1  ACTIVE  0s  16 events
✓ start      Start    SUCCEEDED
✓ both       Fork     SUCCEEDED
▸ │ charge   Task     RUNNING    attempt 1, 太郎, for 0s, 40%, 照会中, times out in 5m0s
? │ approve  Wait     WAITING    key 承認:見積, 72h0m0s left
  joined     Join     CREATED
  done       Success  CREATED
`, `<id>  order version 1  COMPLETED  0s  26 events
✓ start      Start    SUCCEEDED
✓ both       Fork     SUCCEEDED
✓ │ charge   Task     SUCCEEDED
✓ │ approve  Wait     SUCCEEDED
✓ joined     Join     SUCCEEDED
✓ done       Success  SUCCEEDED
`}[i]
		if got = strings.ReplaceAll(got, id, "<id>"); got != want {
			t.Errorf("picture %d:\n%s\nwant:\n%s", i, got, want)
		}
	}
}

var control = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]|\r`)

// undraw is a picture without what moves the cursor.
func undraw(picture string) string { return control.ReplaceAllString(picture, "") }

func TestALongGraphIsCutToWhatTheScreenHolds(t *testing.T) {
	l := &live{app: &App{now: time.Now}}
	for i := range 100 {
		id := "n" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26))
		l.graph = append(l.graph, outlined{id: id, kind: "Task"})
		n := &flow.Node{ID: id, Kind: flow.TaskKind}
		switch {
		case i == 3:
			n.Status = flow.NodeIsFailed
		case i == 50:
			n.Status = flow.NodeIsRunning
		case i < 50:
			n.Status = flow.NodeIsSucceeded
		}
		l.state.Nodes = append(l.state.Nodes, n)
	}
	l.state.Seq = 1
	size := screen{terminal: true, width: 80, height: 24}
	picture := l.picture(size)
	if len(picture) > size.height-1 {
		t.Errorf("%d lines on a screen of %d", len(picture), size.height)
	}
	text := strings.Join(picture, "\n")
	for _, want := range []string{l.graph[3].id + " ", "FAILED", l.graph[50].id + " ", "RUNNING", "and 80 nodes more"} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture lacks %q:\n%s", want, text)
		}
	}
}

func TestColoursAreForTerminalsAndRespectNoColor(t *testing.T) {
	r := newRig(t, options{})
	r.orders(1)
	for _, c := range []struct {
		on   *screen
		want bool
	}{{nil, false}, {&screen{terminal: true}, false}, {&screen{terminal: true, colours: true}, true}} {
		out, _, _ := r.runWith(Program{screen: c.on}, "", "execution", "list")
		if got := strings.Contains(out, "\x1b[36mACTIVE\x1b[0m"); got != c.want {
			t.Errorf("on %+v: coloured %t, want %t: %q", c.on, got, c.want, out)
		}
	}
	env := func(set ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(set); i += 2 {
				if set[i] == name {
					return set[i+1]
				}
			}
			return ""
		}
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("SKIP: there is no terminal to look at: %v", err)
	}
	defer terminal.Close()
	for _, c := range []struct {
		env  func(string) string
		want screen
	}{
		{env("TERM", "xterm"), screen{terminal: true, colours: true}},
		{env("TERM", "xterm", "NO_COLOR", "1"), screen{terminal: true}},
		{env("TERM", "dumb"), screen{}},
	} {
		got := look(terminal, c.env)
		got.width, got.height = 0, 0
		if got != c.want {
			t.Errorf("got %+v, want %+v", got, c.want)
		}
	}
	if got := look(&bytes.Buffer{}, env("TERM", "xterm")); got != (screen{}) {
		t.Errorf("a buffer is %+v", got)
	}
}

func TestWhatOthersWroteCannotMoveTheCursor(t *testing.T) {
	r := newRig(t, options{})
	id := r.orders(1)[0]
	r.must("", "tasks", "claim", "--worker", "w1")
	r.must("", "tasks", "fail", id, "a", "--worker", "w1", "--code", "X", "--message", "a\x1b[2Jb\u202ec\nd")
	for _, command := range []string{"show", "events", "why", "watch"} {
		out, _, _ := r.run("execution", command, id)
		if strings.ContainsAny(out, "\x1b\u202e") || !strings.Contains(out, `\u001b[2Jb`) {
			t.Errorf("%s: %q", command, out)
		}
	}
}

func TestJapaneseNamesAlign(t *testing.T) {
	s := screen{}
	out := s.grid("NAME, WHAT", [][]any{{"太郎", "a"}, {"ab", "b"}, {"ﾊﾝｶｸ", "c"}, {"注文の確認", "d"}})
	at := -1
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		column := text.StringWidthWithoutEscSequences(line[:strings.LastIndex(line, " ")+1])
		if at < 0 {
			at = column
		}
		if column != at {
			t.Errorf("the second column begins at %d, not %d: %q", column, at, line)
		}
	}
}

func TestLongRowsAreCutOnATerminalAlone(t *testing.T) {
	row := [][]any{{strings.Repeat("長", 100)}}
	if out := (screen{width: 40}).grid("", row); text.LongestLineLen(out) > 40 {
		t.Errorf("%d columns on a screen of 40", text.LongestLineLen(out))
	}
	if out := (screen{}).grid("", row); text.LongestLineLen(out) != 200 {
		t.Errorf("%d columns, want all 200", text.LongestLineLen(out))
	}
}

// TestAProgressBarIsShownOnATerminal runs the bar on a pseudo terminal of its own.
func TestAProgressBarIsShownOnATerminal(t *testing.T) {
	var errs syncBuffer
	errs.wrote = make(chan struct{}, 1)
	a := &App{Flags: &Flags{Output: "table"}, Err: &errs, notice: screen{terminal: true, width: 80}}
	bar := a.Bar("executions", 10)
	bar.Set(5)
	errs.await(t, "50.00%")
	bar.Set(10)
	bar.End()
	if !strings.Contains(errs.String(), "executions") || !strings.Contains(errs.String(), "done!") {
		t.Errorf("the bar: %q", errs.String())
	}
	var quiet bytes.Buffer
	for _, a := range []*App{
		{Flags: &Flags{Output: "json"}, Err: &quiet, notice: screen{terminal: true}}, {
			Flags: &Flags{Output: "table"},
			Err:   &quiet,
		},
	} {
		bar := a.Bar("executions", 10)
		bar.Set(5)
		bar.End()
	}
	if quiet.Len() > 0 {
		t.Errorf("without a terminal, or for scripts: %q", quiet.String())
	}
}

// wrapper puts a program `renga` that is this test binary into a folder for $PATH.
func wrapper(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "#!/bin/sh\n" + asProgram + "=1 exec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "renga"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
