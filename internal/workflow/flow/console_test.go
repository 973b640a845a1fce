package flow

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// consoleLogs is what the console's own reducer, web/src/flow, is tested with: logs that the scripts in testdata make.
const consoleLogs = "../../../web/src/flow/testdata/logs.jsonl"

// What of the scripts goes there.
const (
	consoleLogBytes  = 8 << 10 // of a log, at most
	consoleLogsOfOne = 2       // logs of a script, at most
)

// played is an execution of a script. A row of its log has type, milliseconds since the script's zero and payload.
type played struct {
	Script  string      `json:"script"`
	Graph   Graph       `json:"graph"`
	Log     [][3]any    `json:"log"`
	Refused []refusedAt `json:"refused,omitempty"`
}

// refusedAt is a refusal after an event.
type refusedAt struct {
	Seq     uint64   `json:"seq"`
	Command string   `json:"command"`
	Node    string   `json:"node,omitempty"`
	Refusal *Refusal `json:"refusal"`
}

// keep keeps the execution that a script has played until now.
func (s *script) keep() {
	if len(s.log) > 0 {
		p := played{Graph: s.plan.Graph.WithoutDefaults(), Refused: s.refused}
		for i := range s.log {
			p.Log = append(p.Log, [3]any{s.log[i].Type, int64(s.log[i].At - scriptZero), s.log[i].Payload})
		}
		s.played = append(s.played, p)
	}
	s.refused = nil
}

// It is held fresh here, and written anew with -update. What the server shows of these logs is added by
// internal/httpapi.
func TestTheConsoleIsTestedWithLogsOfTheScripts(t *testing.T) {
	files, err := fs.Glob(testdata, "testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []played
	known, refusals := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		text, err := testdata.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for _, p := range playScript(t, string(text)).played {
			p.Script = strings.TrimSuffix(filepath.Base(file), ".txt")
			shape := shapeOf(&p)
			if kept == consoleLogsOfOne || known[shape] || len(marshal(t, p.Log)) > consoleLogBytes {
				continue
			}
			known[shape] = true
			all = append(all, p)
			kept++
		}
	}
	for i := range all {
		var first []refusedAt // one of each
		for _, r := range all[i].Refused {
			if key := fmt.Sprint(r.Refusal.Guard, r.Command, r.Refusal.NodeStatus); !refusals[key] {
				refusals[key] = true
				first = append(first, r)
			}
		}
		all[i].Refused = first
	}
	wide := playScript(t, wideScript(21)).played[0]
	wide.Script = "wide"
	all = append(all, wide)
	var got []byte
	for i := range all {
		got = append(append(got, marshal(t, all[i])...), '\n')
	}
	if *update {
		if err := os.WriteFile(consoleLogs, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(consoleLogs); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the scripts give (%v): write it anew with -update", consoleLogs, err)
	}
}

// wideScript is a Fork of which a brief payload does not name all branches.
func wideScript(branches int) string {
	var nodes, edges, work strings.Builder
	for i := range branches {
		id := fmt.Sprintf("b%02d", i+1)
		fmt.Fprintf(&nodes, "- {nodeId: %s, type: Task}\n", id)
		fmt.Fprintf(&edges, "- {from: f, to: %s}\n- {from: %s, to: j}\n", id, id)
		end := [...]string{"succeed", "fail", "succeed"}[i%3]
		fmt.Fprintf(&work, "start %s worker=w%d lease=60\n%s %s\n", id, i%4, end, id)
	}
	return "graph <<\nnodes:\n- {nodeId: s, type: Start}\n- {nodeId: f, type: Fork}\n" +
		"- {nodeId: j, type: Join, policy: ALL_DONE}\n- {nodeId: ok, type: Success}\n" + nodes.String() +
		"edges:\n- {from: s, to: f}\n- {from: j, to: ok}\n" + edges.String() + ">>\nrun\n" + work.String()
}

// shapeOf is the same for executions that went the same way.
func shapeOf(p *played) string {
	var b strings.Builder
	for _, n := range p.Graph.Nodes {
		b.WriteString(n.Type.String())
	}
	for _, row := range p.Log {
		fmt.Fprint(&b, row[0], row[2].(Payload).Node(), " ")
	}
	return b.String()
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
