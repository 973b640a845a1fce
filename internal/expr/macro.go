package expr

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// macro lifts all, exists, exists_one and filter over a list of branches. They are
// told apart by the value that their loops begin with.
func (l *lifter) macro(c ast.ComprehensionExpr) value {
	if c.IterRange().Kind() != ast.CallKind || c.LoopStep().Kind() != ast.CallKind || c.HasIterVar2() {
		return value{}
	}
	return l.loop(l.value(c.IterRange().AsCall().Args()[0]), c) // the argument of rangeFunction
}

func (l *lifter) loop(over value, c ast.ComprehensionExpr) value {
	if over.kind == isFork {
		return l.both(over.fork, func(over value) value { return l.loop(over, c) })
	}
	if over.kind != isGroup {
		return value{}
	}
	step := c.LoopStep().AsCall().Args()
	if c.AccuInit().Kind() == ast.ListKind {
		return l.filter(over.group, c.IterVar(), c.LoopStep().AsCall())
	}
	switch c.AccuInit().AsLiteral() {
	case types.True:
		return truthValue(not(l.exists(over.group, c.IterVar(), step[1], true)))
	case types.False:
		return truthValue(l.exists(over.group, c.IterVar(), step[1], false))
	case types.Int(0):
		return l.existsOne(over.group, c.IterVar(), step[0])
	}
	return value{}
}

// exists says that some element fulfils a condition, or its opposite.
func (l *lifter) exists(g *group, variable string, cond ast.Expr, opposite bool) formula {
	found, rest := l.find(g, variable, cond, opposite)
	if found == nil {
		return constant(maybe)
	}
	return or(append(rest, compare(atMost, whole(1), l.count(found)))...)
}

func (l *lifter) existsOne(g *group, variable string, cond ast.Expr) value {
	found, rest := l.find(g, variable, cond, false)
	if found == nil || len(rest) > 0 {
		return value{}
	}
	return truthValue(compare(equal, l.count(found), whole(1)))
}

// filter lifts filter, and a map that keeps its elements. The step adds an element to
// the result, or does so if the condition holds.
func (l *lifter) filter(g *group, variable string, step ast.CallExpr) value {
	add, cond := step, ast.Expr(nil)
	if step.FunctionName() == operators.Conditional {
		if step.Args()[1].Kind() != ast.CallKind {
			return value{}
		}
		add, cond = step.Args()[1].AsCall(), step.Args()[0]
	}
	added := add.Args()[1].AsList().Elements()
	if len(added) != 1 || added[0].Kind() != ast.IdentKind || added[0].AsIdent() != variable {
		return value{}
	}
	if cond == nil {
		return groupValue(g)
	}
	found, rest := l.find(g, variable, cond, false)
	if found == nil || len(rest) > 0 {
		return value{}
	}
	return groupValue(found)
}

// find looks for the elements that fulfil a condition, or its opposite. Where the
// condition depends on more than the branch itself, it is among the rest: a formula
// that says that the element is there and fulfils it. Without steps nothing is found.
func (l *lifter) find(g *group, variable string, cond ast.Expr, opposite bool) (found *group, rest []formula) {
	found = l.newGroup()
	if found == nil {
		return nil, nil
	}
	found.ordered = g.ordered
	for i, name := range l.expected {
		set := g.of(i)
		if set&l.possible(i) == 0 {
			continue
		}
		if l.steps < 0 {
			return nil, nil
		}
		switch f := l.with(variable, value{kind: isText, text: name, branch: i}, cond, opposite); {
		case f.is(yes):
			found.sets[i] = set
		case f.is(no):
		case f.op == standing && f.branch == i:
			found.sets[i] = set & f.set
		default:
			rest = append(rest, and(l.stands(i, set), f))
		}
	}
	for _, name := range g.others {
		switch f := l.with(variable, value{kind: isText, text: name, branch: -1}, cond, opposite); {
		case f.is(yes):
			found.others = append(found.others, name)
		case f.is(no):
		default:
			rest = append(rest, f)
		}
	}
	return found, rest
}

// with lifts a condition in which a variable has a value.
func (l *lifter) with(variable string, v value, cond ast.Expr, opposite bool) formula {
	l.scope = append(l.scope, binding{variable, v})
	f := l.truth(cond)
	l.scope = l.scope[:len(l.scope)-1]
	if opposite {
		return not(f)
	}
	return f
}
