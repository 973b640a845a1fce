package expr

import (
	"fmt"
	"regexp"

	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// decorate replaces the nodes of a plan that could do more work than CEL counts.
func decorate(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	switch n := node.(type) {
	case *attribute:
		return n, nil
	case interpreter.InterpretableAttribute:
		return &attribute{n}, nil
	case interpreter.InterpretableConstructor:
		return &literal{n, uint64(len(n.InitVals()))}, nil
	case interpreter.InterpretableCall:
		return decorateCall(n)
	}
	return node, nil
}

func decorateCall(call interpreter.InterpretableCall) (interpreter.InterpretableV2, error) {
	switch call.Function() {
	case operators.Equals:
		return newBinary(call, func(w *walk, l, r ref.Val) ref.Val { return types.Bool(w.equal(l, r)) })
	case operators.NotEquals:
		return newBinary(call, func(w *walk, l, r ref.Val) ref.Val { return types.Bool(!w.equal(l, r)) })
	case operators.In:
		return newBinary(call, (*walk).contains)
	case operators.Add:
		return newBinary(call, (*walk).add)
	case operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo:
		name := call.Function()
		return newBinary(call, func(_ *walk, l, r ref.Val) ref.Val { return arithmetic(name, l, r) })
	case overloads.Matches:
		return newMatch(call)
	}
	return call, nil
}

// attribute is a variable or a part of one. Text is counted where it is looked up
// and where it is a key, for a key is hashed.
type attribute struct {
	interpreter.InterpretableAttribute
}

func (a *attribute) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := a.InterpretableAttribute.Exec(frame)
	charge(frame, a.ID(), textSteps(v))
	return v
}

func (a *attribute) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, a.Exec)
}

func (a *attribute) Qualify(vars interpreter.Activation, obj any) (any, error) {
	a.chargeKey(vars)
	return a.InterpretableAttribute.Qualify(vars, obj)
}

func (a *attribute) QualifyIfPresent(vars interpreter.Activation, obj any, presenceOnly bool) (any, bool, error) {
	a.chargeKey(vars)
	return a.InterpretableAttribute.QualifyIfPresent(vars, obj, presenceOnly)
}

func (a *attribute) chargeKey(vars interpreter.Activation) {
	if frame, ok := vars.(*interpreter.ExecutionFrame); ok {
		if key, err := a.Resolve(vars); err == nil {
			charge(frame, a.ID(), 1+textSteps(key))
		}
	}
}

type literal struct {
	interpreter.InterpretableConstructor
	size uint64
}

func (l *literal) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	charge(frame, l.ID(), l.size)
	return l.InterpretableConstructor.Exec(frame)
}

func (l *literal) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, l.Exec)
}

type binary struct {
	interpreter.InterpretableCall
	lhs, rhs interpreter.InterpretableV2
	op       func(w *walk, lhs, rhs ref.Val) ref.Val
}

func newBinary(call interpreter.InterpretableCall, op func(w *walk, lhs, rhs ref.Val) ref.Val) (
	interpreter.InterpretableV2, error,
) {
	args := call.Args()
	if len(args) != 2 {
		return nil, fmt.Errorf("%s needs two operands", call.Function())
	}
	return &binary{call, args[0], args[1], op}, nil
}

func (b *binary) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	lhs := b.lhs.Exec(frame)
	if types.IsUnknownOrError(lhs) {
		return lhs
	}
	rhs := b.rhs.Exec(frame)
	if types.IsUnknownOrError(rhs) {
		return rhs
	}
	w := walk{frame, b.ID()}
	w.steps(1)
	return types.LabelErrNode(b.ID(), b.op(&w, lhs, rhs))
}

func (b *binary) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, b.Exec)
}

// match is text against a regular expression that was compiled with the program.
type match struct {
	interpreter.InterpretableCall
	text    interpreter.InterpretableV2
	pattern *regexp.Regexp
	states  uint64
}

func newMatch(call interpreter.InterpretableCall) (interpreter.InterpretableV2, error) {
	args := call.Args()
	if len(args) == 2 {
		if fixed, ok := args[1].(interpreter.InterpretableConst); ok {
			if source, ok := fixed.Value().(types.String); ok {
				pattern, states, err := compilePattern(string(source))
				return &match{call, args[0], pattern, states}, err
			}
		}
	}
	return nil, errPattern
}

func (m *match) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	text := m.text.Exec(frame)
	if types.IsUnknownOrError(text) {
		return text
	}
	s, ok := text.(types.String)
	if !ok {
		return types.LabelErrNode(m.ID(), types.MaybeNoSuchOverloadErr(text))
	}
	charge(frame, m.ID(), 1+uint64(len(s))*m.states/statesPerStep)
	return types.Bool(m.pattern.MatchString(string(s)))
}

func (m *match) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, m.Exec)
}

// arithmetic computes with two numbers, of which one may be an integer and the other
// a fraction, or with two values of the kinds that CEL computes with.
func arithmetic(operator string, l, r ref.Val) ref.Val {
	l, r = alike(operator, l, r)
	switch operator {
	case operators.Add:
		if v, ok := l.(traits.Adder); ok {
			return v.Add(r)
		}
	case operators.Subtract:
		if v, ok := l.(traits.Subtractor); ok {
			return v.Subtract(r)
		}
	case operators.Multiply:
		if v, ok := l.(traits.Multiplier); ok {
			return v.Multiply(r)
		}
	case operators.Divide:
		if v, ok := l.(traits.Divider); ok {
			return v.Divide(r)
		}
	case operators.Modulo:
		if v, ok := l.(traits.Modder); ok {
			return v.Modulo(r)
		}
	}
	return types.MaybeNoSuchOverloadErr(l)
}

// alike brings two numbers to one type: to fractions when either is one, and for the
// modulus, which only integers have, to integers.
func alike(operator string, l, r ref.Val) (ref.Val, ref.Val) {
	if operator == operators.Modulo {
		return integer(l), integer(r)
	}
	_, lf := l.(types.Double)
	_, rf := r.(types.Double)
	switch {
	case lf && !rf:
		return l, fraction(r)
	case rf && !lf:
		return fraction(l), r
	}
	return l, r
}

func fraction(v ref.Val) ref.Val {
	switch v.(type) {
	case types.Int, types.Uint:
		return v.ConvertToType(types.DoubleType)
	}
	return v
}

func integer(v ref.Val) ref.Val {
	if f, ok := v.(types.Double); ok {
		if i := types.Double(int64(f)); i == f && i >= -1<<53 && i <= 1<<53 {
			return types.Int(int64(f))
		}
	}
	return v
}
