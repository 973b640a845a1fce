package expr

import (
	"sync"

	"cel.dev/cel-go/cel"
)

var (
	inputCache = cache{values: true}
	inputEnv   = sync.OnceValues(func() (*cel.Env, error) {
		return newEnv(cel.DynType, "input", "outputs", "error")
	})
)

// Input compiles an expression of any type that gives a Task a member of its input, for Budget.Value: input of the
// execution, outputs (by node) and error of the failure that led to the Task.
func Input(src string) (*Program, error) { return inputCache.get(src, inputEnv) }
