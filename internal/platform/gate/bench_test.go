package gate

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// sink is a response writer that costs nothing.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(int)             {}

// BenchmarkGate is what the door costs a command, without net/http.
func BenchmarkGate(b *testing.B) {
	tel, err := NewTelemetry(b.Context(), "renga", "test")
	if err != nil {
		b.Fatal(err)
	}
	defer tel.Shutdown(context.Background())
	auth, err := OpenAuth(AuthConfig{})
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(Config{Auth: auth, Telemetry: tel, Log: slog.New(slog.DiscardHandler)}, []Route{{
		Pattern: "POST /executions/{id}/nodes/{node}/success", Scope: "executions:write", Once: Required,
		Do: func(_ context.Context, c *Call) (Reply, error) {
			return c.Built(202, append(c.Scratch(), `{"accepted":true}`...)), nil
		},
	}})
	if err != nil {
		b.Fatal(err)
	}
	body := `{"attempt":1,"workerId":"worker-7"}`
	r := httptest.NewRequest("POST", "/executions/0190c1de-0000-7000-8000-000000000000/nodes/a/success",
		strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Idempotency-Key", "0190c1de-0000-7000-8000-000000000001")
	b.ReportAllocs()
	for b.Loop() {
		r.Body = io.NopCloser(strings.NewReader(body))
		w := sink{http.Header{}}
		g.ServeHTTP(&w, r)
	}
}
