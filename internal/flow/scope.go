package flow

import (
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// scope is what the conditions of a node's edges see. Only variables that an
// expression names are made: outputs may be many and large.
type scope struct {
	draft  *draft
	node   int
	output Data   // of the node, when it has done its work
	err    *Error // of the node, when it has failed
	vars   map[string]any
}

// holds reports whether the condition of an edge holds. When data must be read
// first, the draft says so and the answer means nothing.
func (s *scope) holds(edge *planEdge) (bool, *Error) {
	if edge.when == nil {
		return true, nil
	}
	if s.vars == nil {
		s.vars = make(map[string]any, 4)
	}
	for _, name := range [...]string{"input", "outputs", "output", "error"} {
		if _, made := s.vars[name]; made || !edge.when.Uses(name) {
			continue
		}
		s.vars[name] = s.value(name)
	}
	if len(s.draft.need) > 0 {
		return false, nil
	}
	ok, err := edge.when.Eval(s.vars)
	if err != nil {
		from, to := s.draft.plan.nodes[s.node].spec.NodeID, s.draft.plan.nodes[edge.to].spec.NodeID
		return false, &Error{Code: CodeExpression, Message: "The condition of the edge from " + from + " to " + to + " failed: " + err.Error()}
	}
	return ok, nil
}

func (s *scope) value(name string) any {
	switch name {
	case "input":
		return decode(s.draft.Input)
	case "output":
		return decode(s.output)
	case "outputs":
		return s.outputs()
	}
	if s.err == nil {
		return nil
	}
	e := map[string]any{"code": s.err.Code, "message": s.err.Message}
	if s.err.Detail != nil {
		e["detail"] = decode(s.err.Detail)
	}
	return e
}

// outputs are those of all nodes that have one, the present one included.
func (s *scope) outputs() map[string]any {
	all := make(map[string]any)
	for i, n := range s.draft.Nodes {
		data := s.output
		if i != s.node {
			data, _ = s.draft.data(n.Output)
		}
		if data != nil {
			all[n.ID] = decode(data)
		}
	}
	return all
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
