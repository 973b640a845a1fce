package expr

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"renga.dev/renga/internal/platform/fault"
)

// The limits.
const (
	MaxSource  = 4 << 10 // bytes of an expression
	MaxDepth   = 64      // how deep an expression may nest
	MaxParts   = 2_000   // operators, names and literals of one expression, macros expanded
	MaxMacros  = 8       // all, exists, exists_one, filter and map in one expression
	MaxSteps   = 20_000  // what one evaluation may take
	MaxPattern = 256     // bytes of a regular expression

	maxMessage = 240 // bytes of a message
)

// Code is the code of an expression that does not compile.
const Code = "INVALID_EXPRESSION"

// Program is a compiled expression. It is safe for concurrent use.
type Program struct {
	uses []string // variables, sorted
	root ast.Expr
	run  cel.Program
}

// ErrSteps says that an evaluation was ended, since it took too long.
var ErrSteps = fmt.Errorf("the expression takes more than %d steps", MaxSteps)

// When compiles the condition of an edge: input, outputs (by node), output, error.
func When(src string) (*Program, error) { return whenCache.get(src, whenEnv) }

// Gate compiles the expression of a CUSTOM join: expected, completed, failed and
// canceled, each a list of branches.
func Gate(src string) (*Program, error) { return gateCache.get(src, gateEnv) }

// Uses reports whether the expression looks at a variable.
func (p *Program) Uses(name string) bool {
	_, found := slices.BinarySearch(p.uses, name)
	return found
}

// Fixed reports whether the expression looks at no variable, so that it always gives the same.
func (p *Program) Fixed() bool { return len(p.uses) == 0 }

// Eval evaluates the expression. Values are what a JSON decoder makes of any JSON
// (map[string]any, []any, string, float64, int64, bool, nil) or lists of strings; a
// variable without a value is null. The values are not changed. An expression that names a member or an
// element that is not there is false as a whole, also where it is negated.
func (p *Program) Eval(vars map[string]any) (bool, error) {
	ok, _, err := p.eval(vars)
	return ok, err
}

// eval also tells how many steps it took.
func (p *Program) eval(vars map[string]any) (ok bool, steps uint64, err error) {
	out, steps, err := p.value(vars)
	switch {
	case errors.As(err, new(errMissing)):
		return false, steps, nil
	case err != nil:
		return false, steps, err
	}
	if b, ok := out.(types.Bool); ok {
		return bool(b), steps, nil
	}
	return false, steps, fmt.Errorf("the expression gives %s, not true or false", out.Type().TypeName())
}

// value is what the expression gives, and how many steps it took.
func (p *Program) value(vars map[string]any) (out ref.Val, steps uint64, err error) {
	out, details, err := p.run.Eval(p.fill(vars))
	if cost := details.ActualCost(); cost != nil {
		steps = *cost
	}
	var stopped interpreter.EvalCancelledError
	switch {
	case errors.As(err, &stopped):
		return nil, steps, ErrSteps
	case err != nil && missing.MatchString(err.Error()):
		return nil, steps, errMissing(brief(err.Error()))
	case err != nil:
		return nil, steps, errors.New(brief(err.Error()))
	}
	return out, steps, nil
}

// errMissing says which member or element is not there.
type errMissing string

func (e errMissing) Error() string { return string(e) }

// missing are the messages of CEL, whose errors have no other mark, about members and elements that are not there.
var missing = regexp.MustCompile(`^(no such key: |index out of bounds: |index '-?\d+' out of range)`)

// fill gives variables without a value the value null.
func (p *Program) fill(vars map[string]any) map[string]any {
	filled := vars
	for _, name := range p.uses {
		if _, ok := vars[name]; ok {
			continue
		}
		if len(filled) == len(vars) {
			filled = maps.Clone(vars)
			if filled == nil {
				filled = make(map[string]any, len(p.uses))
			}
		}
		filled[name] = nil
	}
	return filled
}

func compile(src string, env *cel.Env, values bool) (*Program, error) {
	if err := checkSource(src); err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(src)
	if issues.Err() != nil {
		return nil, explain(issues)
	}
	if n := countMacros(parsed); n > MaxMacros {
		return nil, invalid("the expression has %d macros (all, exists, exists_one, filter, map); at most %d are "+
			"allowed", n, MaxMacros)
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, explain(issues)
	}
	if t := checked.OutputType(); !values && !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, invalid("the expression gives %s, not true or false", t)
	}
	run, err := env.Program(checked, programOptions()...)
	if err != nil {
		return nil, invalid("%s", brief(err.Error()))
	}
	return &Program{uses: variables(checked, env), root: checked.NativeRep().Expr(), run: run}, nil
}

func checkSource(src string) error {
	switch {
	case strings.TrimSpace(src) == "":
		return invalid("the expression is empty")
	case len(src) > MaxSource:
		return invalid("the expression has %d bytes; at most %d are allowed", len(src), MaxSource)
	case !utf8.ValidString(src):
		return invalid("the expression is not valid UTF-8")
	}
	return nil
}

// countMacros is asked before types are checked: the type of a loop grows with the loops inside it.
func countMacros(parsed *cel.Ast) int {
	n := 0
	ast.PostOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			n++
		}
	}))
	return n
}

func variables(checked *cel.Ast, env *cel.Env) []string {
	named := make(map[string]bool)
	ast.PostOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind {
			named[strings.TrimPrefix(e.AsIdent(), ".")] = true
		}
	}))
	var uses []string
	for _, v := range env.Variables() {
		if named[v.Name()] {
			uses = append(uses, v.Name())
		}
	}
	slices.Sort(uses)
	return uses
}

func invalid(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, Code, format, args...)
}

func explain(issues *cel.Issues) error {
	all := issues.Errors()
	if len(all) == 0 {
		return invalid("%s", brief(issues.Err().Error()))
	}
	first := all[0]
	message := brief(plain(first.Message))
	line, column := first.Location.Line(), first.Location.Column()+1
	if line < 1 {
		return invalid("%s", message)
	}
	return invalid("line %d, column %d: %s", line, column, message).
		With(map[string]any{"line": line, "column": column})
}

// plain replaces the compiler's names of operators by those that authors know.
func plain(message string) string {
	switch {
	case strings.Contains(message, "'"+rangeFunction+"'"):
		return "all, exists, exists_one, filter and map need a list or a map"
	case strings.Contains(message, "recursion"):
		return fmt.Sprintf("the expression nests deeper than %d", MaxDepth)
	}
	message = strings.ReplaceAll(message, " (in container '')", "")
	message = strings.ReplaceAll(message, "'@in'", "'in'")
	return operatorName.ReplaceAllString(message, "'$1'")
}

var operatorName = regexp.MustCompile(`'_?(==|!=|<=?|>=?|&&|\|\||[-+*/%!]|\[_\]|\?_:)_?'`)

func brief(message string) string {
	message, _, _ = strings.Cut(message, "\n")
	if len(message) <= maxMessage {
		return message
	}
	cut := maxMessage
	for !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + "…"
}
