package flow

import (
	"bytes"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
)

// What is in testdata, as it was when the test was compiled.
//
//go:embed testdata
var testdata embed.FS

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// The scripts in testdata read like a trace: one command a line, the events that
// it leads to indented below. Instants are shown from the script's own zero.
//
//	graph <<       a graph in YAML, up to a line ">>"
//	now +5s        moves the clock
//	create, run    begin a new execution; run also starts it and shows only that
//	COMMAND NODE name=value …
//	expire         every deadline that has come, until none is left
//	state          the state in short
func TestScripts(t *testing.T) {
	files, err := fs.Glob(testdata, "testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			want, err := testdata.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
			}
		})
	}
}

// script runs one file and writes it again as it should read.
type script struct {
	t     *testing.T
	plan  *Plan
	now   Time
	runs  int
	state State
	log   []Event
	out   strings.Builder

	played  []played
	refused []refusedAt
}

// scriptZero is the instant that scripts count from.
var scriptZero = At(time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC))

var scriptActor = Actor{Kind: KindUser, ID: "ann"}

func runScript(t *testing.T, text string) string { return playScript(t, text).out.String() }

func playScript(t *testing.T, text string) *script {
	s := &script{t: t, now: scriptZero}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, "\t") {
			continue // what an earlier run answered
		}
		fmt.Fprintln(&s.out, line)
		switch {
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "#"):
		case line == "graph <<":
			var body strings.Builder
			for i++; i < len(lines); i++ {
				fmt.Fprintln(&s.out, lines[i])
				if lines[i] == ">>" {
					break
				}
				fmt.Fprintln(&body, lines[i])
			}
			s.graph(body.String())
		default:
			s.command(line)
		}
	}
	s.keep()
	return s
}

func (s *script) graph(text string) {
	s.t.Helper()
	s.keep()
	s.plan = compileGraph(s.t, text)
	s.state, s.log, s.now = State{}, nil, scriptZero
}

func compileGraph(t testing.TB, text string) *Plan {
	t.Helper()
	g, err := ParseGraph([]byte(text), true)
	if err != nil {
		t.Fatalf("graph: %v\n%s", err, text)
	}
	p, err := g.Compile("g", 1)
	if err != nil {
		t.Fatalf("graph: %v\n%s", err, text)
	}
	return p
}

func (s *script) command(line string) {
	s.t.Helper()
	verb, node, args := s.split(line)
	switch verb {
	case "now":
		d, err := time.ParseDuration(strings.TrimPrefix(node, "+"))
		if err != nil {
			s.t.Fatalf("%q: %v", line, err)
		}
		s.now = s.now.Add(d)
	case "state":
		s.show(describeState(&s.state))
	case "create", "run":
		s.keep()
		s.state, s.log = State{}, nil
		s.runs++
		var labels Labels
		if data := args.data("labels"); data != nil {
			if err := labels.UnmarshalJSON(data); err != nil {
				s.t.Fatal(err)
			}
		}
		create := Create{Input: args.data("input"), BusinessKey: args.words["key"], Labels: labels}
		if text := args.words["of"]; text != "" {
			if err := create.RerunOf.UnmarshalText([]byte(text)); err != nil {
				s.t.Fatal(err)
			}
		}
		events, err := s.try(create)
		if verb == "create" || err != nil {
			s.answer(events, err)
			return
		}
		s.answer(s.try(Start{}))
	case "expire":
		if node == "" {
			s.expireAll()
			return
		}
		s.answer(s.try(Expire{Node: node, Attempt: args.number("attempt"), At: args.instant("at")}))
	default:
		s.answer(s.try(args.command(s.t, verb, node)))
	}
}

// expireAll does what an engine does: it asks for what is due and sends it.
func (s *script) expireAll() {
	for {
		due := s.state.Due(s.now)
		if len(due) == 0 {
			return
		}
		s.show(fmt.Sprintf("(expire %s attempt=%d at=%s)", due[0].Node, due[0].Attempt, since(due[0].At)))
		events, err := s.try(due[0])
		s.answer(events, err)
		if len(events) == 0 {
			return
		}
	}
}

// try decides a command, gives it the data that it needs, applies what follows
// and checks what must hold for every decision.
func (s *script) try(c Command) ([]Event, error) {
	s.t.Helper()
	f := Facts{
		Now: s.now, ID: testID(s.runs, int(s.state.Seq)), Execution: testID(s.runs, 1<<20), Plan: s.plan,
		Actor: scriptActor, CorrelationID: "c-1", Outputs: map[uint64]Data{}, Compensation: testID(s.runs, 2<<20),
	}
	before := encode(s.t, &s.state)
	events, err := Decide(s.state, c, f)
	var need Need
	for errors.As(err, &need) {
		s.show("? " + strings.TrimPrefix(need.Error(), "flow: "))
		for _, seq := range need {
			f.Outputs[seq] = DataOf(s.log[seq-1].Payload)
		}
		need = nil
		events, err = Decide(s.state, c, f)
	}
	if after := encode(s.t, &s.state); !bytes.Equal(before, after) {
		s.t.Errorf("Decide(%s) changed its input:\n%s", c.Name(), cmp.Diff(string(before), string(after)))
	}
	for _, ev := range events {
		s.state = Apply(s.state, ev)
	}
	s.log = append(s.log, events...)
	s.replay()
	return events, err
}

// replay checks that the log, written and read again, gives the same state.
func (s *script) replay() {
	s.t.Helper()
	var again State
	for _, ev := range s.log {
		line, err := AppendEnvelope(nil, &ev)
		if err != nil {
			s.t.Fatal(err)
		}
		got, err := UnmarshalEvent(line)
		if err != nil {
			s.t.Fatal(err)
		}
		again = Apply(again, got)
	}
	if diff := cmp.Diff(string(encode(s.t, &s.state)), string(encode(s.t, &again))); diff != "" {
		s.t.Fatalf("the log does not give the state (-state +log):\n%s", diff)
	}
}

func (s *script) answer(events []Event, err error) {
	s.t.Helper()
	var refused *Refusal
	if errors.As(err, &refused) {
		s.refused = append(s.refused, refusedAt{s.state.Seq, refused.Command, refused.Node, refused})
		at := refused.Cause.Seq
		if refused.Guard == GuardCancelFence {
			at = refused.Fence
		}
		s.show(fmt.Sprintf("! %s at %d: %s", refused.Guard, at, refused.Reason))
		return
	}
	if e, ok := fault.As(err); ok {
		s.show("! " + e.Code + ": " + e.Message)
		return
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if len(events) == 0 {
		s.show("-")
	}
	for i := range events {
		s.show(describe(&events[i]))
	}
}

func (s *script) show(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(&s.out, "\t%s\n", line)
	}
}

// args are the name=value words of a line.
type args struct {
	t     testing.TB
	line  string
	words map[string]string
	used  map[string]bool
}

func (s *script) split(line string) (verb, node string, a args) {
	words := strings.Fields(line)
	verb, words = words[0], words[1:]
	if len(words) > 0 && !strings.Contains(words[0], "=") {
		node, words = words[0], words[1:]
	}
	a = args{s.t, line, map[string]string{}, map[string]bool{}}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		a.words[name] = value
	}
	return verb, node, a
}

func (a args) has(name string) bool { _, ok := a.words[name]; return ok }

func (a args) number(name string) int {
	if !a.has(name) {
		return 0
	}
	n, err := strconv.Atoi(a.words[name])
	if err != nil {
		a.t.Fatalf("%q: %v", a.line, err)
	}
	return n
}

func (a args) instant(name string) Time {
	d, err := time.ParseDuration(strings.TrimPrefix(a.words[name], "+"))
	if err != nil {
		a.t.Fatalf("%q: %v", a.line, err)
	}
	return scriptZero.Add(d)
}

// data is JSON, or @N for an object of N bytes.
func (a args) data(name string) Data {
	value, ok := a.words[name]
	if !ok {
		return nil
	}
	if size, ok := strings.CutPrefix(value, "@"); ok {
		n, err := strconv.Atoi(size)
		if err != nil {
			a.t.Fatalf("%q: %v", a.line, err)
		}
		return Data(`{"x":"` + strings.Repeat("x", n-8) + `"}`)
	}
	return Data(value)
}

// text has spaces written as underscores.
func (a args) list(name string) []string {
	if !a.has(name) {
		return nil
	}
	return strings.Split(a.words[name], ",")
}

func (a args) text(name string) string { return strings.ReplaceAll(a.words[name], "_", " ") }

func (a args) command(t testing.TB, verb, node string) Command {
	t.Helper()
	attempt, worker := a.number("attempt"), a.words["worker"]
	switch verb {
	case "start":
		if node == "" {
			return Start{}
		}
		return StartNode{Node: node, Attempt: attempt, Worker: worker, Lease: a.number("lease")}
	case "cancel":
		if node == "" {
			return Cancel{Reason: a.text("reason")}
		}
		return CancelNode{Node: node, Reason: a.text("reason")}
	case "archive":
		return Archive{Reason: a.text("reason")}
	case "progress":
		c := Progress{
			Node: node, Attempt: attempt, Worker: worker, Message: a.text("message"),
			Metrics: a.data("metrics"),
		}
		if a.has("progress") {
			p := float64(a.number("progress"))
			c.Progress = &p
		}
		return c
	case "wait":
		return Wait{Node: node, Attempt: attempt, Worker: worker, WaitKey: a.words["key"], Prompt: a.data("prompt")}
	case "resume":
		c := Resume{Node: node, ResumeKey: a.words["key"], Output: a.data("output"), As: Principal{
			Users: a.list("user"), Roles: a.list("role"), Groups: a.list("group"),
		}}
		if a.has("message") { // as ID,NAME or ID,NAME,KEY
			part := append(a.list("message"), "")
			c.Message = &Received{ID: part[0], Awaited: Awaited{Name: part[1], Key: part[2]}}
		}
		return c
	case "succeed":
		return Succeed{Node: node, Attempt: attempt, Worker: worker, Output: a.data("output"), Next: a.has("next")}
	case "fail":
		c := Fail{Node: node, Attempt: attempt, Worker: worker, Next: a.has("next")}
		if a.has("code") || a.has("message") || a.has("detail") || a.has("final") {
			c.Error = &Error{
				Code: a.words["code"], Message: a.text("message"), Detail: a.data("detail"), Final: a.has("final"),
			}
		}
		return c
	}
	t.Fatalf("%q: no such command", a.line)
	return nil
}

// testID is an ID that is made up, the n-th of an execution.
func testID(execution, n int) ID {
	id := ID{0x01, 0x96, 0xf0, 0, 0, byte(execution), 0x70, byte(execution >> 8), 0x80}
	return id.Plus(n)
}

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
}

func encode(t failer, s *State) []byte {
	t.Helper()
	b, err := AppendState(nil, s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
