package flow

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/expr"
)

// Compile checks that the graph can run and makes a Plan of it. Its error is the first thing that
// is wrong, with nodeId or field in its details.
func (g Graph) Compile(id string, version int) (*Plan, error) {
	p, _, err := g.Prepare(id, version)
	return p, err
}

// Prepare is Compile, and gives the canonical JSON of the graph as well.
func (g Graph) Prepare(id string, version int) (*Plan, []byte, error) {
	p, err := g.withDefaults().compile(id, version)
	if err != nil {
		return nil, nil, err
	}
	body, err := p.Graph.canonical()
	p.Digest = digest(body)
	return p, body, err
}

// CompileStored compiles a graph from the canonical JSON that Prepare gave.
func CompileStored(id string, version int, body []byte) (*Plan, error) {
	g, err := ParseGraph(body, false)
	if err != nil {
		return nil, err
	}
	p, err := g.withDefaults().compile(id, version)
	if err != nil {
		return nil, err
	}
	p.Digest = digest(body)
	return p, nil
}

func (g Graph) compile(id string, version int) (*Plan, error) {
	c := &compiler{graph: g, programs: make(map[string]*expr.Program)}
	for _, step := range []func() error{
		c.checkSize, func() error { return g.OnCancel.check(id) }, c.addNodes, c.checkStart, c.addEdges,
		c.checkWaysOn, c.checkReach, c.checkForks, c.addInputs, c.addKeys, c.addSchemas,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c.fillForks()
	c.findLost()
	return &Plan{
		ID: id, Version: version, Graph: g, nodes: c.nodes, index: c.index, start: c.start, text: c.text,
		input: c.inputs,
	}, nil
}

// compiler is a Plan in the making.
type compiler struct {
	graph    Graph
	nodes    []planNode
	index    map[string]int
	start    int
	order    []int                    // the nodes, each after all of its predecessors
	programs map[string]*expr.Program // compiled, by kind and text
	text     int                      // bytes of these texts
	inputs   int                      // members of the inputs of Tasks and the prompts of Waits
	before   ancestry                 // nil: not asked for yet
}

// refuse is an error about a node, which its message begins with.
func refuse(kind, node, format string, args ...any) *fault.Error {
	return refuseAt(node, kind+" %q "+format, append([]any{node}, args...)...)
}

// refuseAt is an error at a node.
func refuseAt(node, format string, args ...any) *fault.Error {
	return invalidGraph("", format, args...).With(map[string]any{"nodeId": node})
}

func (c *compiler) checkSize() error {
	switch n, e := len(c.graph.Nodes), len(c.graph.Edges); {
	case n == 0:
		return invalidGraph("nodes", "the graph has no nodes")
	case n > MaxNodes:
		return invalidGraph("nodes", "the graph has %d nodes; at most %d are allowed", n, MaxNodes)
	case e > MaxEdges:
		return invalidGraph("edges", "the graph has %d edges; at most %d are allowed", e, MaxEdges)
	}
	return nil
}

func (o *OnCancel) check(id string) error {
	switch {
	case o == nil:
	case !ValidName(o.Graph):
		return invalidGraph("onCancel.graph", "must name the graph that cleans up, with 1 to %d of A-Z a-z 0-9 . _ -",
			MaxName)
	case o.Graph == id:
		return invalidGraph("onCancel.graph", "a graph cannot clean up after itself: name another one")
	}
	return nil
}

func (c *compiler) addNodes() error {
	c.nodes = make([]planNode, len(c.graph.Nodes))
	c.index = make(map[string]int, len(c.graph.Nodes))
	for i := range c.graph.Nodes {
		spec := &c.graph.Nodes[i]
		if err := checkNode(i, spec); err != nil {
			return err
		}
		if _, taken := c.index[spec.NodeID]; taken {
			return refuse("node", spec.NodeID, "is there twice")
		}
		c.index[spec.NodeID] = i
		c.nodes[i] = planNode{spec: *spec, peer: -1}
		if spec.Policy == Custom {
			gate, err := c.expression("gate ", expr.Gate, spec.Expression)
			if err != nil {
				return explainExpression(err, spec.NodeID, "expression", "node %q: expression: ", spec.NodeID)
			}
			c.nodes[i].gate = gate
		}
	}
	return nil
}

func (c *compiler) checkStart() error {
	c.start = -1
	for i := range c.nodes {
		if c.nodes[i].spec.Type != StartKind {
			continue
		}
		if c.start >= 0 {
			return refuse("node", c.name(i), "is a second Start; %q is the first", c.name(c.start))
		}
		c.start = i
	}
	if c.start < 0 {
		return invalidGraph("nodes", "the graph has no Start node")
	}
	return nil
}

func (c *compiler) addEdges() error {
	type pair struct{ from, to int }
	known := make(map[pair]bool, len(c.graph.Edges))
	open := make(map[Outcome]map[int]int) // outcome, node: where its unconditional edge leads
	for _, on := range []Outcome{OnSuccess, OnFailure, OnTimeout} {
		open[on] = make(map[int]int)
	}
	for k := range c.graph.Edges {
		e := &c.graph.Edges[k]
		from, to, err := c.checkEdge(k, e)
		if err != nil {
			return err
		}
		if e.When == "" && c.nodes[from].spec.Type != ForkKind {
			if other, taken := open[e.On][from]; taken {
				return refuse("node", e.From, "has two unconditional %s edges, to %q and %q; only a Fork may",
					e.On, c.name(other), e.To)
			}
			open[e.On][from] = to
		}
		if c.nodes[from].spec.Type == ForkKind && known[pair{from, to}] {
			return refuse("fork", e.From, "has two edges to %q; a branch is named by its first node", e.To)
		}
		edge := planEdge{to: to}
		if e.When != "" {
			if edge.when, err = c.expression("when ", expr.When, e.When); err != nil {
				return explainExpression(err, e.From, fmt.Sprintf("edges[%d].when", k), "edge from %q to %q: when: ",
					e.From, e.To)
			}
			edge.outputs = c.outputs(edge.when)
		}
		edges := c.nodes[from].edges(e.On)
		*edges = append(*edges, edge)
		if !known[pair{from, to}] {
			known[pair{from, to}] = true
			c.nodes[to].preds = append(c.nodes[to].preds, from)
		}
	}
	return nil
}

// expression compiles one expression; those of a graph are bounded together.
func (c *compiler) expression(
	kind string, compile func(src string) (*expr.Program, error), src string,
) (*expr.Program, error) {
	if p := c.programs[kind+src]; p != nil {
		return p, nil
	}
	if c.text += len(src); c.text > MaxExpressions {
		return nil, fault.New(fault.Invalid, CodeInvalidGraph,
			"the expressions of the graph have more than %d bytes together", MaxExpressions)
	}
	p, err := compile(src)
	if err == nil {
		c.programs[kind+src] = p
	}
	return p, err
}

// outputs are the nodes whose outputs a condition names; nil: it may read all.
func (c *compiler) outputs(when *expr.Program) []int {
	if when.Whole("outputs") {
		return nil
	}
	some := []int{}
	for _, name := range when.Members("outputs") {
		if i := c.find(name); i >= 0 {
			some = append(some, i)
		}
	}
	return some
}

func explainExpression(err error, node, field, format string, args ...any) error {
	cause, ok := fault.As(err)
	if !ok || cause.Kind != fault.Invalid {
		return err
	}
	e := refuseAt(node, format, args...)
	e.Message += cause.Message
	details := map[string]any{"nodeId": node, "field": field}
	if place, ok := cause.Details.(map[string]any); ok { // line and column
		maps.Copy(details, place)
	}
	e.Details = details
	return e
}

func (c *compiler) name(i int) string { return c.nodes[i].spec.NodeID }

// checkWaysOn refuses dead ends. A graph without a terminal node has one, or a cycle.
func (c *compiler) checkWaysOn() error {
	ends := slices.ContainsFunc(c.nodes, func(p planNode) bool { return p.spec.Type.Terminal() })
	for i := range c.nodes {
		p := &c.nodes[i]
		if p.spec.Type.Terminal() || len(p.success) > 0 {
			continue
		}
		why := "it has no success edge and is no terminal node"
		if !ends {
			why = "the graph has no terminal node (Success, Failed or Canceled)"
		}
		return refuse("node", p.spec.NodeID, "leads nowhere: %s", why)
	}
	return nil
}

func validWaitKey(s string) bool {
	return s == "" || utf8.ValidString(s) && utf8.RuneCountInString(s) <= MaxWaitKey
}
