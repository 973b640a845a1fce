package flow

import (
	"errors"
	"slices"

	"renga.dev/renga/internal/workflow/expr"
)

// CheckCost refuses a graph with an expression that takes too many steps whatever the data is. It is
// asked when a graph is registered; a graph that is stored runs as far as it can.
func (p *Plan) CheckCost() error {
	budget := expr.NewBudget(MaxSteps)
	for i := range p.nodes {
		for _, e := range slices.Concat(p.nodes[i].success, p.nodes[i].failure, p.nodes[i].timeout) {
			if e.when == nil || !e.when.Fixed() {
				continue
			}
			if _, err := budget.Eval(e.when, nil); errors.Is(err, expr.ErrSteps) {
				from, to := p.nodes[i].spec.NodeID, p.nodes[e.to].spec.NodeID
				return refuseAt(from, "edge from %q to %q: when: %v, whatever the data is", from, to, err)
			}
		}
		_, in := p.nodes[i].spec.declared()
		for _, m := range p.nodes[i].input {
			if !m.value.Fixed() {
				continue
			}
			if _, err := budget.Value(m.value, nil); errors.Is(err, expr.ErrSteps) {
				return refuseField(&p.nodes[i].spec, in+m.name, "%v, whatever the data is", err)
			}
		}
	}
	return nil
}
