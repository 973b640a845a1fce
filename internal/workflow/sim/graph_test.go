package sim

import (
	"math/rand/v2"
	"testing"

	"renga.dev/renga/internal/workflow/flow"
)

func TestRandomGraphsAreValidAndOfEveryKind(t *testing.T) {
	seen := map[flow.Kind]int{}
	policies := map[flow.Policy]int{}
	for seed := range uint64(300) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 1)))
		if _, err := g.Compile("g", 1); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, n := range g.Nodes {
			seen[n.Type]++
			policies[n.Policy]++
		}
	}
	for k := flow.StartKind; k <= flow.CanceledKind; k++ {
		if seen[k] == 0 {
			t.Errorf("no graph has a %v", k)
		}
	}
	for _, p := range []flow.Policy{flow.AllSuccess, flow.AnySuccess, flow.AllDone, flow.Custom} {
		if policies[p] == 0 {
			t.Errorf("no join is %s", p)
		}
	}
}
