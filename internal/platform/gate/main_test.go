package gate

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logbook is a log that tests can read.
type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// drop empties it, and reports whether it had a text.
func (l *logbook) drop(text string) (had bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.buf.Reset()
	return strings.Contains(l.buf.String(), text)
}

// door is a gate for tests with its log.
type door struct {
	*Gate
	log *logbook
}

func openDoor(t *testing.T, cfg Config, routes ...Route) *door {
	t.Helper()
	d := &door{log: &logbook{}}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewJSONHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if cfg.Auth == nil {
		auth, err := OpenAuth(AuthConfig{})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Auth = auth
	}
	gate, err := New(cfg, routes)
	if err != nil {
		t.Fatal(err)
	}
	d.Gate = gate
	return d
}

// ask sends one request; headers are "Name: value".
func (d *door) ask(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	return d.askIn(context.Background(), method, target, body, headers...)
}

// askIn is ask for as long as ctx lasts.
func (d *door) askIn(ctx context.Context, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(ctx, method, target, reader)
	r.Host = "localhost:8080"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	seen := map[string]bool{}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch {
		case name == "Host":
			r.Host = value
		case seen[name]:
			r.Header.Add(name, value)
		default:
			r.Header.Set(name, value)
		}
		seen[name] = true
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

// coreError is the error shape of the core surface.
type coreError struct {
	Error struct {
		Code    string         `json:"code"`
		Message string         `json:"message"`
		Details map[string]any `json:"details"`
	} `json:"error"`
}

func decodeError(t *testing.T, w *httptest.ResponseRecorder) coreError {
	t.Helper()
	var got coreError
	if err := json.Unmarshal(w.Body.Bytes(), &got, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	if got.Error.Details == nil {
		t.Errorf("details is not an object: %s", w.Body)
	}
	return got
}

func ok(context.Context, *Call) (Reply, error) {
	return Reply{Body: map[string]bool{"ok": true}}, nil
}

func do(reply Reply, err error) func(context.Context, *Call) (Reply, error) {
	return func(context.Context, *Call) (Reply, error) { return reply, err }
}

var _ http.Handler = (*Gate)(nil)

// noting notes who called.
func noting(got *Principal) func(context.Context, *Call) (Reply, error) {
	return func(_ context.Context, c *Call) (Reply, error) {
		*got = c.Principal
		return Reply{}, nil
	}
}
