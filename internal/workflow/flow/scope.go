package flow

import (
	"errors"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/workflow/expr"
)

// scope is what the conditions of a node's edges, and the input of a Task, see. Only variables that an expression names
// are made: outputs may be many and large.
type scope struct {
	r      *router
	node   int
	output Data   // of the node, when it has done its work
	err    *Error // of the node, when it has failed
	vars   map[string]any
	all    map[string]any         // outputs of all nodes, for expressions that do not say which
	known  map[*expr.Program]bool // what was evaluated: many edges may have one condition
}

// holds reports whether the condition of an edge holds. When data must be read
// first, the draft says so and the answer means nothing.
func (s *scope) holds(edge *planEdge) (bool, *Error) {
	if edge.when == nil {
		return true, nil
	}
	if ok, known := s.known[edge.when]; known {
		return ok, nil
	}
	if s.known == nil {
		s.known = make(map[*expr.Program]bool)
	}
	s.bind(edge.when, edge.outputs)
	if len(s.r.need) > 0 {
		s.known[edge.when] = false // other edges with this condition need the same
		return false, nil
	}
	ok, err := s.r.budget.Eval(edge.when, s.vars)
	if err != nil {
		from, to := s.r.d.plan.nodes[s.node].spec.NodeID, s.r.d.plan.nodes[edge.to].spec.NodeID
		return false, &Error{Code: CodeExpression, Message: "The condition of the edge from " + from + " to " + to +
			" failed: " + err.Error()}
	}
	s.known[edge.when] = ok
	return ok, nil
}

// bind makes the variables that an expression uses; of outputs, those of some nodes.
func (s *scope) bind(p *expr.Program, some []int) {
	if s.vars == nil {
		s.vars = make(map[string]any, 4)
	}
	for _, name := range [...]string{"input", "output", "error"} {
		if _, made := s.vars[name]; made || !p.Uses(name) {
			continue
		}
		s.vars[name] = s.value(name)
	}
	if p.Uses("outputs") {
		s.vars["outputs"] = s.outputs(some)
	}
}

func (s *scope) value(name string) any {
	switch name {
	case "input":
		return s.r.decode(s.r.d.Input)
	case "output":
		return s.r.decode(s.output)
	}
	if s.err == nil {
		return nil
	}
	e := map[string]any{"code": s.err.Code, "message": s.err.Message}
	if s.err.Detail != nil {
		e["detail"] = s.r.decode(s.err.Detail)
	}
	return e
}

// outputsPerStep is how many outputs are put into a map in the time of a step.
const outputsPerStep = 8

// outputs are those of some nodes, by index; nil: of all. That of the present node is among them.
func (s *scope) outputs(some []int) map[string]any {
	if some == nil {
		return s.allOutputs()
	}
	s.r.budget.Charge(len(some) / outputsPerStep)
	of := make(map[string]any, len(some))
	for _, i := range some {
		s.addOutput(of, i)
	}
	return of
}

// allOutputs are put together once for all edges of a node.
func (s *scope) allOutputs() map[string]any {
	if s.all == nil {
		s.r.budget.Charge(len(s.r.d.Nodes) / outputsPerStep)
		s.all = map[string]any{}
		for i := range s.r.d.Nodes {
			s.addOutput(s.all, i)
		}
	}
	return s.all
}

func (s *scope) addOutput(all map[string]any, i int) {
	n, data := s.r.d.Nodes[i], s.output
	if i != s.node {
		data = s.r.look(n.Output)
	}
	if data != nil {
		all[n.ID] = s.r.decode(data)
	}
}

// data is what a blob stands for. When it must be read first, it is noted as needed and nothing of
// this decision is kept.
func (r *router) data(b Blob) (Data, bool) {
	switch {
	case b.Seq == 0:
		return b.Inline, true
	case b.Seq > r.d.base:
		return DataOf(r.d.events[b.Seq-r.d.base-1].Payload), true
	}
	if data, ok := r.d.facts.Outputs[b.Seq]; ok {
		return data, true
	}
	r.need = append(r.need, b.Seq)
	return nil, false
}

// look is data for a condition. When that is more than a decision may read, its budget is used up.
func (r *router) look(b Blob) Data {
	if _, got := r.d.facts.Outputs[b.Seq]; r.d.facts.Full && !got && b.Seq != 0 && b.Seq <= r.d.base {
		r.budget.Exhaust()
		return nil
	}
	data, _ := r.data(b)
	return data
}

// needed is what must be read. When the decision asks again, it is everything that the state holds
// by reference: each time the decision begins anew, and what it needs may follow from what it got.
func (r *router) needed() Need {
	if f := &r.d.facts; len(f.Outputs) > 0 && !f.Full {
		r.need = nil
		for _, n := range r.d.before {
			if _, got := f.Outputs[n.Output.Seq]; n.Output.Seq != 0 && !got {
				r.need = append(r.need, n.Output.Seq)
			}
		}
	}
	slices.Sort(r.need)
	return slices.Compact(r.need)
}

// decode makes plain values of JSON, once in a decision for the same data, and none after the
// budget: no condition will look at them.
func (r *router) decode(data Data) any {
	if len(data) == 0 || r.budget.Spent() {
		return nil
	}
	if v, ok := r.decoded[&data[0]]; ok {
		return v
	}
	if r.decoded == nil {
		r.decoded = make(map[*byte]any)
	}
	r.budget.Read(len(data))
	v := decode(data)
	r.decoded[&data[0]] = v
	return v
}

// decode makes plain values of JSON; none is null.
func decode(data Data) any {
	if len(data) == 0 {
		return nil
	}
	var v any
	if err := json.Unmarshal(data, &v, readNumbers); err != nil {
		return nil // cannot be: data is checked when it comes in
	}
	return v
}

// readNumbers makes a float64 of a number, as JSON's own reader does, except that an integer that
// it would round stays one (it may be somebody's id), and what is too large is infinite.
var readNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported // JSON's own reader goes on
	}
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	const exact = 1 << 53
	if i, err := strconv.ParseInt(string(text), 10, 64); err == nil && (i > exact || i < -exact) {
		*v = i
		return nil
	}
	*v, _ = strconv.ParseFloat(string(text), 64) // its only error is infinity
	return nil
}))
