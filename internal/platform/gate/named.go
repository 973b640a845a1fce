package gate

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"renga.dev/renga/internal/platform/fault"
)

// millis are the bounds of latencies that a document wants in milliseconds.
var millis = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}

// The outcomes of requests that were not refused; those that were have their error code.
const (
	outcomeOK   = "ok"
	outcomeGone = "gone" // the caller went away before its answer
)

// named records the requests of one endpoint in the metrics that the document of its
// surface names. Its attribute sets are made once, so that recording makes no garbage.
type named struct {
	requests  metric.Int64Counter
	latency   metric.Float64Histogram
	conflicts metric.Int64Counter
	conflict  string // the error code that is counted there
	endpoint  attribute.KeyValue
	add       map[string][]metric.AddOption // by outcome
	record    []metric.RecordOption
}

// newNamed makes the instruments of a surface, without an endpoint.
func newNamed(m metric.Meter, s *Surface) (*named, error) {
	requests, err := m.Int64Counter(s.Metrics+".requests_total",
		metric.WithDescription("Requests answered, by endpoint and outcome: ok, gone, or the error code."))
	if err != nil {
		return nil, err
	}
	latency, err := m.Float64Histogram(s.Metrics+".latency_ms",
		metric.WithDescription("Milliseconds from a request's arrival to its answer."),
		metric.WithExplicitBucketBoundaries(millis...))
	if err != nil {
		return nil, err
	}
	conflicts, err := m.Int64Counter(s.Metrics+".idempotency_conflicts_total",
		metric.WithDescription("Requests whose key was used for another body."))
	if err != nil {
		return nil, err
	}
	conflicts.Add(context.Background(), 0) // so that it is shown before there is one
	return &named{requests: requests, latency: latency, conflicts: conflicts, conflict: s.Codes[fault.Conflict]}, nil
}

// of is the same for an endpoint.
func (n *named) of(endpoint string, s *Surface) *named {
	own := *n
	own.endpoint = attribute.String("endpoint", endpoint)
	own.add = map[string][]metric.AddOption{}
	for _, outcome := range append([]string{outcomeOK, outcomeGone}, s.Catalogue...) {
		own.add[outcome] = own.outcome(outcome)
	}
	own.record = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(own.endpoint))}
	return &own
}

func (n *named) outcome(outcome string) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(n.endpoint, attribute.String("outcome",
		outcome)))}
}

// answered counts a request. A surface without a catalogue may have any code.
func (n *named) answered(ctx context.Context, outcome string, took time.Duration) {
	add, known := n.add[outcome]
	if !known {
		add = n.outcome(outcome)
	}
	n.requests.Add(ctx, 1, add...)
	n.latency.Record(ctx, float64(took.Microseconds())/1000, n.record...)
	if outcome == n.conflict {
		n.conflicts.Add(ctx, 1)
	}
}

// measure counts the request in the metrics of its surface.
func (x *exchange) measure(ctx context.Context, took time.Duration) {
	n := x.gate.nowhere[x.surface]
	if x.route != nil {
		n = x.route.named
	}
	if n == nil {
		return
	}
	outcome := outcomeOK
	switch {
	case x.status == statusGone:
		outcome = outcomeGone
	case x.code != "":
		outcome = x.code
	}
	n.answered(ctx, outcome, took)
}
