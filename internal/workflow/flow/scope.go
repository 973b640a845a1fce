package flow

import (
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/workflow/expr"
)

// scope is what the conditions of a node's edges see. Only variables that an
// expression names are made: outputs may be many and large.
type scope struct {
	draft  *draft
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
	if s.vars == nil {
		s.vars, s.known = make(map[string]any, 4), make(map[*expr.Program]bool)
	}
	for _, name := range [...]string{"input", "output", "error"} {
		if _, made := s.vars[name]; made || !edge.when.Uses(name) {
			continue
		}
		s.vars[name] = s.value(name)
	}
	if edge.when.Uses("outputs") {
		s.vars["outputs"] = s.outputs(edge.outputs)
	}
	if len(s.draft.need) > 0 {
		s.known[edge.when] = false // other edges with this condition need the same
		return false, nil
	}
	ok, err := s.draft.budget.Eval(edge.when, s.vars)
	if err != nil {
		from, to := s.draft.plan.nodes[s.node].spec.NodeID, s.draft.plan.nodes[edge.to].spec.NodeID
		return false, &Error{Code: CodeExpression, Message: "The condition of the edge from " + from + " to " + to +
			" failed: " + err.Error()}
	}
	s.known[edge.when] = ok
	return ok, nil
}

func (s *scope) value(name string) any {
	switch name {
	case "input":
		return s.draft.decode(s.draft.Input)
	case "output":
		return s.draft.decode(s.output)
	}
	if s.err == nil {
		return nil
	}
	e := map[string]any{"code": s.err.Code, "message": s.err.Message}
	if s.err.Detail != nil {
		e["detail"] = s.draft.decode(s.err.Detail)
	}
	return e
}

// outputsPerStep is how many outputs are put into a map in the time of a step.
const outputsPerStep = 8

// outputs are those of some nodes, by index, as far as they have one; nil: of all nodes.
// That of the present node is among them.
func (s *scope) outputs(some []int) map[string]any {
	if some == nil {
		return s.allOutputs()
	}
	s.draft.budget.Charge(len(some) / outputsPerStep)
	of := make(map[string]any, len(some))
	for _, i := range some {
		s.addOutput(of, i)
	}
	return of
}

// allOutputs are those of all nodes. They are put together once for all edges of a node.
func (s *scope) allOutputs() map[string]any {
	if s.all == nil {
		s.draft.budget.Charge(len(s.draft.Nodes) / outputsPerStep)
		s.all = map[string]any{}
		for i := range s.draft.Nodes {
			s.addOutput(s.all, i)
		}
	}
	return s.all
}

func (s *scope) addOutput(all map[string]any, i int) {
	n, data := s.draft.Nodes[i], s.output
	if i != s.node {
		data = s.draft.look(n.Output)
	}
	if data != nil {
		all[n.ID] = s.draft.decode(data)
	}
}

// decode makes plain values of JSON, once in a decision for the same data. After the budget
// nothing is decoded: no condition will look at it.
func (d *draft) decode(data Data) any {
	if len(data) == 0 || d.budget.Spent() {
		return nil
	}
	if v, ok := d.decoded[&data[0]]; ok {
		return v
	}
	if d.decoded == nil {
		d.decoded = make(map[*byte]any)
	}
	d.budget.Read(len(data))
	v := decode(data)
	d.decoded[&data[0]] = v
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

// readNumbers makes fractions of numbers, as JSON's own reader does, but for two
// kinds: an integer that a fraction would round stays one, since it may be
// somebody's id, and what is too large for a fraction is infinite.
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
