package httpapi

import (
	"bufio"
	"bytes"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

var updateConsole = flag.Bool("update", false, "write what the console is tested with anew")

// What the console's own reducer, web/src/flow, is tested with: logs that a test of internal/workflow/flow
// writes, and what the server shows of them.
const (
	consoleLogs  = "../../web/src/flow/testdata/logs.jsonl"
	consoleShown = "../../web/src/flow/testdata/shown.jsonl"
)

// consoleLog is a line of the logs.
type consoleLog struct {
	Script  string              `json:"script"`
	Log     [][3]jsontext.Value `json:"log"`
	Refused []struct {
		Command string       `json:"command"`
		Node    string       `json:"node"`
		Refusal flow.Refusal `json:"refusal"`
	} `json:"refused"`
}

// consoleView is what the server shows of a log.
type consoleView struct {
	Script   string                    `json:"script"`
	States   []consoleStep             `json:"states"`          // GET …?at=1, 2, …
	Brief    map[uint64]jsontext.Value `json:"brief,omitempty"` // the events that payload=brief shortens, by seq
	Attempts []flow.NodeAttempts       `json:"attempts"`
	Refused  []jsontext.Value          `json:"refused,omitempty"` // the errors of the refusals
}

// consoleStep is what changed from one state to the next, also in its nodes: the members that have another value, and
// those that are gone.
type consoleStep struct {
	Node  string                    `json:"nodeId,omitempty"`
	Set   map[string]jsontext.Value `json:"set,omitempty"`
	Unset []string                  `json:"unset,omitempty"`
	Nodes []consoleStep             `json:"nodes,omitempty"`
}

// It is held fresh here, and written anew with -update.
func TestTheConsoleIsTestedWithWhatTheServerShows(t *testing.T) {
	raw, err := os.ReadFile(consoleLogs)
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, len(raw))
	for lines.Scan() {
		var log consoleLog
		decodeConsole(t, lines.Bytes(), &log)
		got = append(append(got, encodeConsole(t, showConsole(t, &log))...), '\n')
	}
	if *updateConsole {
		if err := os.WriteFile(consoleShown, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(consoleShown); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the server shows (%v): write it anew with -update", consoleShown, err)
	}
}

func showConsole(t *testing.T, log *consoleLog) *consoleView {
	t.Helper()
	out := &consoleView{Script: log.Script, Brief: map[uint64]jsontext.Value{}}
	var state flow.State
	var all flow.Attempts
	var before map[string]jsontext.Value
	for i, row := range log.Log {
		ev := consoleEvent(t, i, row)
		state = flow.Apply(state, ev)
		all.Add(&ev)
		var now map[string]jsontext.Value
		decodeConsole(t, encodeConsole(t, showExecution(&engine.View{State: state})), &now)
		out.States = append(out.States, stepOf(t, before, now))
		before = now
		if v := showEvent(&ev, true); v.Counts != nil {
			out.Brief[ev.Seq] = encodeConsole(t, v)
		}
	}
	out.Attempts = all.Nodes()
	for _, r := range log.Refused {
		refusal := r.Refusal
		refusal.Command, refusal.Node = r.Command, r.Node
		member := appendRefusal(nil, &refusal, false)
		out.Refused = append(out.Refused, member[len(`"error":`):len(member)-1])
	}
	return out
}

// consoleEvent is the event of a row: type, milliseconds since the zero of the scripts and payload.
func consoleEvent(t *testing.T, i int, row [3]jsontext.Value) flow.Event {
	t.Helper()
	zero := flow.At(time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC))
	ev := flow.Event{
		ID: flow.ID{15: byte(i), 14: byte(i >> 8), 6: 0x70, 8: 0x80}, Execution: flow.ID{0: 1, 6: 0x70, 8: 0x80},
		Seq: uint64(i + 1), Actor: flow.Actor{Kind: flow.KindSystem}, CorrelationID: "c-1",
	}
	var after int64
	decodeConsole(t, row[0], &ev.Type)
	decodeConsole(t, row[1], &after)
	ev.At = zero.Add(time.Duration(after) * time.Millisecond)
	var err error
	if ev.Payload, err = flow.ParsePayload(ev.Type, row[2]); err != nil {
		t.Fatal(err)
	}
	return ev
}

func stepOf(t *testing.T, before, now map[string]jsontext.Value) consoleStep {
	t.Helper()
	step := changes(before, now)
	var old, nodes []map[string]jsontext.Value
	if before != nil {
		decodeConsole(t, before["nodes"], &old)
	}
	decodeConsole(t, now["nodes"], &nodes)
	for i, n := range nodes {
		var was map[string]jsontext.Value
		if i < len(old) {
			was = old[i]
		}
		change := changes(was, n)
		if len(change.Set)+len(change.Unset) > 0 {
			decodeConsole(t, n["nodeId"], &change.Node)
			step.Nodes = append(step.Nodes, change)
		}
	}
	return step
}

// changes compares two objects, but for the nodes and the seq of an execution.
func changes(before, now map[string]jsontext.Value) consoleStep {
	step := consoleStep{Set: map[string]jsontext.Value{}}
	for name, value := range now {
		if name != "nodes" && name != "seq" && string(value) != string(before[name]) {
			step.Set[name] = value
		}
	}
	for name := range before {
		if _, still := now[name]; !still {
			step.Unset = append(step.Unset, name)
		}
	}
	slices.Sort(step.Unset)
	return step
}

func encodeConsole(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decodeConsole(t *testing.T, raw []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v, flow.Stored); err != nil {
		t.Fatal(err)
	}
}
