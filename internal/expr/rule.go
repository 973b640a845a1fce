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
		return newEnv(cel.Variable("record", cel.DynType), cel.Variable("old", cel.DynType))
	})
)

// Rule compiles a condition on a record: record, and old as it was before a change.
func Rule(src string) (*Program, error) { return ruleCache.get(src, ruleEnv) }

// Members lists the members of a variable that the expression names, as record.Amount
// or record["Amount"], in order and each once.
func (p *Program) Members(variable string) []string {
	of := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == variable }
	var members []string
	ast.PostOrderVisit(p.root, ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.SelectKind:
			if s := e.AsSelect(); of(s.Operand()) {
				members = append(members, s.FieldName())
			}
		case ast.CallKind:
			c := e.AsCall()
			if args := c.Args(); c.FunctionName() == operators.Index && len(args) == 2 && of(args[0]) && args[1].Kind() == ast.LiteralKind {
				if name, ok := args[1].AsLiteral().Value().(string); ok {
					members = append(members, name)
				}
			}
		}
	}))
	slices.Sort(members)
	return slices.Compact(members)
}
