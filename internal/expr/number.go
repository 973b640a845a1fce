package expr

import (
	"math"
	"slices"

	"cel.dev/cel-go/common/operators"
)

// The numbers of formulas are small enough to be whole numbers exactly.
const (
	maxWhole  = 1 << 53 // of a result
	maxFactor = 1 << 24 // of a count
	maxValue  = 1 << 40 // of a constant
)

// number is a number that depends on how the branches end: a constant and a sum of
// counts, or the result of an operator on two of those.
type number struct {
	fraction bool // a double; else an int
	value    float64
	terms    []term
	weights  []weight // the terms by class, once there are classes
	weighed  bool

	op   string
	a, b *number
}

// term counts the open branches in a group, times a factor.
type term struct {
	group  *group
	factor float64
}

// weight is what one branch of a class adds to a number, by its end; open is nothing.
type weight struct {
	class int
	by    [ends]float64
}

func whole(value float64) *number { return &number{value: value} }

// linear reports whether a number is a constant and a sum of counts.
func (n *number) linear() bool { return n.op == "" }

// fixed reports whether a number is the same in all states.
func (n *number) fixed() bool { return n.op == "" && len(n.terms) == 0 }

// visit calls a function with the linear numbers that a number is made of.
func (n *number) visit(do func(*number)) {
	if n.linear() {
		do(n)
		return
	}
	n.a.visit(do)
	n.b.visit(do)
}

// plus adds b, times a sign, to a; both are linear and whole. It is nil when the result is too large.
func plus(a, b *number, sign float64) *number {
	sum := &number{value: a.value + sign*b.value, terms: slices.Clone(a.terms)}
	for _, t := range b.terms {
		t.factor *= sign
		i := slices.IndexFunc(sum.terms, func(known term) bool { return known.group == t.group })
		if i < 0 {
			sum.terms = append(sum.terms, t)
			continue
		}
		sum.terms[i].factor += t.factor
	}
	return sum.small()
}

// times is a linear whole number times a constant one.
func times(a *number, factor float64) *number {
	product := &number{value: a.value * factor, terms: slices.Clone(a.terms)}
	for i := range product.terms {
		product.terms[i].factor *= factor
	}
	return product.small()
}

// small gives a linear number without terms that add nothing, or nil when it is too large.
func (n *number) small() *number {
	n.terms = slices.DeleteFunc(n.terms, func(t term) bool { return t.factor == 0 })
	if math.Abs(n.value) > maxValue {
		return nil
	}
	for _, t := range n.terms {
		if math.Abs(t.factor) > maxFactor {
			return nil
		}
	}
	return n
}

// calculate is an operator on two numbers, nil when the result is not known.
func calculate(op string, a, b *number) *number {
	if a.linear() && b.linear() && !a.fraction && !b.fraction {
		switch {
		case op == operators.Add:
			return plus(a, b, 1)
		case op == operators.Subtract:
			return plus(a, b, -1)
		case op == operators.Multiply && b.fixed():
			return times(a, b.value)
		case op == operators.Multiply && a.fixed():
			return times(b, a.value)
		}
	}
	n := &number{op: op, a: a, b: b, fraction: a.fraction || b.fraction}
	if n.fraction && op == operators.Modulo {
		return nil
	}
	return n.fold()
}

// fractional is a number as a double.
func fractional(a *number) *number {
	if a.fraction {
		return a
	}
	n := &number{op: "double", a: a, b: whole(0), fraction: true}
	return n.fold()
}

// fold computes what does not depend on the branches.
func (n *number) fold() *number {
	if !n.a.fixed() || !n.b.fixed() {
		return n
	}
	s, ok := n.span(nil)
	if !ok {
		return nil
	}
	return &number{fraction: n.fraction, value: s.low}
}

// span is the least and the greatest that a number can be.
type span struct{ low, high float64 }

// span computes where a number lies in all states of a box. It is not ok where an
// operator may fail or the result may be too large. Rounding is monotonic, so the
// ends of a span of doubles are what CEL itself would compute for them.
func (n *number) span(in box) (span, bool) {
	if n.linear() {
		s := span{n.value, n.value}
		for i := range n.weights {
			w := &n.weights[i]
			low, high := in[w.class].sums(&w.by)
			s.low += low
			s.high += high
		}
		return s, true
	}
	a, ok := n.a.span(in)
	if !ok {
		return span{}, false
	}
	b, ok := n.b.span(in)
	if !ok {
		return span{}, false
	}
	s, ok := n.result(a, b)
	limit := math.MaxFloat64
	if !n.fraction {
		limit = maxWhole
	}
	return s, ok && math.Abs(s.low) <= limit && math.Abs(s.high) <= limit // not so for a NaN either
}

func (n *number) result(a, b span) (span, bool) {
	switch n.op {
	case operators.Add:
		return span{a.low + b.low, a.high + b.high}, true
	case operators.Subtract:
		return span{a.low - b.high, a.high - b.low}, true
	case operators.Multiply:
		return corners(a, b, func(x, y float64) float64 { return x * y }), true
	case operators.Divide:
		if b.low <= 0 && b.high >= 0 {
			return span{}, false
		}
		if n.fraction {
			return corners(a, b, func(x, y float64) float64 { return x / y }), true
		}
		return corners(a, b, func(x, y float64) float64 { return float64(int64(x) / int64(y)) }), true
	case operators.Modulo:
		return modulo(a, b)
	case "double":
		return a, true
	}
	return span{}, false
}

// corners is the span of an operator that, in each operand by itself, only rises or
// only falls.
func corners(a, b span, op func(x, y float64) float64) span {
	w, x, y, z := op(a.low, b.low), op(a.low, b.high), op(a.high, b.low), op(a.high, b.high)
	return span{min(w, x, y, z), max(w, x, y, z)}
}

func modulo(a, b span) (span, bool) {
	if a.low < 0 || b.low <= 0 || b.low != b.high {
		return span{}, false
	}
	if int64(a.low)/int64(b.low) == int64(a.high)/int64(b.low) {
		return span{math.Mod(a.low, b.low), math.Mod(a.high, b.low)}, true
	}
	return span{0, b.low - 1}, true
}
