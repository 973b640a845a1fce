package flow_test

import (
	"fmt"
	"maps"
	"slices"
)

// The expressions of random graphs: each is made together with what it means.

// whenInput asks for the input of the execution.
func (b *builder) whenInput() string {
	k := b.r.IntN(4)
	src := fmt.Sprintf("input.x == %d", k)
	b.when[src] = func(s scope) (bool, error) { return member(s.input, k) }
	if b.odds(50) {
		src = fmt.Sprintf("input.x <= %d", k)
		b.when[src] = func(s scope) (bool, error) {
			x, ok := s.input["x"]
			return ok && x.(float64) <= float64(k), nil
		}
	}
	return src
}

// whenOutput asks for the output of the node, by either name, or of one that came before.
func (b *builder) whenOutput(node string) string {
	k := 1 + b.r.IntN(2)
	src := fmt.Sprintf("output.x == %d", k)
	b.when[src] = func(s scope) (bool, error) { return member(s.output, k) }
	if b.odds(15) {
		src = "output.x.size() > 0" // of a number
		b.when[src] = func(s scope) (bool, error) {
			if _, ok := s.output["x"]; ok {
				return false, errExpression
			}
			return false, nil
		}
	}
	if b.odds(40) {
		id := pickOne(b.r, append([]string{node}, b.tasks...)...)
		src = fmt.Sprintf("outputs.%s.x == %d", id, k)
		b.when[src] = func(s scope) (bool, error) { return member(s.outputs[id], k) }
		if b.odds(50) { // looks at all of them, which may have to be read
			src = fmt.Sprintf("'%s' in outputs && outputs.%s.x == %d", id, id, k)
			b.when[src] = func(s scope) (bool, error) {
				if _, ok := s.outputs[id]; !ok {
					return false, nil
				}
				return member(s.outputs[id], k)
			}
		}
	}
	return src
}

// member is o.x == k, and false where there is no o or no x.
func member(o map[string]any, k int) (bool, error) {
	x, ok := o["x"]
	return ok && x == float64(k), nil
}

// whenError asks for the error of the node.
func (b *builder) whenError() string {
	code := pickOne(b.r, "E1", "ERR_TIMEOUT", "NODE_CANCELED", "NO_EDGE", "JOIN_NOT_PASSABLE")
	src := fmt.Sprintf("error != null && has(error.code) && error.code == %q", code)
	b.when[src] = func(s scope) (bool, error) { return s.code == code, nil }
	if b.odds(25) {
		src = "error.detail.k == 1" // most errors have no such detail
		b.when[src] = func(s scope) (bool, error) {
			return s.code == "E2", nil
		}
	}
	if b.odds(40) {
		long := pickOne(b.r, len("E1"), len("NODE_CANCELED"), len("NODE_CANCELED"))
		src = fmt.Sprintf("1 / (size(error.code) - %d) == 5", long)
		b.when[src] = func(s scope) (bool, error) {
			if len(s.code) == long {
				return false, errExpression
			}
			return false, nil
		}
	}
	return src
}

// input declares the input of a Task: members that look at the input of the execution, and at the failure before.
func (b *builder) input() map[string]string {
	const x, failed, code = "input.x", "error != null", "has(error.code) ? error.code : ''"
	b.values[x] = func(s scope, _ bool) (string, error) {
		if value, ok := s.input["x"]; ok {
			return fmt.Sprint(value), nil
		}
		return "", errExpression
	}
	b.values[failed] = func(_ scope, failed bool) (string, error) { return fmt.Sprint(failed), nil }
	b.values[code] = func(s scope, _ bool) (string, error) { return fmt.Sprintf("%q", s.code), nil }
	return pickOne(b.r, map[string]string{"x": x}, map[string]string{"x": x, "failed": failed},
		map[string]string{"failed": failed}, map[string]string{"b": failed, "a": code})
}

// gates are the expressions of CUSTOM joins.
var gates = map[string]func(completed, failed, canceled, expected []string) (bool, error){
	"size(completed) >= 1": func(completed, _, _, _ []string) (bool, error) { return len(completed) >= 1, nil },
	"size(completed) >= 2": func(completed, _, _, _ []string) (bool, error) { return len(completed) >= 2, nil },
	"size(completed) + size(failed) + size(canceled) == size(expected)": func(completed, failed, canceled,
		expected []string,
	) (bool, error) {
		return len(completed)+len(failed)+len(canceled) == len(expected), nil
	},
	"size(failed) > 0 || size(canceled) > 0": func(_, failed, canceled, _ []string) (bool, error) {
		return len(failed) > 0 || len(canceled) > 0, nil
	},
	"expected[0] in completed": func(completed, _, _, expected []string) (bool, error) {
		return slices.Contains(completed, expected[0]), nil
	},
	"completed[0] == expected[0]": func(completed, _, _, expected []string) (bool, error) {
		return len(completed) > 0 && completed[0] == expected[0], nil
	},
	"1 / size(completed) == 1": func(completed, _, _, _ []string) (bool, error) {
		if len(completed) == 0 {
			return false, errExpression
		}
		return len(completed) == 1, nil
	},
	"size(completed) * 2 > size(expected)": func(completed, _, _, expected []string) (bool, error) {
		return len(completed)*2 > len(expected), nil
	},
	"size(completed) > size(failed) + 1": func(completed, failed, _, _ []string) (bool, error) {
		return len(completed) > len(failed)+1, nil
	},
	"size(completed) == size(failed) && size(completed) > 1": func(completed, failed, _, _ []string) (bool, error) {
		return len(completed) == len(failed) && len(completed) > 1, nil
	},
	"failed.all(f, f == expected[0]) && size(completed) >= size(expected) - 1": func(completed, failed, _,
		expected []string,
	) (bool, error) {
		for _, f := range failed {
			if f != expected[0] {
				return false, nil
			}
		}
		return len(completed) >= len(expected)-1, nil
	},
	"expected.filter(e, e in completed).size() > 2 ? failed == [] : size(canceled) > 1": func(completed, failed,
		canceled, _ []string,
	) (bool, error) {
		if len(completed) > 2 {
			return len(failed) == 0, nil
		}
		return len(canceled) > 1, nil
	},
	"size(completed) > 0 && completed.map(c, c)[size(completed) - 1] == expected[1]": func(completed, _, _,
		expected []string,
	) (bool, error) {
		return len(completed) > 0 && len(expected) > 1 && completed[len(completed)-1] == expected[1], nil
	},
	"false": func(_, _, _, _ []string) (bool, error) { return false, nil },
}

// gate makes the expression of a CUSTOM join.
func (b *builder) gate() string {
	src := pickOne(b.r, slices.Sorted(maps.Keys(gates))...)
	b.gates[src] = func(g *modelGate) (bool, error) {
		return gates[src](g.list("completed"), g.list("failed"), g.list("canceled"), g.expected)
	}
	return src
}
