package flow

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/fault"
)

// A document that a few hundred kilobytes of text blow up is refused before the memory is
// there that it stands for.
func TestAYAMLDocumentThatIsTooMuchCostsLittle(t *testing.T) {
	long := strings.Repeat("x", 900_000)
	const most = 50 << 20 // bytes that a refusal may allocate, all together
	for name, text := range map[string]string{
		"aliases of a long text": "a: &a \"" + long + "\"\nb: [" + strings.Repeat("*a, ", 9_000) + "*a]\n",
		"aliases of escapes": "a: &a \"" + strings.Repeat(`\x01`, 200_000) + "\"\nb: [" + strings.Repeat("*a, ",
			9_000) + "*a]\n",
		"aliases of keys": "a: &a {" + strings.Repeat("k", 900) + ": 1}\nb: [" + strings.Repeat("*a, ", 30_000) +
			"*a]\n",
		"a long list":          "[" + strings.Repeat("1,", 4<<20) + "1]",
		"a list of a megabyte": "[" + strings.Repeat("1,", 500_000) + "1]",
		"keys without values":  "{" + strings.Repeat("a,", 90_000) + "a}",
		"a list, line by line": strings.Repeat("- 1\n", 200_000),
		"keys, line by line":   strings.Repeat("? a\n", 200_000),
		"maps":                 strings.Repeat("a:\n", 200_000),
		"comments":             strings.Repeat("#\n", 4<<20) + "nodes: []",
		"a second document":    "nodes: []\n---\n[" + strings.Repeat("1,", 400_000) + "1]",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := ParseGraph([]byte(text), true)
			runtime.ReadMemStats(&after)
			e, ok := fault.As(err)
			if !ok || e.Kind != fault.Invalid && e.Kind != fault.TooLarge {
				t.Fatalf("got %.200v, want a refusal", err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > most {
				t.Errorf("the refusal %.100q took %d MiB", e.Message, got>>20)
			}
		})
	}
}

// The same in JSON: nobody builds millions of nodes to say that there are too many.
func TestAListThatIsTooLongCostsLittle(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"nodes": {
			`{"nodes":[` + strings.Repeat("{},", 300_000) + `{}]}`,
			"nodes: the graph has more than 10000 nodes",
		},
		"values": {
			`{"nodes":[` + strings.Repeat("{},", 2_700_000) + `{}]}`,
			"the document has more than 1000000 values",
		},
		"edges": {
			`{"nodes":[],"edges":[` + strings.Repeat("{},", 300_000) + `{}]}`,
			"edges: the graph has more than 40000 edges",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := ParseGraph([]byte(tt.text), false)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 50<<20 {
				t.Errorf("the refusal took %d MiB", got>>20)
			}
		})
	}
}

// The largest graph can be written as YAML, in either style.
func TestTheLargestGraphFitsIntoYAML(t *testing.T) {
	var flowing, block strings.Builder
	flowing.WriteString("nodes:\n")
	block.WriteString("nodes:\n")
	for i := range MaxNodes {
		fmt.Fprintf(&flowing, "- {nodeId: n%d, type: Task}\n", i)
		fmt.Fprintf(&block, "- nodeId: n%d\n  type: Task\n", i)
	}
	flowing.WriteString("edges:\n")
	block.WriteString("edges:\n")
	for i := range MaxNodes - 1 {
		fmt.Fprintf(&flowing, "- {from: n%d, to: n%d}\n", i, i+1)
		fmt.Fprintf(&block, "- from: n%d\n  to: n%d\n", i, i+1)
	}
	for name, text := range map[string]string{"flow": flowing.String(), "block": block.String()} {
		g, err := ParseGraph([]byte(text), true)
		if err != nil || len(g.Nodes) != MaxNodes || len(g.Edges) != MaxNodes-1 {
			t.Errorf("%s style: got %d nodes, %d edges, %v", name, len(g.Nodes), len(g.Edges), err)
		}
	}
}
