package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"renga.dev/renga"
	"renga.dev/renga/docs"
	"renga.dev/renga/internal/workflow/flow"
)

const examples = "../../examples"

// TestTheExamplesAreTrue plays the cases of all graphs in examples, and stores each of them in a server.
func TestTheExamplesAreTrue(t *testing.T) {
	r := newRig(t, options{})
	t.Setenv("RENGA_SERVER", r.url)
	played := r.must("", "graph", "test", examples)
	graphs, err := filepath.Glob(filepath.Join(examples, "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(graphs, filepath.Join(examples, "order.yaml")) {
		if strings.HasSuffix(file, caseMark+".yaml") {
			continue
		}
		if r.must("", "graph", "apply", file); !strings.Contains(played, strings.TrimSuffix(file, ".yaml")+caseMark) {
			t.Errorf("%s has no cases", file)
		}
	}
	r.must("", "template", "apply", "-f", filepath.Join(examples, "expense-close.json"))
}

// TestTheOrderOfTheExamplesIsThatOfTheReadme compares the two texts.
func TestTheOrderOfTheExamplesIsThatOfTheReadme(t *testing.T) {
	order, err := os.ReadFile(filepath.Join(examples, "order.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(renga.Readme, strings.TrimSpace(string(order))) {
		t.Error("README.md shows another graph")
	}
}

// TestThePatternsCanRun compiles every graph of docs/graphs.md.
func TestThePatternsCanRun(t *testing.T) {
	page, err := docs.Pages.ReadFile("graphs.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if !strings.HasPrefix(block, "nodes:") {
			continue
		}
		seen++
		graph, err := flow.ParseGraph([]byte(block), true)
		if err == nil {
			_, err = graph.Compile("pattern", 1)
		}
		if err != nil {
			t.Errorf("%v\n%s", err, block)
		}
	}
	if seen < 5 {
		t.Errorf("found only %d graphs", seen)
	}
}
