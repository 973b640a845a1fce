package client_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/client"
)

// TestAnExportIsRepeatedUntilSomethingCame has a server that fails at first, then cuts the
// answer off halfway, then gives all of it.
func TestAnExportIsRepeatedUntilSomethingCame(t *testing.T) {
	var calls atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch calls.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			_, _ = w.Write([]byte("{}\n"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		default:
			_, _ = w.Write([]byte("{}\n{}\n"))
		}
	}))
	defer web.Close()
	c := client.New(client.Config{URL: web.URL, RetryFor: time.Minute})
	var out bytes.Buffer
	err := c.Audit.Export(t.Context(), client.AuditFilter{}, &out)
	if !errors.Is(err, client.ErrUnavailable) || out.String() != "{}\n" || calls.Load() != 2 {
		t.Errorf("%d calls: %v, %q", calls.Load(), err, &out)
	}
	out.Reset()
	if err := c.Audit.Export(t.Context(), client.AuditFilter{}, &out); err != nil || out.String() != "{}\n{}\n" {
		t.Errorf("%v, %q", err, &out)
	}
}
