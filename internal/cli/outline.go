package cli

import (
	"slices"
	"strings"

	"renga.dev/renga/client"
)

// outlined is a node in the outline of a graph.
type outlined struct {
	id, kind string
	depth    int    // how many forks it stands in
	ways     string // where it leads
}

// name is the id behind one bar for each fork that the node stands in.
func (o *outlined) name() string { return strings.Repeat("│ ", o.depth) + o.id }

// outline orders the nodes of a graph: each after all that lead to it, those of a branch together.
func outline(g *client.Graph) []outlined {
	o := outliner{
		nodes: map[string]*client.NodeSpec{}, ways: map[string][]client.Edge{}, seen: map[string]bool{},
		depth: map[string]int{},
	}
	for i := range g.Nodes {
		o.nodes[g.Nodes[i].NodeID] = &g.Nodes[i]
	}
	for _, e := range g.Edges {
		o.ways[e.From] = append(o.ways[e.From], e)
	}
	for i := range g.Nodes {
		if g.Nodes[i].Type == "Start" { // it leads to all others
			o.visit(g.Nodes[i].NodeID)
		}
	}
	slices.Reverse(o.order)
	return o.lines()
}

type outliner struct {
	nodes map[string]*client.NodeSpec
	ways  map[string][]client.Edge
	seen  map[string]bool
	order []string // last first
	depth map[string]int
}

// visit goes along the edges, the last first, so that what the first leads to ends up nearest.
func (o *outliner) visit(id string) {
	if o.seen[id] || o.nodes[id] == nil {
		return
	}
	o.seen[id] = true
	for _, e := range slices.Backward(o.ways[id]) {
		o.visit(e.To)
	}
	o.order = append(o.order, id)
}

func (o *outliner) lines() []outlined {
	var out []outlined
	known := map[string]bool{}
	for _, id := range o.order {
		n, depth := o.nodes[id], o.depth[id]
		out = append(out, outlined{id, n.Type, depth, ways(n, o.ways[id])})
		if n.Type == "Fork" {
			depth++
		}
		for _, e := range o.ways[id] {
			to := depth
			switch next := o.nodes[e.To]; {
			case next == nil:
				continue
			case next.Type == "Join":
				to = max(0, depth-1)
			case next.Type == "Success" || next.Type == "Failed" || next.Type == "Canceled":
				to = 0
			}
			if !known[e.To] || to < o.depth[e.To] {
				o.depth[e.To], known[e.To] = to, true
			}
		}
	}
	return out
}

// ways tells where a node leads, and under which condition.
func ways(n *client.NodeSpec, edges []client.Edge) string {
	var parts []string
	for _, e := range edges {
		way := e.To
		if e.When != "" {
			way += " when " + clean(e.When)
		}
		if e.On == "failure" {
			way = "on failure " + way
		}
		parts = append(parts, way)
	}
	if n.Type == "Fork" {
		return strings.Join(parts, " and ")
	}
	return strings.Join(parts, ", else ")
}
