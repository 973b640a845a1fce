package expr

import (
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/parser"
)

// The two environments are built when the first expression needs them.
var (
	whenEnv = sync.OnceValues(func() (*cel.Env, error) {
		return newEnv(cel.DynType, "input", "outputs", "output", "error")
	})
	gateEnv = sync.OnceValues(func() (*cel.Env, error) {
		return newEnv(cel.ListType(cel.StringType), "expected", "completed", "failed", "canceled")
	})
)

// newEnv has variables of one type.
func newEnv(of *cel.Type, variables ...string) (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(library())),
		cel.Macros(macros()...),
		cel.EnableHiddenAccumulatorName(true),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(MaxSource),
		cel.ParserRecursionLimit(MaxDepth),
		cel.ParserErrorRecoveryLimit(2),
		cel.ExpressionNodeLimit(MaxParts),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), noMessages{}, fixedPatterns{}),
		rangeOption(),
		mixed(operators.Add), mixed(operators.Subtract), mixed(operators.Multiply), mixed(operators.Divide),
	}
	for _, name := range variables {
		options = append(options, cel.Variable(name, of))
	}
	return cel.NewCustomEnv(options...)
}

// library is the standard library without what reads the disk: named time zones.
// Its macros are replaced by ones that walk a map in the order of its keys.
func library() *env.LibrarySubset {
	lib := env.NewLibrarySubset().SetDisableMacros(true)
	for function, overload := range map[string]string{
		overloads.TimeGetFullYear:     overloads.TimestampToYearWithTz,
		overloads.TimeGetMonth:        overloads.TimestampToMonthWithTz,
		overloads.TimeGetDayOfYear:    overloads.TimestampToDayOfYearWithTz,
		overloads.TimeGetDayOfMonth:   overloads.TimestampToDayOfMonthZeroBasedWithTz,
		overloads.TimeGetDate:         overloads.TimestampToDayOfMonthOneBasedWithTz,
		overloads.TimeGetDayOfWeek:    overloads.TimestampToDayOfWeekWithTz,
		overloads.TimeGetHours:        overloads.TimestampToHoursWithTz,
		overloads.TimeGetMinutes:      overloads.TimestampToMinutesWithTz,
		overloads.TimeGetSeconds:      overloads.TimestampToSecondsWithTz,
		overloads.TimeGetMilliseconds: overloads.TimestampToMillisecondsWithTz,
	} {
		lib.AddExcludedFunctions(env.NewFunction(function, env.NewOverload(overload, nil, nil)))
	}
	return lib
}

// mixed lets an operator take an integer and a fraction; nodes.go computes it.
func mixed(operator string) cel.EnvOption {
	return cel.Function(operator,
		cel.Overload(operator+"int_double", []*cel.Type{cel.IntType, cel.DoubleType}, cel.DoubleType),
		cel.Overload(operator+"double_int", []*cel.Type{cel.DoubleType, cel.IntType}, cel.DoubleType))
}

// macros are CEL's, each over the range that rangeOption declares.
func macros() []cel.Macro {
	over := func(expand cel.MacroFactory) cel.MacroFactory {
		return func(factory cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
			return expand(factory, factory.NewCall(rangeFunction, target), args)
		}
	}
	return []cel.Macro{
		cel.HasMacro,
		cel.ReceiverMacro(operators.All, 2, over(parser.MakeAll)),
		cel.ReceiverMacro(operators.Exists, 2, over(parser.MakeExists)),
		cel.ReceiverMacro(operators.ExistsOne, 2, over(parser.MakeExistsOne)),
		cel.ReceiverMacro(operators.Filter, 2, over(parser.MakeFilter)),
		cel.ReceiverMacro(operators.Map, 2, over(parser.MakeMap)),
		cel.ReceiverMacro(operators.Map, 3, over(parser.MakeMap)),
	}
}
