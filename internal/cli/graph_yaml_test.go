package cli

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/workflow/flow"
)

// TestAGraphInYAMLIsWrittenAsPeopleDo prints a stored graph without its defaults, and with short times.
func TestAGraphInYAMLIsWrittenAsPeopleDo(t *testing.T) {
	const want = `nodes:
  - {nodeId: start, type: Start}
  - {nodeId: a, type: Task, retry: {maxAttempts: 3}, timeout: 5m}
  - {nodeId: b, type: Task, retry: {maxAttempts: 2, initialInterval: 1m30s, backoff: 1}}
  - {nodeId: c, type: Wait, timeout: 48h, remind: {after: 10h, every: 2h30m}}
  - {nodeId: d, type: Wait, for: 100ms}
  - {nodeId: done, type: Success}
edges:
  - {from: start, to: a}
  - {from: a, to: b}
  - {from: b, to: c}
  - {from: c, to: d}
  - {from: d, to: done}
`
	graph, err := flow.ParseGraph([]byte(want), true)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := graph.Compile("g", 1)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(plan.Graph)
	if err != nil {
		t.Fatal(err)
	}
	got, err := graphYAML(stored)
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestAGraphInYAMLIsTheStoredGraph writes a stored graph as YAML and reads it again: it has the same digest, whatever
// its texts look like.
func TestAGraphInYAMLIsTheStoredGraph(t *testing.T) {
	source := `{"nodes":[
		{"nodeId":"start","type":"Start"},
		{"nodeId":"1","type":"Task","queue":"yes","timeout":"90s",
			"retry":{"maxAttempts":3,"backoff":1.5,"except":["on","~","申請"]}},
		{"nodeId":"null","type":"Wait","waitKey":"# key: 'ü' \"q\" \n second line "},
		{"nodeId":"fork","type":"Fork"},{"nodeId":"a","type":"Task","queue":"0x10"},{"nodeId":"b","type":"Task"},
		{"nodeId":"join","type":"Join","policy":"CUSTOM","expression":"size(completed) >= 1 && !(\"a\" in failed)"},
		{"nodeId":"done","type":"Success","outcome":"true"},{"nodeId":"no","type":"Failed"}],
	"edges":[{"from":"start","to":"1"},
		{"from":"1","to":"null","when":"input.title == '- {a: b}' || input.n > 1e3"},{"from":"1","to":"no"},
		{"from":"1","to":"no","on":"failure"},
		{"from":"null","to":"fork"},{"from":"fork","to":"a"},{"from":"fork","to":"b"},
		{"from":"a","to":"join"},{"from":"b","to":"join"},{"from":"join","to":"done"}]}`
	graph, err := flow.ParseGraph([]byte(source), false)
	if err != nil {
		t.Fatal(err)
	}
	want, err := graph.Compile("g", 1)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(struct { // as the server shows it
		GraphID    string `json:"graphId"`
		flow.Graph `json:",inline"`
	}{"g", want.Graph})
	if err != nil {
		t.Fatal(err)
	}
	file, err := graphYAML(stored)
	if err != nil {
		t.Fatal(err)
	}
	again, err := flow.ParseGraph(file, true)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	got, err := again.Compile("g", 1)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	if got.Digest != want.Digest {
		t.Errorf("another graph:\n%s", file)
	}
}
