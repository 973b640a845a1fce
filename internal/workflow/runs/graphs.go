// Package runs is what a service needs that runs executions of its own: the versions of the graphs
// that it stores, and the executions that have ended. It does not know what they are about.
package runs

import (
	"context"
	"sync"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// maxGraphs is how many versions of graphs are remembered.
const maxGraphs = 10_000

// Graphs remembers the versions of the graphs that a service stores. The zero value is ready.
type Graphs struct {
	mu      sync.Mutex
	version map[graphKey]int
}

type graphKey struct{ tenant, id string }

// GraphStore stores a version of a graph unless the newest one says the same.
type GraphStore interface {
	PutGraph(ctx context.Context, tenant, id string, g flow.Graph) (engine.GraphRow, bool, error)
}

// Version is the version of a graph that build makes for an id; it is stored unless that is known.
func (g *Graphs) Version(
	ctx context.Context, in GraphStore, tenant, id string, build func() flow.Graph,
) (int, error) {
	key := graphKey{tenant, id}
	g.mu.Lock()
	v := g.version[key]
	g.mu.Unlock()
	if v > 0 {
		return v, nil
	}
	row, _, err := in.PutGraph(ctx, tenant, id, build())
	if err != nil {
		return 0, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.version) >= maxGraphs {
		clear(g.version)
	}
	if g.version == nil {
		g.version = map[graphKey]int{}
	}
	g.version[key] = row.Version
	return row.Version, nil
}
