package airflow

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// teller tells metrics and traces of calls. Labels and attributes name endpoints and
// outcomes, ids of runs and nothing that was sent.
type teller struct {
	tracer trace.Tracer
	calls  metric.Int64Counter
}

// stateValues are the states of the circuit in the metric.
var stateValues = map[State]int64{Closed: 0, Open: 1, HalfOpen: 2}

// newTeller makes the instruments; without a meter or a tracer it tells nobody.
func newTeller(meter metric.Meter, tracer trace.Tracer, state func() State, held func() int) (*teller, error) {
	if meter == nil {
		meter = metricnoop.NewMeterProvider().Meter("")
	}
	if tracer == nil {
		tracer = tracenoop.NewTracerProvider().Tracer("")
	}
	calls, err := meter.Int64Counter("airflow.adapter.requests_total", metric.WithDescription("requests to Airflow"))
	if err != nil {
		return nil, err
	}
	gauge := func(name, description string, value func() int64) error {
		_, err := meter.Int64ObservableGauge(name, metric.WithDescription(description),
			metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
				o.Observe(value())
				return nil
			}))
		return err
	}
	return &teller{tracer: tracer, calls: calls}, errors.Join(
		gauge("airflow.adapter.circuit_state", "0 closed, 1 open, 2 half-open",
			func() int64 { return stateValues[state()] }),
		gauge("airflow.adapter.runs", "DAG runs that this process follows", func() int64 { return int64(held()) }))
}

// begin begins a call; done takes its end.
func (t *teller) begin(ctx context.Context, endpoint string) (_ context.Context, done func(status int, err error)) {
	ctx, span := t.tracer.Start(ctx, "airflow."+endpoint, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("airflow.endpoint", endpoint)))
	return ctx, func(status int, err error) {
		o := outcomeOf(err)
		t.calls.Add(context.WithoutCancel(ctx), 1, metric.WithAttributes(attribute.String("endpoint", endpoint),
			attribute.String("outcome", string(o))))
		span.SetAttributes(attribute.String("airflow.outcome", string(o)))
		if status != 0 {
			span.SetAttributes(attribute.Int("http.response.status_code", status))
		}
		if o.health() == errDead {
			span.SetStatus(codes.Error, string(o))
		}
		span.End()
	}
}

// under continues the trace that a request names as its trace_id: a traceparent, or a
// trace id of 32 hexadecimal digits, under which all runs of the request share a parent.
// Another text is only a text.
func under(ctx context.Context, traceID, request string) context.Context {
	id, span, flags := traceID, "", trace.FlagsSampled
	if parts := strings.Split(traceID, "-"); len(parts) == 4 && parts[0] == "00" {
		id, span = parts[1], parts[2]
		if parts[3] == "00" {
			flags = 0
		}
	}
	trail, err := trace.TraceIDFromHex(strings.ToLower(id))
	if err != nil {
		return ctx
	}
	parent, err := trace.SpanIDFromHex(span)
	if err != nil {
		sum := sha256.Sum256([]byte(request))
		copy(parent[:], sum[:])
	}
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trail, SpanID: parent, TraceFlags: flags, Remote: true,
	}))
}
