package flow

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func digestOf(t *testing.T, text string, yaml bool) string {
	t.Helper()
	g, err := ParseGraph([]byte(text), yaml)
	if err != nil {
		t.Fatal(err)
	}
	_, digest, err := g.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestCanonicalIsStable(t *testing.T) {
	g, err := ParseGraph([]byte(`
nodes:
- {nodeId: s, type: Start}
- {nodeId: a, type: Task, timeout: 90s, retry: {initialInterval: 0s}}
- {nodeId: w, type: Wait, waitKey: "承認\n<&>"}
- {nodeId: e, type: Success}
edges:
- {from: s, to: a}
- {from: a, to: w, when: "output.n > 1"}
- {from: w, to: e}
`), true)
	if err != nil {
		t.Fatal(err)
	}
	body, digest, err := g.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"edges":[{"from":"s","on":"success","to":"a"},` +
		`{"from":"a","on":"success","to":"w","when":"output.n > 1"},{"from":"w","on":"success","to":"e"}],` +
		`"nodes":[{"nodeId":"s","type":"Start"},` +
		`{"nodeId":"a","queue":"default","retry":{"backoff":2,"initialInterval":"0s","maxAttempts":1,` +
		`"maxInterval":"1h0m0s"},"timeout":"1m30s","type":"Task"},` +
		`{"nodeId":"w","type":"Wait","waitKey":"承認\n<&>"},{"nodeId":"e","type":"Success"}]}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Errorf("canonical form (-want +got):\n%s", diff)
	}
	// Stored with every execution: a change of this value is a change of the format.
	const stored = "sha256:92715c71f0b8cb5d5c3073ebf3566ef2fb528a1824de856e511579ecd6dd5d73"
	if digest != stored {
		t.Errorf("got digest %s, want %s", digest, stored)
	}
}

func TestGraphsThatSayTheSameHaveOneDigest(t *testing.T) {
	examples := exampleGraphs(t)
	yaml, json := string(examples["sequential.yaml"]), string(examples["sequential.json"])
	want := digestOf(t, yaml, true)
	if got := digestOf(t, json, false); got != want {
		t.Errorf("JSON: got %s, want %s", got, want)
	}
	if got := digestOf(t, json, true); got != want {
		t.Errorf("JSON read as YAML: got %s, want %s", got, want)
	}
	if got := digestOf(t, strings.ReplaceAll(json, " ", "\n\t"), false); got != want {
		t.Errorf("other white space: got %s, want %s", got, want)
	}
	for _, change := range [][2]string{
		{"queue: io, timeout: 30s", "queue: io, timeout: 31s"},
		{"nodeId: convert, type: Task", "nodeId: convert, type: Wait"},
		{
			"{nodeId: store, type: Task, queue: io}",
			"{nodeId: store, type: Task, queue: io, retry: {initialInterval: 0s}}",
		},
		{"{from: store, to: done}", "{from: store, to: done, when: output.ok}"},
	} {
		other := strings.Replace(yaml, change[0], change[1], 1)
		if other == yaml {
			t.Fatalf("%q is not in the example", change[0])
		}
		if got := digestOf(t, other, true); got == want {
			t.Errorf("%s: the digest is the same", change[1])
		}
	}
}

func TestDefaultsInCodeAndInTextAreTheSame(t *testing.T) {
	short := Graph{
		Nodes: []NodeSpec{{NodeID: "a", Type: TaskKind}, {NodeID: "j", Type: JoinKind}},
		Edges: []Edge{{From: "a", To: "j"}},
	}
	long := Graph{
		Nodes: []NodeSpec{
			{NodeID: "a", Type: TaskKind, Queue: "default", Retry: &Retry{
				InitialInterval: Duration(time.Second),
				MaxInterval:     Duration(time.Hour),
			}},
			{NodeID: "j", Type: JoinKind, Policy: AllSuccess},
		},
		Edges: []Edge{{From: "a", To: "j", On: OnSuccess}},
	}
	_, a, err := short.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	_, b, err := long.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if a != b {
		t.Errorf("got %s and %s", a, b)
	}
	if long.Nodes[0].Retry.MaxAttempts != 0 {
		t.Error("the graph has changed")
	}
}

func TestTheExamplesCompile(t *testing.T) {
	for name, data := range exampleGraphs(t) {
		t.Run(name, func(t *testing.T) {
			g, err := ParseGraph(data, strings.HasSuffix(name, ".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			p, err := g.Compile(name, 1)
			if err != nil {
				t.Fatal(err)
			}
			body, digest, err := p.Graph.Canonical()
			if err != nil || digest != p.Digest {
				t.Fatalf("digest %s, plan has %s (%v)", digest, p.Digest, err)
			}
			again, err := ParseGraph(body, false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(p.Graph, again); diff != "" {
				t.Errorf("the canonical form reads as another graph (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "A.b_c-9": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "a b": false, "a/b": false, "日本": false, "a\x00": false,
		"\xff": false,
	} {
		if got := ValidName(name); got != want {
			t.Errorf("ValidName(%q) = %v, want %v", name, got, want)
		}
	}
}
