package client

import (
	"bytes"
	"context"
	"iter"
	"net/http"
)

// Graphs registers and reads graphs.
type Graphs struct{ *transport }

// Put registers a graph, in JSON or YAML. Content that changed becomes a new
// version; the answer is the version that is stored then.
func (c Graphs) Put(ctx context.Context, id string, source []byte) (GraphVersion, error) {
	q := call{method: http.MethodPut, path: pathOf("/graphs/{graphId}", id), media: "application/yaml"}
	if bytes.HasPrefix(bytes.TrimLeft(source, " \t\r\n"), []byte("{")) {
		q.media = mediaJSON
	}
	v, _, err := exchange[GraphVersion](ctx, c.transport, q, source)
	return v, err
}

// Get reads a version of a graph, the newest with 0.
func (c Graphs) Get(ctx context.Context, id string, version int) (*Graph, error) {
	return get[Graph](ctx, c.transport, pathOf("/graphs/{graphId}", id),
		given(map[string]string{"version": number(version)}))
}

// List reads a page of the newest versions of all graphs, by id.
func (c Graphs) List(ctx context.Context, at Paging) (*Page[GraphVersion], error) {
	return list[GraphVersion](ctx, c.transport, "/graphs", nil, at)
}

// All reads the newest version of every graph, by id.
func (c Graphs) All(ctx context.Context) iter.Seq2[GraphVersion, error] {
	return all[GraphVersion](ctx, c.transport, "/graphs", 1)
}

// Versions reads a page of the versions of a graph, newest first.
func (c Graphs) Versions(ctx context.Context, id string, at Paging) (*Page[GraphVersion], error) {
	return list[GraphVersion](ctx, c.transport, pathOf("/graphs/{graphId}/versions", id), nil, at)
}

// Check says whether a graph could be registered, and if not, where in its text the mistake is. Nothing is stored.
func (c Graphs) Check(ctx context.Context, source GraphSource) (*GraphCheck, error) {
	q := call{method: http.MethodPost, path: "/graphs/check"}
	return pointer(exchange[GraphCheck](ctx, c.transport, q, source))
}

// Simulate plays an execution of a graph with given outcomes, and stores nothing.
func (c Graphs) Simulate(ctx context.Context, s SimulationScript) (*Simulation, error) {
	q := call{method: http.MethodPost, path: "/graphs/simulate"}
	return pointer(exchange[Simulation](ctx, c.transport, q, s))
}
