package gate

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

func telemetry(t *testing.T) *Telemetry {
	t.Helper()
	tel, err := NewTelemetry(t.Context(), "renga", "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tel
}

func TestPagesOfAProcess(t *testing.T) {
	tel := telemetry(t)
	var broken, lost error
	pages := Pages{
		Checks: []Check{
			{Name: "store", Probe: func(context.Context) error { return broken }},
			{Name: "bus", Probe: func(context.Context) error { return lost }, Optional: true},
		},
		Metrics: tel.Metrics, OpenAPI: []byte("openapi: 3.1.0\n"),
	}
	d := openDoor(t, Config{Telemetry: tel}, append(pages.Routes(), table()...)...)
	d.ask("GET", "/things", "")
	d.ask("GET", "/fails/secret", "")
	d.ask("GET", "/nothing/secret", "")
	for _, tc := range []struct {
		target string
		status int
		media  string
		want   []string
	}{
		{"/healthz", 200, "application/json", []string{`{"status":"ok"}`}},
		{"/readyz", 200, "application/json", []string{`{"status":"ready","checks":{"bus":"ok","store":"ok"}}`}},
		{"/openapi.yaml", 200, "application/yaml", []string{"openapi: 3.1.0"}},
		{"/metrics", 200, "text/plain", []string{
			`renga_http_requests_total{method="GET",route="/things",status="2xx"} 1`,
			`renga_http_requests_total{method="GET",route="/fails/secret",status="5xx"} 1`,
			`renga_http_requests_total{method="",route="none",status="4xx"} 1`,
			`renga_http_request_duration_seconds_count{method="GET",route="/things",status="2xx"} 1`,
			"go_goroutines ", "process_open_fds ",
		}},
	} {
		w := d.ask("GET", tc.target, "")
		if w.Code != tc.status || !strings.HasPrefix(w.Header().Get("Content-Type"), tc.media) {
			t.Errorf("%s: got %d %s", tc.target, w.Code, w.Header().Get("Content-Type"))
		}
		for _, want := range tc.want {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s lacks %s:\n%s", tc.target, want, w.Body)
			}
		}
	}
	lost = errors.New("no bus")
	if w := d.ask("GET", "/readyz", ""); w.Code != 200 ||
		w.Body.String() != `{"status":"ready","checks":{"bus":"failed","store":"ok"}}` {
		t.Errorf("without what it does not need: %d %s", w.Code, w.Body)
	}
	lost, broken = nil, errors.New("secret cause")
	w := d.ask("GET", "/readyz", "")
	if w.Code != 503 || w.Body.String() != `{"status":"not ready","checks":{"bus":"ok","store":"failed"}}` {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if !strings.Contains(d.log.String(), "secret cause") {
		t.Errorf("the log does not say why: %s", d.log)
	}
}

func TestTracesAreMadeOnlyForACollector(t *testing.T) {
	if tel := telemetry(t); tel.Tracing {
		t.Error("there are traces without a collector")
	}
	spans := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		spans <- r.URL.Path
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	tel, err := NewTelemetry(t.Context(), "renga", "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var got trace.SpanContext
	d := openDoor(t, Config{Telemetry: tel}, Route{Pattern: "GET /things", Do: func(ctx context.Context, _ *Call) (
		Reply, error,
	) {
		got = trace.SpanContextFromContext(ctx)
		return Reply{}, nil
	}})
	d.ask("GET", "/things", "", "traceparent: 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
	if got.TraceID().String() != "0123456789abcdef0123456789abcdef" || got.SpanID().String() == "0123456789abcdef" {
		t.Errorf("the caller's trace was not gone on with: %v", got)
	}
	if err := tel.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if path := <-spans; path != "/v1/traces" {
		t.Errorf("the spans went to %s", path)
	}
}
