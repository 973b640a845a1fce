package flow

import (
	"errors"
	"fmt"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/expr"
)

// CheckCost refuses a graph with a condition of which it is known before it runs that it
// takes too many steps, whatever the data is. It is asked when a graph is registered; a
// graph that is stored runs as far as it can.
func (p *Plan) CheckCost() error {
	budget := expr.NewBudget(MaxSteps)
	for i := range p.nodes {
		for _, edges := range [][]planEdge{p.nodes[i].success, p.nodes[i].failure} {
			for _, e := range edges {
				if e.when == nil || !e.when.Fixed() {
					continue
				}
				if _, err := budget.Eval(e.when, nil); errors.Is(err, expr.ErrSteps) {
					return p.refuseEdge(i, e.to, "%v, whatever the data is", err)
				}
			}
		}
	}
	return nil
}

// refuseEdge is an error about the condition of an edge.
func (p *Plan) refuseEdge(from, to int, format string, args ...any) *fault.Error {
	node := p.nodes[from].spec.NodeID
	return refuse(node, "edge from %q to %q: when: %s", node, p.nodes[to].spec.NodeID, fmt.Sprintf(format, args...))
}
