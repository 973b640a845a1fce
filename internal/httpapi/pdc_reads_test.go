package httpapi_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"renga.dev/renga/internal/recheck"
	"renga.dev/renga/internal/workflow/flow"
)

// counted counts the reads of events.
type counted struct {
	recheck.Engine
	reads *atomic.Int64
}

func (c counted) Events(ctx context.Context, tenant string, id flow.ID, from uint64, limit int) (
	[]flow.Event, uint64, error,
) {
	c.reads.Add(1)
	return c.Engine.Events(ctx, tenant, id, from, limit)
}

// TestPDC1ALargeResultIsReadOnceForAllWhoAsk asks again and again how far a request is. At
// the end all of a result is there all the same.
func TestPDC1ALargeResultIsReadOnceForAllWhoAsk(t *testing.T) {
	s := newServer(t)
	s.enrol("a", "b", "c")
	id := s.recheck("", "a", "b", "c")
	jobs := s.take(3)
	content := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 100_000)))
	large := fmt.Sprintf(
		`{"health":"degraded","metrics":{"n":1},"artifacts":[{"name":"x.txt","media_type":"text/plain","content":%q}]}`,
		content,
	)
	s.found(jobs[0], large).is(202)
	s.found(jobs[1], fmt.Sprintf(`{"error":{"code":"NO_PRICES","message":"none"},"why":%q}`,
		strings.Repeat("y", 5000))).is(202)
	for range 5 {
		s.progress(id).has("items.0.result.health", "degraded").has("items.0.result.metrics.n", "1").has(
			"items.0.result.artifacts", "<none>").
			has("items.1.status", "failed").has("items.1.error.code", "NO_PRICES").has("counts.running", "1")
	}
	if n := s.outputs.Load(); n != 2 {
		t.Errorf("two large results were read %d times", n)
	}
	s.found(jobs[2], `{}`).is(202)
	s.until(id, "partial").has("items.0.result.artifacts.0.size", "100000").has("counts.failed", "1")
	if got := s.strategy("a"); got.Health != "degraded" || got.Metrics["n"] != 1.0 {
		t.Errorf("a is %v", got)
	}
}
