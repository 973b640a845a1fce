package expr

import (
	"math"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
)

// lifter makes a formula of an expression: it evaluates it once for all states.
type lifter struct {
	*foresight
	lists    map[string]*group // the variables
	scope    []binding         // the variables of macros, the innermost last
	names    map[string]int    // the branches by name, -1 if there is none, as far as they were looked for
	patterns map[int64]pattern // compiled, by the call that has them
}

// binding is a variable of a macro; it is always a text.
type binding struct {
	name  string
	value value
}

// value is what a part of an expression is. The zero value is one that is not known.
type value struct {
	kind   kind
	truth  formula
	number *number
	group  *group
	text   string
	branch int // that is named so; -1 if none
	pick   *pick
	fork   *fork
}

type kind uint8

const (
	unlifted kind = iota
	isTruth
	isNumber
	isText
	isGroup
	isPick // an element of a list, by its place
	isFork // one of two values, by a condition
)

func lift(f *foresight) formula {
	list := func(set endSet) *group { return &group{all: set, ordered: true} }
	l := &lifter{foresight: f, names: make(map[string]int), patterns: make(map[int64]pattern), lists: map[string]*group{
		"expected": list(anyEnd), "completed": list(only(endCompleted)), "failed": list(only(endFailed)), "canceled": list(only(endCanceled)),
	}}
	return l.truth(f.program.root)
}

// truth is what a part of an expression is that should be true or false.
func (l *lifter) truth(e ast.Expr) formula {
	if v := l.value(e); v.kind == isTruth {
		return v.truth
	}
	return constant(maybe)
}

func truthValue(f formula) value { return value{kind: isTruth, truth: f} }
func groupValue(g *group) value  { return value{kind: isGroup, group: g} }
func numberValue(n *number) value {
	if n == nil {
		return value{}
	}
	return value{kind: isNumber, number: n}
}

func (l *lifter) value(e ast.Expr) value {
	if !l.charge(1) {
		return value{}
	}
	switch e.Kind() {
	case ast.LiteralKind:
		return l.literal(e)
	case ast.IdentKind:
		return l.variable(e.AsIdent())
	case ast.ListKind:
		return l.list(e.AsList().Elements())
	case ast.CallKind:
		return l.call(e.ID(), e.AsCall())
	case ast.ComprehensionKind:
		return l.macro(e.AsComprehension())
	}
	return value{}
}

func (l *lifter) literal(e ast.Expr) value {
	switch v := e.AsLiteral().(type) {
	case types.Bool:
		return truthValue(constant(truthOf(bool(v))))
	case types.Int:
		if v >= -maxValue && v <= maxValue {
			return numberValue(whole(float64(v)))
		}
	case types.Double:
		if !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) {
			return numberValue(&number{fraction: true, value: float64(v)})
		}
	case types.String:
		return l.name(string(v))
	}
	return value{}
}

// name is a text, which may be the name of a branch. An expression has few: it is
// faster to look for each than to index all branches.
func (l *lifter) name(text string) value {
	i, known := l.names[text]
	if !known {
		l.charge(len(l.expected) / branchesPerStep)
		i = slices.Index(l.expected, text)
		l.names[text] = i
	}
	return value{kind: isText, text: text, branch: i}
}

func (l *lifter) variable(name string) value {
	for i := len(l.scope) - 1; i >= 0; i-- {
		if l.scope[i].name == name {
			return l.scope[i].value
		}
	}
	if g := l.lists[strings.TrimPrefix(name, ".")]; g != nil {
		return groupValue(g)
	}
	return value{}
}

func (l *lifter) call(id int64, call ast.CallExpr) value {
	args := call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	switch name := call.FunctionName(); {
	case name == operators.LogicalAnd:
		return truthValue(and(l.truths(args)...))
	case name == operators.LogicalOr:
		return truthValue(or(l.truths(args)...))
	case name == operators.Conditional && len(args) == 3:
		return l.conditional(args)
	case len(args) == 1:
		return l.unary(name, l.value(args[0]))
	case name == operators.In && len(args) == 2 && args[1].Kind() == ast.ListKind:
		return l.oneOf(args[0], args[1].AsList().Elements())
	case name == overloads.Matches && len(args) == 2:
		return l.matches(id, args[0], args[1])
	case len(args) == 2:
		return l.binary(name, l.value(args[0]), l.value(args[1]))
	}
	return value{}
}

func (l *lifter) truths(args []ast.Expr) []formula {
	all := make([]formula, len(args))
	for i, arg := range args {
		all[i] = l.truth(arg)
	}
	return all
}

// conditional is the operator ?:.
func (l *lifter) conditional(args []ast.Expr) value {
	switch cond := l.truth(args[0]); {
	case cond.is(yes):
		return l.value(args[1])
	case cond.is(no):
		return l.value(args[2])
	default:
		return forked(cond, l.value(args[1]), l.value(args[2]))
	}
}

func (l *lifter) unary(name string, v value) value {
	switch {
	case v.kind == isFork:
		return l.both(v.fork, func(v value) value { return l.unary(name, v) })
	case name == operators.LogicalNot && v.kind == isTruth:
		return truthValue(not(v.truth))
	case name == operators.Negate && v.kind == isNumber && v.number.fraction:
		return numberValue(calculate(operators.Multiply, v.number, whole(-1)))
	case name == operators.Negate && v.kind == isNumber:
		return numberValue(calculate(operators.Subtract, whole(0), v.number))
	case name == overloads.Size && v.kind == isGroup:
		return numberValue(l.count(v.group))
	case name == overloads.TypeConvertDouble && v.kind == isNumber:
		return numberValue(fractional(v.number))
	case name == overloads.TypeConvertInt && v.kind == isNumber && !v.number.fraction:
		return v
	}
	return value{}
}

func (l *lifter) binary(name string, a, b value) value {
	switch {
	case a.kind == isFork:
		return l.both(a.fork, func(a value) value { return l.binary(name, a, b) })
	case b.kind == isFork:
		return l.both(b.fork, func(b value) value { return l.binary(name, a, b) })
	case name == operators.In && a.kind == isText && b.kind == isGroup:
		return truthValue(l.contains(b.group, a))
	case name == operators.Index && a.kind == isGroup && b.kind == isNumber:
		return l.element(a.group, b.number)
	case name == operators.Equals && a.kind != isPick && b.kind != isPick:
		return truthValue(l.equal(a, b))
	case name == operators.NotEquals:
		if v := l.binary(operators.Equals, a, b); v.kind == isTruth {
			return truthValue(not(v.truth))
		}
		return value{}
	case a.kind == isNumber && b.kind == isNumber:
		return arithmeticValue(name, a.number, b.number)
	case a.kind == isPick && judges(name):
		return truthValue(l.picked(a.pick, func(a value) value { return l.binary(name, a, b) }))
	case b.kind == isPick && judges(name):
		return truthValue(l.picked(b.pick, func(b value) value { return l.binary(name, a, b) }))
	case name == operators.Add && a.kind == isText && b.kind == isText:
		l.charge((len(a.text) + len(b.text)) / bytesPerStep)
		return l.name(a.text + b.text)
	case a.kind == isText && b.kind == isText:
		return textValue(name, a.text, b.text)
	case name == operators.Add && a.kind == isGroup && b.kind == isGroup:
		return l.concatenate(a.group, b.group)
	}
	return value{}
}

func arithmeticValue(name string, a, b *number) value {
	switch name {
	case operators.Less:
		return truthValue(compare(less, a, b))
	case operators.LessEquals:
		return truthValue(compare(atMost, a, b))
	case operators.Greater:
		return truthValue(compare(less, b, a))
	case operators.GreaterEquals:
		return truthValue(compare(atMost, b, a))
	case operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo:
		return numberValue(calculate(name, a, b))
	}
	return value{}
}

func textValue(name, a, b string) value {
	switch name {
	case overloads.StartsWith:
		return truthValue(constant(truthOf(strings.HasPrefix(a, b))))
	case overloads.EndsWith:
		return truthValue(constant(truthOf(strings.HasSuffix(a, b))))
	case overloads.Contains:
		return truthValue(constant(truthOf(strings.Contains(a, b))))
	case operators.Less:
		return truthValue(constant(truthOf(a < b)))
	case operators.LessEquals:
		return truthValue(constant(truthOf(a <= b)))
	case operators.Greater:
		return truthValue(constant(truthOf(a > b)))
	case operators.GreaterEquals:
		return truthValue(constant(truthOf(a >= b)))
	}
	return value{}
}

func (l *lifter) equal(a, b value) formula {
	switch {
	case a.kind != b.kind:
	case a.kind == isTruth:
		return or(and(a.truth, b.truth), and(not(a.truth), not(b.truth)))
	case a.kind == isNumber:
		return compare(equal, a.number, b.number)
	case a.kind == isText:
		return constant(truthOf(a.text == b.text))
	case a.kind == isGroup:
		return l.same(a.group, b.group)
	}
	return constant(maybe)
}

// oneOf is the operator in with a list that is written out: of texts, and of numbers
// that cannot fail.
func (l *lifter) oneOf(elem ast.Expr, of []ast.Expr) value {
	v := l.value(elem)
	if v.kind == unlifted || len(of) == 0 {
		return value{}
	}
	equals := make([]formula, len(of))
	for i, candidate := range of {
		c := l.value(candidate)
		if c.kind != isText && (c.kind != isNumber || !c.number.linear()) {
			return value{}
		}
		same := l.binary(operators.Equals, v, c)
		if same.kind != isTruth {
			return value{}
		}
		equals[i] = same.truth
	}
	return truthValue(or(equals...))
}

// pattern is a compiled regular expression, with the steps that a byte of text takes.
type pattern struct {
	match  func(string) bool
	states int
}

func (l *lifter) matches(id int64, arg, source ast.Expr) value {
	return l.matching(id, l.value(arg), source)
}

func (l *lifter) matching(id int64, text value, source ast.Expr) value {
	again := func(text value) value { return l.matching(id, text, source) }
	switch text.kind {
	case isText:
	case isFork:
		return l.both(text.fork, again)
	case isPick:
		return truthValue(l.picked(text.pick, again))
	default:
		return value{}
	}
	p, known := l.patterns[id]
	if !known {
		s, _ := source.AsLiteral().(types.String) // it is one: checks.go
		compiled, states, err := compilePattern(string(s))
		if err != nil || !l.charge(int(states)) {
			return value{}
		}
		p = pattern{compiled.MatchString, int(states)}
		l.patterns[id] = p
	}
	if !l.charge(len(text.text) * p.states / statesPerStep) {
		return value{}
	}
	return truthValue(constant(truthOf(p.match(text.text))))
}
