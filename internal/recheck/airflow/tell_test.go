package airflow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"renga.dev/renga/internal/recheck/airflow/airflowtest"
)

// TestCallsAreCountedAndTraced follows a check with one new login, and looks for
// credentials in its logs and spans.
func TestCallsAreCountedAndTraced(t *testing.T) {
	reader, spans := sdkmetric.NewManualReader(), tracetest.NewSpanRecorder()
	r := onSQLite(t, airflowtest.Config{End: soon("success", map[string]any{"n": 1})})
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	a, stop := r.adapter(func(_ *Config, p *Ports) {
		p.Meter = meters.Meter("test")
		p.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
	})
	r.ended(tenant, r.batch(tenant, request, 2))
	r.airflow.Expire()
	r.ended(tenant, r.batch(tenant, "01J8TPZ7YJ1E1X4C5N9ZP3M3QK", 1))
	wait(t, "the runs to be done with", func() bool { return a.line.count() == 0 })
	stop()
	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%+v", got)
	counts := map[string]int64{}
	for _, m := range got.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				endpoint, _ := p.Attributes.Value("endpoint")
				outcome, _ := p.Attributes.Value("outcome")
				counts[m.Name+" "+endpoint.AsString()+" "+outcome.AsString()] = p.Value
			}
		case metricdata.Gauge[int64]:
			counts[m.Name] = data.DataPoints[0].Value
		}
	}
	for name, want := range map[string]int64{
		"airflow.adapter.requests_total trigger ok": 3, "airflow.adapter.requests_total result ok": 3,
		"airflow.adapter.circuit_state": 0, "airflow.adapter.runs": 0,
	} {
		if n, there := counts[name]; !there || n != want {
			t.Errorf("%s: got %d, want %d in %v", name, n, want, counts)
		}
	}
	if counts["airflow.adapter.requests_total token ok"] < 2 || counts["airflow.adapter.requests_total run ok"] < 6 {
		t.Errorf("got %v", counts)
	}
	var names []string
	for _, s := range spans.Ended() {
		all += fmt.Sprintf("%s %+v %+v", s.Name(), s.Attributes(), s.Events())
		if s.Name() == "airflow.trigger" || s.Name() == "airflow.run" {
			names = append(names, s.Name())
			if s.SpanContext().TraceID().String() != "0af7651916cd43dd8448eb211c80319c" || !s.Parent().IsValid() {
				t.Errorf("%s is not in the trace of its request: %v", s.Name(), s.SpanContext().TraceID())
			}
		}
	}
	if !slices.Contains(names, "airflow.trigger") || !slices.Contains(names, "airflow.run") {
		t.Errorf("got the spans %q", names)
	}
	for _, secret := range []string{"airflow-pass", "c2VjcmV0LXRva2Vu"} {
		if strings.Contains(all, secret) {
			t.Error("a credential is in a metric or a span")
		}
	}
}
