package client

import (
	"bytes"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Graphs registers and reads graphs.
type Graphs struct{ *transport }

// GraphVersion is a version of a graph without its content.
type GraphVersion struct {
	GraphID   string    `json:"graphId"`
	Version   int       `json:"version"`
	Digest    string    `json:"digest"`
	CreatedAt time.Time `json:"createdAt"`
}

// Graph is a version of a graph, with defaults filled in.
type Graph struct {
	GraphVersion
	Nodes []NodeSpec `json:"nodes"`
	Edges []Edge     `json:"edges"`
}

// NodeSpec is a node as the author of a graph wrote it. Durations are those of Go: 50ms, 2s, 24h.
type NodeSpec struct {
	NodeID     string `json:"nodeId"`
	Type       string `json:"type"` // Start, Task, Wait, Fork, Join, Success, Failed, Canceled
	Queue      string `json:"queue,omitempty"`
	Retry      *Retry `json:"retry,omitempty"`
	Timeout    string `json:"timeout,omitempty"`
	WaitKey    string `json:"waitKey,omitempty"`
	Policy     string `json:"policy,omitempty"`
	Expression string `json:"expression,omitempty"`
}

// Retry says how often and after which pauses a Task is tried.
type Retry struct {
	MaxAttempts     int     `json:"maxAttempts,omitempty"`
	InitialInterval string  `json:"initialInterval,omitempty"`
	Backoff         float64 `json:"backoff,omitempty"`
	MaxInterval     string  `json:"maxInterval,omitempty"`
}

// Edge is the way from a node to the next.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	On   string `json:"on,omitempty"` // success (default) or failure
	When string `json:"when,omitempty"`
}

// Put registers a graph, in JSON or YAML. Content that changed becomes a new
// version; the answer is the version that is stored then.
func (c Graphs) Put(ctx context.Context, id string, source []byte) (GraphVersion, error) {
	q := call{method: http.MethodPut, path: "/graphs/" + url.PathEscape(id), body: source, media: "application/yaml"}
	if bytes.HasPrefix(bytes.TrimLeft(source, " \t\r\n"), []byte("{")) {
		q.media = mediaJSON
	}
	var v GraphVersion
	err := c.exchange(ctx, q, &v)
	return v, err
}

// Get reads a version of a graph, the newest with 0.
func (c Graphs) Get(ctx context.Context, id string, version int) (*Graph, error) {
	query := url.Values{}
	if version > 0 {
		query.Set("version", strconv.Itoa(version))
	}
	g := new(Graph)
	if err := c.read(ctx, "/graphs/"+url.PathEscape(id), query, g); err != nil {
		return nil, err
	}
	return g, nil
}

// List reads a page of the newest versions of all graphs, by id.
func (c Graphs) List(ctx context.Context, at Paging) (*Page[GraphVersion], error) {
	return list[GraphVersion](ctx, c.transport, "/graphs", url.Values{}, at)
}

// All reads the newest version of every graph, by id.
func (c Graphs) All(ctx context.Context) iter.Seq2[GraphVersion, error] {
	return all[GraphVersion](ctx, c.transport, "/graphs", 1)
}
