package expr

import (
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

var (
	ruleCache cache
	ruleEnv   = sync.OnceValues(func() (*cel.Env, error) {
		return newEnv(cel.DynType, "record", "old")
	})
)

// Rule compiles a condition on a record: record, and old as it was before a change.
func Rule(src string) (*Program, error) { return ruleCache.get(src, ruleEnv) }

// CompileRule is Rule, and says whether it was compiled now: that takes longer than to
// evaluate it mostly does.
func CompileRule(src string) (p *Program, compiled bool, err error) {
	if p := ruleCache.find(src); p != nil {
		return p, false, nil
	}
	p, err = Rule(src)
	return p, true, err
}

// Members lists the members of a variable that the expression names, as record.Amount
// or record["Amount"], in order and each once.
func (p *Program) Members(variable string) []string {
	var members []string
	ast.PostOrderVisit(p.root, ast.NewExprVisitor(func(e ast.Expr) {
		if of, name, ok := memberOf(e); ok && of == variable {
			members = append(members, name)
		}
	}))
	slices.Sort(members)
	return slices.Compact(members)
}

// Whole reports whether the expression looks at a variable otherwise than by the members
// that it names: at all of them, or at one whose name it works out.
func (p *Program) Whole(variable string) bool {
	named := 0
	ast.PostOrderVisit(p.root, ast.NewExprVisitor(func(e ast.Expr) {
		if of, _, ok := memberOf(e); ok && of == variable {
			named-- // what it is a member of
		}
		if e.Kind() == ast.IdentKind && e.AsIdent() == variable {
			named++
		}
	}))
	return named > 0
}

func memberOf(e ast.Expr) (variable, name string, ok bool) {
	var of ast.Expr
	switch e.Kind() {
	case ast.SelectKind:
		of, name = e.AsSelect().Operand(), e.AsSelect().FieldName()
	case ast.CallKind:
		c := e.AsCall()
		args := c.Args()
		if c.FunctionName() != operators.Index || len(args) != 2 || args[1].Kind() != ast.LiteralKind {
			return "", "", false
		}
		if name, ok = args[1].AsLiteral().Value().(string); !ok {
			return "", "", false
		}
		of = args[0]
	default:
		return "", "", false
	}
	if of.Kind() != ast.IdentKind {
		return "", "", false
	}
	return of.AsIdent(), name, true
}

// Untrue is a part of the expression that must be true or false where it stands, and never
// is: a variable, a member of one of which boolean says no, or a sum. "" says that there
// is none.
func (p *Program) Untrue(boolean func(member string) bool) string { return untrue(p.root, boolean) }

func untrue(e ast.Expr, boolean func(member string) bool) string {
	if variable, name, ok := memberOf(e); ok {
		if e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly() || boolean(name) {
			return ""
		}
		return variable + "." + name
	}
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.CallKind:
		c := e.AsCall()
		switch c.FunctionName() {
		case operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo,
			operators.Negate:
			return "a result of arithmetic"
		case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional:
			for _, arg := range c.Args() {
				if part := untrue(arg, boolean); part != "" {
					return part
				}
			}
		}
	}
	return ""
}
