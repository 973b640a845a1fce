package rest

import (
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"renga.dev/renga/internal/platform/gate"
)

func TestWordsAreSeparatedByCommasAndOutOfSome(t *testing.T) {
	read := func(health string) ([]string, error) {
		call := &gate.Call{Request: httptest.NewRequest("GET", "/?health="+url.QueryEscape(health), nil)}
		q := ReadQuery(call, "health")
		return q.Words("health", "healthy", "degraded", "unknown"), q.Err
	}
	for _, bad := range []string{"", "well", "healthy,", "Healthy", "healthy;degraded"} {
		if _, err := read(bad); err == nil {
			t.Errorf("%q: got no error, want a refusal", bad)
		}
	}
	if got, err := read("unknown,healthy,unknown"); err != nil || !slices.Equal(got, []string{"unknown", "healthy"}) {
		t.Errorf("got %q, %v, want each word once", got, err)
	}
}
