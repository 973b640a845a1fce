package expr

import (
	"errors"
	"fmt"
	"regexp"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
)

// maxStates bounds how many states a regular expression has: x{1000} is short to write.
const maxStates = 2_000

var errPattern = errors.New("the pattern of matches must be a string literal")

// noMessages refuses message literals: there are no messages to compare them with.
type noMessages struct{}

func (noMessages) Name() string { return "renga.messages" }

func (noMessages) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(a), ast.KindMatcher(ast.StructKind)) {
		issues.ReportErrorAtID(e.ID(), "message literals are not supported")
	}
}

// fixedPatterns refuses regular expressions that are not literals, do not compile or
// are too large, so that none is compiled during an evaluation.
type fixedPatterns struct{}

func (fixedPatterns) Name() string { return "renga.patterns" }

func (fixedPatterns) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(a), ast.FunctionMatcher(overloads.Matches)) {
		args := e.AsCall().Args()
		pattern := args[len(args)-1]
		err := errPattern
		if pattern.Kind() == ast.LiteralKind {
			if source, ok := pattern.AsLiteral().(types.String); ok {
				_, _, err = compilePattern(string(source))
			}
		}
		if err != nil {
			issues.ReportErrorAtID(pattern.ID(), "%s", err.Error())
		}
	}
}

func compilePattern(source string) (*regexp.Regexp, uint64, error) {
	if len(source) > MaxPattern {
		return nil, 0, fmt.Errorf("the pattern has %d bytes; at most %d are allowed", len(source), MaxPattern)
	}
	states, err := types.RegexProgramSize(source)
	if err != nil {
		return nil, 0, fmt.Errorf("the pattern does not compile: %w", err)
	}
	if states > maxStates {
		return nil, 0, fmt.Errorf("the pattern has %d states; at most %d are allowed", states, maxStates)
	}
	compiled, err := regexp.Compile(source)
	if err != nil {
		return nil, 0, fmt.Errorf("the pattern does not compile: %w", err)
	}
	return compiled, uint64(states), nil
}
