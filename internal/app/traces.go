package app

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
)

// tracer is asked who wants to know of a transaction; see sqldb.Config.Trace.
type tracer func(ctx context.Context) func(sqldb.Transaction)

// newTracer makes a span of every transaction inside a request that is traced: how long it
// waited and ran, and the kind of its failure; never what was asked. nil: there is no
// collector.
func newTracer(t *gate.Telemetry, databaseURL string) tracer {
	if !t.Tracing {
		return nil
	}
	system := attribute.String("db.system.name", "sqlite")
	if databaseURL != "" {
		system = attribute.String("db.system.name", "postgresql")
	}
	return func(ctx context.Context) func(sqldb.Transaction) {
		if !trace.SpanFromContext(ctx).IsRecording() {
			return nil
		}
		return func(done sqldb.Transaction) {
			name := "db read"
			if done.Write {
				name = "db write"
			}
			attributes := trace.WithAttributes(
				system,
				attribute.String("renga.db.lane", done.Priority.String()),
				attribute.Float64("renga.db.waited_ms", millis(done.Waited)),
				attribute.Float64("renga.db.ran_ms", millis(done.Ran)),
			)
			_, span := t.Tracer.Start(ctx, name,
				trace.WithTimestamp(done.Began), trace.WithSpanKind(trace.SpanKindClient), attributes)
			if kind := fault.KindOf(done.Err); done.Err != nil {
				span.SetAttributes(attribute.String("error.type", kind.String()))
				if kind == fault.Internal || kind == fault.Unavailable {
					span.SetStatus(codes.Error, "")
				}
			}
			span.End(trace.WithTimestamp(done.Began.Add(done.Waited + done.Ran)))
		}
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// tracedEngine traces the commits of the engine that requests wait for. The commit
// itself is shared with others, and done by whoever comes first, so it is nobody's.
type tracedEngine struct {
	Engine
	trace tracer
}

// Submit decides requests.
func (e tracedEngine) Submit(ctx context.Context, requests []engine.Request) []engine.Result {
	ended := e.trace(ctx)
	if ended == nil {
		return e.Engine.Submit(ctx, requests)
	}
	done := sqldb.Transaction{Write: true, Priority: sqldb.Engine, Began: time.Now()}
	results := e.Engine.Submit(untraced(ctx), requests)
	done.Ran = time.Since(done.Began)
	for i := range results {
		if done.Err == nil {
			done.Err = results[i].Err
		}
	}
	ended(done)
	return results
}

// Do runs a unit.
func (e tracedEngine) Do(ctx context.Context, unit engine.Unit) ([]engine.Result, error) {
	ended := e.trace(ctx)
	if ended == nil {
		return e.Engine.Do(ctx, unit)
	}
	done := sqldb.Transaction{Write: true, Priority: sqldb.Engine, Began: time.Now()}
	var waited atomic.Int64 // a unit may still be run when its caller is gone
	before := unit.Before
	unit.Before = func(ctx context.Context, tx *sqldb.Tx) error {
		waited.CompareAndSwap(0, int64(time.Since(done.Began)))
		if before == nil {
			return nil
		}
		return before(ctx, tx)
	}
	results, err := e.Engine.Do(untraced(ctx), unit)
	whole := time.Since(done.Began)
	done.Waited = time.Duration(waited.Load())
	if done.Waited == 0 {
		done.Waited = whole
	}
	done.Ran, done.Err = whole-done.Waited, err
	ended(done)
	return results, err
}

// untraced is ctx without its span.
func untraced(ctx context.Context) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.SpanContext{})
}
