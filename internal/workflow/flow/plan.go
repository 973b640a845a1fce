package flow

import (
	"renga.dev/renga/internal/workflow/expr"
	"renga.dev/renga/internal/workflow/schema"
)

// Plan is a graph that was checked and compiled. A node's index is its place in Graph.Nodes and in
// State.Nodes.
type Plan struct {
	ID      string
	Version int
	Digest  string // of the canonical graph
	Graph   Graph  // with defaults filled in

	nodes []planNode
	index map[string]int
	start int
	text  int // bytes of its different expressions and schemas
	input int // members of the inputs of its Tasks and the prompts of its Waits
}

// textPerNode is how many bytes of expressions take about as much memory as a node.
const textPerNode = 4

// Weight is how much memory the plan takes, in nodes.
func (p *Plan) Weight() int { return len(p.nodes) + p.text/textPerNode + p.input }

type planNode struct {
	spec    NodeSpec
	success []planEdge // in list order
	failure []planEdge // in list order
	timeout []planEdge // in list order
	preds   []int      // nodes with an edge to this one, each once, in list order of the edges
	frame   *frame     // the fork branch it stands in; nil outside of forks
	peer    int        // of a Fork its Join, of a Join its Fork; else -1
	inside  []int      // of a Fork: the nodes in its branches, also in forks in them; in no order
	gate    *expr.Program
	input   []planInput // of a Task, and what the prompt of a Wait shows, by name
	key     *planInput  // of a Wait: the key of the message that it asks for
	schema  *schema.Schema
	lost    bool // no way from here leads to a Success
}

// edges are those of one side of a node.
func (p *planNode) edges(on Outcome) *[]planEdge {
	switch on {
	case OnFailure:
		return &p.failure
	case OnTimeout:
		return &p.timeout
	}
	return &p.success
}

// planEdge is an edge with its compiled condition; nil always holds.
type planEdge struct {
	to      int
	when    *expr.Program
	outputs []int // the nodes whose outputs the condition names; nil: it may look at all
}

// frame is one branch of one fork: nodes in the same branch have the same frame.
type frame struct {
	fork, head int
	parent     *frame // the branch that the fork itself stands in
	depth      int    // how many forks it stands in
}

func (p *Plan) Node(id string) (int, bool) {
	i, ok := p.index[id]
	return i, ok
}

// Spec is a node as its author wrote it, defaults filled in.
func (p *Plan) Spec(i int) *NodeSpec { return &p.nodes[i].spec }

// Preds are the direct predecessors of a node, by index.
func (p *Plan) Preds(i int) []int { return p.nodes[i].preds }

func (p *Plan) branch(i, from int) *frame {
	n, last := &p.nodes[i], &p.nodes[from]
	switch {
	case n.frame != nil || !n.spec.Type.Terminal():
		return n.frame
	case last.spec.Type == ForkKind:
		return &frame{fork: from, head: i, parent: last.frame}
	}
	return last.frame
}
