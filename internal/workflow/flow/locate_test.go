package flow

import (
	"testing"

	"renga.dev/renga/internal/platform/fault"
)

func TestAFaultOfAGraphIsFoundInItsText(t *testing.T) {
	const yamlHead = "nodes:\n  - {nodeId: start, type: Start}\n"
	for name, c := range map[string]struct {
		source string
		want   Place
	}{
		"yaml that is none":     {"nodes:\n  - a: b: c\nedges: []\n", Place{2, 1}},
		"a key that is no text": {"nodes:\n  - {1: a}\nedges: []\n", Place{2, 1}},
		"an unknown member": {
			yamlHead + "  - nodeId: a\n    type: Task\n    retries: 3\nedges: []\n", Place{5, 5},
		},
		"an edge to nowhere":    {yamlHead + "edges:\n  - {from: start, to: b}\n", Place{4, 19}},
		"a node without an end": {yamlHead + "edges: []\n", Place{2, 5}},
		"a node twice":          {yamlHead + "  - {nodeId: start, type: Success}\nedges: []\n", Place{3, 5}},
		"a condition that is none": {
			yamlHead + "  - {nodeId: ok, type: Success}\nedges:\n" +
				"  - from: start\n    to: ok\n    when: 1 +\n", Place{7, 5},
		},
		"json that is none":        {"{\"nodes\": [\n  {\"nodeId\": }\n]}", Place{2, 14}},
		"json that ends too early": {"{\"nodes\": [\n", Place{2, 1}},
		"a member twice":           {"{\"nodes\": [],\n \"nodes\": []}", Place{2, 2}},
		"a wrong type in json": {
			"{\"nodes\": [\n  {\"nodeId\": \"a\", \"type\": \"Loop\"}\n], \"edges\": []}", Place{2, 19},
		},
		"an edge in json": {
			"{\"nodes\": [{\"nodeId\": \"s\", \"type\": \"Start\"}],\n" +
				"\"edges\": [\n  {\"from\": \"s\",\n   \"to\": \"x\"}]}", Place{4, 4},
		},
		"a graph without nodes": {"{\"nodes\": [],\n\"edges\": []}", Place{1, 2}},
	} {
		isYAML := c.source[0] != '{'
		g, err := ParseGraph([]byte(c.source), isYAML)
		if err == nil {
			_, err = g.Compile("g", 1)
		}
		e, ok := fault.As(err)
		if !ok {
			t.Errorf("%s: got %v, want a fault", name, err)
			continue
		}
		if got := Locate([]byte(c.source), isYAML, e); got != c.want {
			t.Errorf("%s: got %v, want %v of %q", name, got, c.want, e.Message)
		}
	}
}
