package gate

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// bounds of the latency histogram, in seconds: a commit with its fsync takes
// around a millisecond.
var bounds = []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30}

// instruments are the metrics of requests.
type instruments struct {
	requests metric.Int64Counter
	duration metric.Float64Histogram
}

func newInstruments(m metric.Meter) (*instruments, error) {
	requests, err := m.Int64Counter("http.requests", metric.WithDescription("Requests answered."))
	if err != nil {
		return nil, err
	}
	duration, err := m.Float64Histogram("http.request.duration", metric.WithUnit("s"),
		metric.WithDescription("Time from a request's arrival to its answer."),
		metric.WithExplicitBucketBoundaries(bounds...))
	return &instruments{requests, duration}, err
}

// meters records the requests of one route. Its attribute sets are made once, one
// per class of status, so that recording makes no garbage.
type meters struct {
	*instruments
	add    [6][]metric.AddOption
	record [6][]metric.RecordOption
	stream bool
}

// classes of status, by the first digit.
var classes = [6]string{"", "1xx", "2xx", "3xx", "4xx", "5xx"}

func (i *instruments) of(method, route string, stream bool) *meters {
	m := &meters{instruments: i, stream: stream}
	for n, class := range classes {
		option := metric.WithAttributeSet(attribute.NewSet(
			attribute.String("route", route), attribute.String("method", method), attribute.String("status", class)))
		m.add[n] = []metric.AddOption{option}
		m.record[n] = []metric.RecordOption{option}
	}
	return m
}

// answered counts a request. How long a stream was open says nothing of latency.
func (m *meters) answered(ctx context.Context, status int, took time.Duration) {
	if m == nil {
		return
	}
	class := min(status/100, len(classes)-1)
	m.requests.Add(ctx, 1, m.add[class]...)
	if !m.stream {
		m.duration.Record(ctx, took.Seconds(), m.record[class]...)
	}
}

// startSpan opens the span of a request, as part of the caller's trace if it sent one.
func (x *exchange) startSpan(ctx context.Context) (context.Context, trace.Span) {
	t := x.gate.telemetry
	ctx = t.carry.Extract(ctx, propagation.HeaderCarrier(x.r.Header))
	return t.Tracer.Start(ctx, x.pattern(), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", x.r.Method),
		attribute.String("http.route", x.pattern()),
		attribute.String("renga.correlation_id", x.call.CorrelationID),
		attribute.String("renga.request_id", x.call.RequestID),
	))
}

func endSpan(span trace.Span, status int) {
	span.SetAttributes(attribute.Int("http.response.status_code", status))
	if status >= 500 {
		span.SetStatus(otelcodes.Error, "")
	}
	span.End()
}
