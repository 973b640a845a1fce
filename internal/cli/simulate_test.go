package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/workflow/play"
)

const patient = `nodes:
  - {nodeId: start,  type: Start}
  - {nodeId: charge, type: Task, timeout: 1m30s, retry: {maxAttempts: 3}}
  - {nodeId: done,   type: Success}
edges:
  - {from: start,  to: charge}
  - {from: charge, to: done}
`

// TestASimulationIsWhatAServerEmits lets a worker be lost, work too long and succeed,
// in a simulation and on a server, and compares the logs.
func TestASimulationIsWhatAServerEmits(t *testing.T) {
	r := newRig(t, options{})
	t.Setenv("RENGA_SERVER", r.url)
	r.clock.at.Store(int64(play.Beginning))
	file := filepath.Join(r.dir, "patient.yaml")
	if err := os.WriteFile(file, []byte(patient), 0o600); err != nil {
		t.Fatal(err)
	}
	played := r.must("", "graph", "simulate", file, "-o", "json",
		"--outcome", "charge=lost", "--outcome", "charge=timeout", "--outcome", `charge=succeed@25s:{"receipt":"R-1"}`)

	r.must("", "graph", "apply", file)
	id := strings.TrimSpace(r.must("", "execution", "create", "patient", "--start", "-q"))
	at := func(d time.Duration) { r.clock.at.Store(int64(play.Beginning.Add(d))) }
	claim := func() { r.must("", "tasks", "claim", "--worker", "worker", "--wait", "30s") }
	renew := func(when ...time.Duration) {
		for _, d := range when {
			at(d)
			r.must("", "tasks", "progress", id, "charge", "--worker", "worker")
		}
	}
	claim()
	at(60 * time.Second) // the lease is over
	r.until(id, "NODE_FAIL_REPORTED", 1)
	at(61 * time.Second) // the next attempt is due
	claim()
	renew(81*time.Second, 101*time.Second, 121*time.Second, 141*time.Second)
	at(151 * time.Second) // the timeout passes
	r.until(id, "NODE_FAIL_REPORTED", 2)
	at(153 * time.Second)
	claim()
	renew(173 * time.Second)
	at(178 * time.Second)
	r.must("", "tasks", "complete", id, "charge", "--worker", "worker", "--output", `{"receipt":"R-1"}`)
	served := r.must("", "execution", "events", id, "-o", "json")

	if diff := cmp.Diff(logOf(t, served, "items"), logOf(t, played, "events")); diff != "" {
		t.Errorf("-server +simulation:\n%s", diff)
	}
}

// until waits for the n-th event of a type.
func (r *rig) until(id, kind string, n int) {
	r.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if strings.Count(r.must("", "execution", "events", id), kind) >= n {
			return
		}
	}
	r.t.Fatalf("%s was not emitted %d times", kind, n)
}

// logOf is the log in an answer, a line for each event, without what differs from
// execution to execution: ids, the correlation, and the name of the user.
func logOf(t *testing.T, answer, member string) []string {
	t.Helper()
	var whole map[string]jsontext.Value
	if err := json.Unmarshal([]byte(answer), &whole); err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Seq        uint64         `json:"seq"`
		Type       string         `json:"type"`
		OccurredAt string         `json:"occurredAt"`
		Actor      jsontext.Value `json:"actor"`
		Payload    jsontext.Value `json:"payload"`
	}
	if err := json.Unmarshal(whole[member], &events); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, ev := range events {
		for _, part := range []*jsontext.Value{&ev.Actor, &ev.Payload} {
			if err := part.Canonicalize(); err != nil {
				t.Fatal(err)
			}
		}
		line := fmt.Sprintf("%d %s %s %s %s", ev.Seq, ev.OccurredAt, ev.Type, ev.Actor, ev.Payload)
		lines = append(lines, strings.ReplaceAll(line, `{"id":"user","kind":"user"}`, `{"kind":"user"}`))
	}
	return lines
}
