package engine

import (
	"bytes"
	"context"
	"errors"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// Graphs from this size on, or that when they have expressions, are not compiled in a commit, where
// everybody who writes waits.
const (
	largeGraph       = 256 << 10
	largeExpressions = 16 << 10
)

func isLarge(body []byte) bool {
	if len(body) <= largeExpressions {
		return false
	}
	return len(body) > largeGraph ||
		bytes.Contains(body, []byte(`"when":`)) || bytes.Contains(body, []byte(`"expression":`))
}

// coldGraph says that a large graph must be compiled before something can be decided. Nothing
// was done.
type coldGraph struct {
	key  planKey
	body []byte
}

func (coldGraph) Error() string { return errCold.Error() }
func (coldGraph) Unwrap() error { return errCold }

// isCold reports whether something must be prepared before a request can be decided.
func isCold(err error) bool { return errors.Is(err, errCold) || errors.Is(err, errLong) }

// warm compiles a graph, of a tenant one at a time. When ctx ends first it fails as g does.
func (r *Reads) warm(ctx context.Context, g coldGraph) error {
	if r.compilers.Await(ctx, g.key.tenant) != nil {
		return g
	}
	defer r.compilers.Leave(g.key.tenant)
	if r.plans.get(g.key) != nil {
		return nil
	}
	p, err := flow.CompileStored(g.key.id, g.key.version, g.body)
	if err == nil {
		r.plans.put(g.key, p)
	}
	return fault.Wrap("engine.plan", err)
}

// warmth is what waits for a graph without a caller: the ready tasks of a queue, or deadlines.
type warmth struct {
	engine *Engine
	graph  planKey
	queue  queueKey
}

// warmLater compiles a graph that no caller waits for, and calls then.
func (e *Engine) warmLater(g coldGraph, queue queueKey, then func()) {
	of := warmth{e, g.key, queue}
	if _, busy := e.warming.LoadOrStore(of, true); busy {
		return
	}
	go func() {
		err := e.warm(context.Background(), g)
		e.warming.Delete(of) // before the next attempt, which may find it gone
		if err != nil {
			e.cfg.Log.Error("a graph could not be compiled", "graph", g.key.id, "version", g.key.version, "error", err)
			return
		}
		then()
	}()
}

// submitSome submits the requests at some places, and puts their results there.
func submitSome(reqs []Request, places []int, results []Result, submit func([]Request) []Result) {
	some := make([]Request, len(places))
	for k, i := range places {
		some[k] = reqs[i]
	}
	for k, res := range submit(some) {
		results[places[k]] = res
	}
}

// submitWarm is submit, and prepares the large graphs and long executions that its requests need first. Those
// after one that has to wait, wait too.
func (e *Engine) submitWarm(ctx context.Context, reqs []Request) []Result {
	results := e.submit(ctx, reqs)
	for {
		var places []int
		var cold error
		for i := range results {
			if isCold(results[i].Err) {
				places, cold = append(places, i), results[i].Err
			}
		}
		if len(places) == 0 {
			return results
		}
		err := e.prepare(ctx, cold, func() {
			submitSome(reqs, places, results, func(again []Request) []Result { return e.submit(ctx, again) })
		})
		if err != nil {
			for _, i := range places {
				results[i].Err = err
			}
			return results
		}
	}
}

// prepare prepares what a request lacks, and submits it again. An error says that it did not submit.
func (e *Engine) prepare(ctx context.Context, cold error, submit func()) error {
	if long, ok := errors.AsType[longExecution](cold); ok {
		return long.prepare(ctx, e, submit)
	}
	g, ok := errors.AsType[coldGraph](cold)
	if !ok {
		return cold
	}
	if err := e.warm(ctx, g); err != nil {
		return err
	}
	submit()
	return nil
}
