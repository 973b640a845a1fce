package gate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	promexport "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Telemetry is the program's metrics and traces. Traces are made only when the environment names a
// collector (OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT).
type Telemetry struct {
	Meter metric.Meter // every name begins with the service's
	// for metrics that a document names: shown under that name with underscores for dots; give no unit, which would
	// be added
	Bare    metric.Meter
	Tracer  trace.Tracer
	Tracing bool         // a collector is there
	Metrics http.Handler // the Prometheus page
	carry   propagation.TraceContext
	stop    []func(context.Context) error
}

// NewTelemetry sets metrics and traces up for a service. It does no I/O; traces go
// out in the background until Shutdown.
func NewTelemetry(ctx context.Context, service, version string) (*Telemetry, error) {
	about := resource.NewSchemaless(
		attribute.String("service.name", service),
		attribute.String("service.version", version),
	)
	t := &Telemetry{}
	if err := t.meter(service, version, about); err != nil {
		return nil, err
	}
	if err := t.tracer(ctx, service, about); err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	return t, nil
}

func (t *Telemetry) meter(service, version string, about *resource.Resource) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	provide := func(options ...promexport.Option) (metric.Meter, error) {
		exporter, err := promexport.New(append(options, promexport.WithRegisterer(registry),
			promexport.WithoutScopeInfo())...)
		if err != nil {
			return nil, fmt.Errorf("gate: metrics: %w", err)
		}
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter), sdkmetric.WithResource(about))
		t.stop = append(t.stop, provider.Shutdown)
		return provider.Meter(service, metric.WithInstrumentationVersion(version)), nil
	}
	var err error
	if t.Meter, err = provide(promexport.WithNamespace(service)); err != nil {
		return err
	}
	t.Bare, err = provide(promexport.WithoutTargetInfo()) // the other one has the info about the target
	t.Metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry})
	return err
}

func (t *Telemetry) tracer(ctx context.Context, service string, about *resource.Resource) error {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		t.Tracer = noop.NewTracerProvider().Tracer(service)
		return nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return fmt.Errorf("gate: traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	t.stop = append(t.stop, provider.Shutdown)
	t.Tracer, t.Tracing = provider.Tracer(service), true
	return nil
}

// Shutdown sends what is left and ends the background work.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	var errs []error
	for _, stop := range t.stop {
		errs = append(errs, stop(ctx))
	}
	return errors.Join(errs...)
}
