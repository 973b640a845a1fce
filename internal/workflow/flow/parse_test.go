package flow

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
)

func TestParseGraphReadsEveryMember(t *testing.T) {
	want := Graph{
		Nodes: []NodeSpec{
			{NodeID: "s", Type: StartKind},
			{NodeID: "a", Type: TaskKind, Queue: "q", Timeout: Duration(90 * time.Second), Retry: &Retry{
				MaxAttempts:     3,
				InitialInterval: 0, Backoff: 1.5, MaxInterval: Duration(time.Minute),
			}},
			{NodeID: "b", Type: TaskKind, Retry: &Retry{
				MaxAttempts: 1, InitialInterval: Duration(time.Second),
				Backoff: 2, MaxInterval: Duration(time.Hour),
			}},
			{NodeID: "w", Type: WaitKind, WaitKey: "承認 1", Timeout: Duration(24 * time.Hour)},
			{NodeID: "j", Type: JoinKind, Policy: Custom, Expression: "true"},
		},
		Edges: []Edge{
			{From: "s", To: "a"},
			{From: "a", To: "b", On: OnFailure, When: "error != null"},
		},
	}
	json := `{"nodes":[{"nodeId":"s","type":"Start"},
		{"nodeId":"a","type":"Task","queue":"q","timeout":"90s",
			"retry":{"maxAttempts":3.0,"initialInterval":"0s","backoff":1.5,"maxInterval":"1m"}},
		{"nodeId":"b","type":"Task","retry":{}},
		{"nodeId":"w","type":"Wait","waitKey":"承認 1","timeout":"24h"},
		{"nodeId":"j","type":"Join","policy":"CUSTOM","expression":"true"}],
		"edges":[{"from":"s","to":"a"},{"from":"a","to":"b","on":"failure","when":"error != null"}]}`
	yaml := `
nodes:
- {nodeId: s, type: Start}
- nodeId: a
  type: Task
  queue: q
  timeout: 90s
  retry: {maxAttempts: 0x3, initialInterval: 0s, backoff: 1.5, maxInterval: 1m}
- {nodeId: b, type: Task, retry: {}}
- {nodeId: w, type: Wait, waitKey: 承認 1, timeout: 24h}
- {nodeId: j, type: Join, policy: CUSTOM, expression: 'true'}
edges:
- {from: s, to: a}
- {from: a, to: b, on: failure, when: error != null}
`
	for name, got := range map[string]struct {
		text string
		yaml bool
	}{"JSON": {json, false}, "YAML": {yaml, true}, "JSON read as YAML": {json, true}} {
		t.Run(name, func(t *testing.T) {
			g, err := ParseGraph([]byte(got.text), got.yaml)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, g); diff != "" {
				t.Errorf("graph (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMalformedDocumentIsRefused(t *testing.T) {
	tests := []struct {
		name, text, want, field string
	}{
		{"empty", ``, "there is no graph: the document is empty", ""},
		{"cut off", `{"nodes":[{"nodeId":"a"`, "the document ends too early", ""},
		{
			"no JSON", `{"nodes":[{"nodeId":a}]}`,
			"nodes[0].nodeId: malformed JSON at byte 20: invalid character 'a' at start of value", "nodes[0].nodeId",
		},
		{"trailing data", `{"nodes":[]} {}`, "there is something after the end of the graph", ""},
		{"trailing garbage", `{"nodes":[]} x`, "there is something after the end of the graph", ""},
		{
			"bad UTF-8", "{\"nodes\":[{\"nodeId\":\"\xff\"}]}",
			"nodes[0].nodeId: malformed JSON at byte 21: invalid UTF-8", "nodes[0].nodeId",
		},
		{
			"lone surrogate", `{"nodes":[{"nodeId":"\ud800"}]}`,
			"nodes[0].nodeId: malformed JSON at byte 21: invalid surrogate pair `\\ud800\"}]}` in string",
			"nodes[0].nodeId",
		},
		{
			"repeated member", `{"nodes":[{"nodeId":"a","type":"Task","type":"Wait"}]}`,
			"nodes[0].type: is there twice",
			"nodes[0].type",
		},
		{"repeated member of the graph", `{"nodes":[],"nodes":[]}`, "nodes: is there twice", "nodes"},
		{
			"deep",
			strings.Repeat(`{"a":`, 65) + `1` + strings.Repeat(`}`, 65),
			"the document nests deeper than 64",
			"",
		},
		{"unknown member", `{"nodes":[],"name":"x"}`, "name: is not a member that exists here", "name"},
		{
			"member in another case", `{"nodes":[{"nodeID":"a"}]}`, "nodes[0].nodeID: is not a member that exists here",
			"nodes[0].nodeID",
		},
		{
			"unknown member of an edge", `{"edges":[{"from":"a","if":"x"}]}`,
			"edges[0].if: is not a member that exists here", "edges[0].if",
		},
		{"not an object", `[]`, "the graph must be an object", ""},
		{"null", `null`, "the graph must be an object", ""},
		{"nodes are no list", `{"nodes":{}}`, "nodes: must be a list", "nodes"},
		{"nodes are null", `{"nodes":null}`, "nodes: must be a list", "nodes"},
		{"a node is no object", `{"nodes":["a"]}`, "nodes[0]: must be an object", "nodes[0]"},
		{"an edge is null", `{"edges":[null]}`, "edges[0]: must be an object", "edges[0]"},
		{"a cleanup is null", `{"onCancel":null}`, "onCancel: must be an object", "onCancel"},
		{
			"a cleanup by what does not exist", `{"onCancel":{"queue":"q"}}`,
			"onCancel.queue: is not a member that exists here", "onCancel.queue",
		},
		{"a name is a number", `{"nodes":[{"nodeId":7}]}`, "nodes[0].nodeId: must be text", "nodes[0].nodeId"},
		{"a name is null", `{"nodes":[{"nodeId":null}]}`, "nodes[0].nodeId: must be text", "nodes[0].nodeId"},
		{
			"a condition is empty", `{"edges":[{"from":"a","to":"b","when":""}]}`, "edges[0].when: must not be empty",
			"edges[0].when",
		},
		{
			"attempts in text", `{"nodes":[{"retry":{"maxAttempts":"3"}}]}`,
			"nodes[0].retry.maxAttempts: must be an integer", "nodes[0].retry.maxAttempts",
		},
		{
			"half an attempt", `{"nodes":[{"retry":{"maxAttempts":1.5}}]}`,
			"nodes[0].retry.maxAttempts: must be an integer", "nodes[0].retry.maxAttempts",
		},
		{
			"no attempt", `{"nodes":[{"retry":{"maxAttempts":0}}]}`, "nodes[0].retry.maxAttempts: must be 1 to 100",
			"nodes[0].retry.maxAttempts",
		},
		{
			"too many attempts", `{"nodes":[{"retry":{"maxAttempts":101}}]}`,
			"nodes[0].retry.maxAttempts: must be 1 to 100", "nodes[0].retry.maxAttempts",
		},
		{
			"endless attempts", `{"nodes":[{"retry":{"maxAttempts":1e999}}]}`,
			"nodes[0].retry.maxAttempts: must be an integer", "nodes[0].retry.maxAttempts",
		},
		{
			"backoff is true", `{"nodes":[{"retry":{"backoff":true}}]}`, "nodes[0].retry.backoff: must be a number",
			"nodes[0].retry.backoff",
		},
		{
			"backoff too small", `{"nodes":[{"retry":{"backoff":0.5}}]}`, "nodes[0].retry.backoff: must be 1 to 100",
			"nodes[0].retry.backoff",
		},
		{
			"interval is a number", `{"nodes":[{"retry":{"initialInterval":5}}]}`,
			"nodes[0].retry.initialInterval: must be a duration like 50ms, 2s or 24h",
			"nodes[0].retry.initialInterval",
		},
		{
			"interval is no duration", `{"nodes":[{"retry":{"maxInterval":"5 days"}}]}`,
			`nodes[0].retry.maxInterval: "5 days" is not a duration: write it like 50ms, 2s or 24h`,
			"nodes[0].retry.maxInterval",
		},
		{
			"timeout is a number", `{"nodes":[{"timeout":30}]}`,
			"nodes[0].timeout: must be a duration like 50ms, 2s or 24h", "nodes[0].timeout",
		},
		{
			"timeout of nothing", `{"nodes":[{"timeout":"0s"}]}`, "nodes[0].timeout: must be more than 0s",
			"nodes[0].timeout",
		},
		{
			"timeout in the past", `{"nodes":[{"timeout":"-1s"}]}`, "nodes[0].timeout: must be more than 0s",
			"nodes[0].timeout",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseGraph([]byte(tt.text), false)
			checkRefused(t, err, tt.want, detailsOf("", tt.field))
		})
	}
}

// An author knows a node by its name, not by its place in the list.
func TestAnErrorInsideANodeNamesTheNode(t *testing.T) {
	tests := []struct {
		name, text, want, field string
	}{
		{
			"unknown member of a node", `{"nodes":[{"nodeId":"a","type":"Task"},{"nodeId":"b","quue":"x"}]}`,
			"nodes[1].quue: is not a member that exists here", "nodes[1].quue",
		},
		{
			"unknown member of a retry", `{"nodes":[{"nodeId":"a","retry":{"max":1}}]}`,
			"nodes[0].retry.max: is not a member that exists here", "nodes[0].retry.max",
		},
		{
			"a queue is empty", `{"nodes":[{"nodeId":"a","queue":""}]}`, "nodes[0].queue: must not be empty",
			"nodes[0].queue",
		},
		{
			"unknown type", `{"nodes":[{"nodeId":"a","type":"task"}]}`,
			`nodes[0].type: unknown node type "task": use Start, Task, Wait, Fork, Join, Success, Failed or Canceled`,
			"nodes[0].type",
		},
		{
			"type is a list", `{"nodes":[{"nodeId":"a","type":["Task"]}]}`, "nodes[0].type: must be text",
			"nodes[0].type",
		},
		{
			"retry is null", `{"nodes":[{"nodeId":"a","retry":null}]}`, "nodes[0].retry: must be an object",
			"nodes[0].retry",
		},
		{
			"YAML", "nodes:\n- {nodeId: a, quue: x}\n", "nodes[0].quue: is not a member that exists here",
			"nodes[0].quue",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			node := "a"
			if strings.HasPrefix(tt.field, "nodes[1]") {
				node = "b"
			}
			_, err := ParseGraph([]byte(tt.text), tt.name == "YAML")
			checkRefused(t, err, fmt.Sprintf("%s (node %q)", tt.want, node), detailsOf(node, tt.field))
		})
	}
}

func TestAMalformedYAMLDocumentIsRefused(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		bomb += strings.ReplaceAll("aN: &aN [*aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM]\n", "M",
			string(rune('0'+i)))
		bomb = strings.ReplaceAll(bomb, "N", string(rune('1'+i)))
	}
	tests := []struct {
		name, text, want, field string
	}{
		{"empty", "", "there is no graph: the document is empty", ""},
		{"only a comment", "# nothing\n", "there is no graph: the document is empty", ""},
		{"no YAML", "nodes: [", "malformed YAML: yaml: line 1: did not find expected node content", ""},
		{"two documents", "nodes: []\n---\nnodes: []\n", "there is something after the end of the graph", ""},
		{"repeated member", "nodes: []\nedges: []\nnodes: []\n", "nodes: is there twice", "nodes"},
		{
			"repeated member of a node", "nodes:\n- nodeId: a\n  nodeId: b\n", "nodes[0].nodeId: is there twice",
			"nodes[0].nodeId",
		},
		{
			"unknown member",
			"nodes:\n- {quue: x}\n",
			"nodes[0].quue: is not a member that exists here",
			"nodes[0].quue",
		},
		{"number as name", "nodes:\n- {nodeId: 7}\n", "nodes[0].nodeId: must be text", "nodes[0].nodeId"},
		{"no value", "nodes:\n- nodeId:\n", "nodes[0].nodeId: must be text", "nodes[0].nodeId"},
		{"number as key", "nodes:\n- {1: a}\n", "line 2: the key of a member must be plain text", ""},
		{"list as key", "? [a]\n: b\n", "line 1: the key of a member must be plain text", ""},
		{
			"merged members", "nodes:\n- &a {nodeId: a}\n- {<<: *a, type: Task}\n",
			"line 3: the key of a member must be plain text", "",
		},
		{"foreign tag", "nodes:\n- {nodeId: !secret a}\n", "line 2: the tag !secret is not supported", ""},
		{"binary", "nodes:\n- {nodeId: !!binary aGk=}\n", "line 2: the tag !!binary is not supported", ""},
		{"not a number", "nodes:\n- {retry: {backoff: .nan}}\n", `line 2: ".nan" is not a number`, ""},
		{"alias bomb", bomb, "the document stands for more than 110000 values; send a larger graph as JSON", ""},
		{"alias to itself", "nodes: &n\n- *n\n", "the document nests deeper than 64", ""},
		{"unknown alias", "nodes: *n\n", "malformed YAML: yaml: unknown anchor 'n' referenced", ""},
		{"deep", strings.Repeat("[", 65) + strings.Repeat("]", 65), "the document nests deeper than 64", ""},
		{"text", "hello", "the graph must be an object", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseGraph([]byte(tt.text), true)
			checkRefused(t, err, tt.want, detailsOf("", tt.field))
		})
	}
}

// What a caller sends comes back at most in part: an answer is not larger than it must be.
func TestAnErrorQuotesALittleOfALongDocument(t *testing.T) {
	long, ascii := strings.Repeat("名", 100_000), strings.Repeat("x", 100_000)
	for name, text := range map[string]string{
		"a member":   `{"` + long + `":1}`,
		"a type":     `{"nodes":[{"type":"` + long + `"}]}`,
		"a duration": `{"nodes":[{"timeout":"` + long + `"}]}`,
		"an alias":   "nodes: *" + ascii + "\n",
		"a tag":      "nodes: !" + ascii + " a\n",
		"a number":   "nodes: !!int " + long + "\n",
		"a boolean":  "nodes: !!bool " + long + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseGraph([]byte(text), text[0] != '{')
			e, ok := fault.As(err)
			if !ok || len(e.Message) > 512 || !strings.Contains(e.Message, "…") {
				t.Errorf("got %d bytes: %.600v", len(err.Error()), err)
			}
			if details, ok := e.Details.(map[string]any); ok && len(details["field"].(string)) > 512 {
				t.Errorf("the field has %d bytes", len(details["field"].(string)))
			}
		})
	}
}

// detailsOf are the details of a refusal that names a node, a field or both.
func detailsOf(node, field string) any {
	details := make(map[string]any)
	if node != "" {
		details["nodeId"] = node
	}
	if field != "" {
		details["field"] = field
	}
	if len(details) == 0 {
		return nil
	}
	return details
}

func checkRefused(t *testing.T, err error, message string, details any) {
	t.Helper()
	e, ok := fault.As(err)
	if !ok {
		t.Fatalf("got %v, want a fault", err)
	}
	if e.Kind != fault.Invalid || e.Code != CodeInvalidGraph {
		t.Errorf("got kind %v code %s", e.Kind, e.Code)
	}
	if diff := cmp.Diff(message, e.Message); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(details, e.Details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
}

// exampleGraphs are the files of testdata/graphs.
func exampleGraphs(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := fs.Glob(testdata, "testdata/graphs/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no example graphs (%v)", err)
	}
	all := make(map[string][]byte)
	for _, file := range files {
		data, err := testdata.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = data
	}
	return all
}

func FuzzParseGraph(f *testing.F) {
	for name, data := range exampleGraphs(f) {
		f.Add(data, strings.HasSuffix(name, ".yaml"))
	}
	for _, seed := range []string{
		`{"nodes":[{"nodeId":"s","type":"Start"},{"nodeId":"e","type":"Canceled"}],
			"edges":[{"from":"s","to":"e","when":"input == null"}]}`,
		`{"nodes":[{"nodeId":"a","type":"Task","retry":{"maxAttempts":1e2,"backoff":1.0000001}}]}`,
		"nodes: &n [*n]", "a: [1_000, 0o7, 0b1, .5, 2024-01-01, yes, ~]",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, yaml bool) {
		g, err := ParseGraph(data, yaml)
		if err != nil {
			if e, ok := fault.As(err); !ok || e.Kind != fault.Invalid || e.Message == "" {
				t.Fatalf("got %v, want an explained fault", err)
			}
			return
		}
		p, err := g.Compile("g", 1)
		if err != nil {
			if e, ok := fault.As(err); !ok || e.Kind != fault.Invalid || e.Message == "" {
				t.Fatalf("got %v, want an explained fault", err)
			}
			return
		}
		body, digest, err := g.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseGraph(body, false)
		if err != nil {
			t.Fatalf("the canonical form does not parse: %v\n%s", err, body)
		}
		same, err := again.Compile("g", 1)
		if err != nil {
			t.Fatalf("the canonical form does not compile: %v\n%s", err, body)
		}
		if digest != p.Digest || digest != same.Digest {
			t.Errorf("digests %s, %s, %s of\n%s", digest, p.Digest, same.Digest, body)
		}
	})
}
