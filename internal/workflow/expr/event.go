package expr

import (
	"sync"

	"cel.dev/cel-go/cel"
)

var (
	eventWhenCache  cache
	eventValueCache = cache{values: true}
	eventEnv        = sync.OnceValues(func() (*cel.Env, error) {
		return newEnv(cel.DynType, "body", "headers")
	})
)

// EventWhen compiles a condition on an event of another system: body and headers.
func EventWhen(src string) (*Program, error) { return eventWhenCache.get(src, eventEnv) }

// EventValue compiles an expression of any type over the same, for Budget.Value.
func EventValue(src string) (*Program, error) { return eventValueCache.get(src, eventEnv) }

var (
	filterCache cache
	filterEnv   = sync.OnceValues(func() (*cel.Env, error) { return newEnv(cel.DynType, "event") })
)

// EventFilter compiles a condition on an event of the bus: event, as it is published.
func EventFilter(src string) (*Program, error) { return filterCache.get(src, filterEnv) }
