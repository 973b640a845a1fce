package test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/stalltest"
	"renga.dev/renga/test/tier"
)

// TestEveryAnswerComesInTimeWhilePostgreSQLHangs asks a server whose database takes
// connections and answers nothing. What needs it is 503 within ten seconds; what does not is
// answered at once; and what happened is in the audit log when it is back.
func TestEveryAnswerComesInTimeWhilePostgreSQLHangs(t *testing.T) {
	tier.System(t)
	at := newSite(t)
	if at.database == "" {
		t.Skip("SQLite has no server that hangs; run it with RENGA_TEST_DB=postgres")
	}
	proxy := pgtest.NewProxy(t, at.database)
	at.database, at.env = proxy.URL(), []string{"AX_WORKFLOW_EVENT_TOKEN=hush"}
	s := serve(t, at)
	const token = "X-Workflow-Event-Token: hush"
	if status, _, answer := ask(t, s.url, "PUT", "/api/workflow-templates/close", closing, token); status >= 300 {
		t.Fatalf("got %d %s", status, answer)
	}
	eventually(t, "the levels of the bus", maxWait, func() bool {
		_, _, page := ask(t, s.url, "GET", "/metrics", "")
		return strings.Contains(page, "\nrenga_bus_outbox_unpublished 0")
	})
	stalls := stalltest.New(t)
	proxy.Hang()
	var wg sync.WaitGroup
	for _, c := range []struct {
		method, path, body, header string
		want                       int
	}{
		{"POST", "/api/workflow-events", `{"event_name":"mf_reconcile","idempotency_key":"k"}`, token, 503},
		{"POST", "/api/workflow-events", `{}`, "X-Workflow-Event-Token: loud", 401},
		{"POST", "/api/workflow-events", `{`, token, 400},
		{"GET", "/api/workflow-events/summary?ym=2026-01", "", token, 503},
		{"POST", "/executions", `{"graphId":"g"}`, "X-Idempotency-Key: k", 503},
		{"POST", "/records/Account", `{"fields":{"Name":"A"}}`, "X-Idempotency-Key: k", 503},
		{"GET", "/records/Account", "", token, 503},
		{"GET", "/executions", "", token, 503},
		// 200 when it is known that nothing is ready
		{"POST", "/tasks/claim", `{"workerId":"w","waitSeconds":0}`, "X-Idempotency-Key: c", 0},
		{
			"POST", "/tasks/watch",
			`{"tasks":[{"executionId":"01a1e1d8-5dbe-7903-b04c-6ebbf6615a27","nodeId":"n","attempt":1}]}`,
			"X-Idempotency-Key: w", 503,
		},
		{"GET", "/readyz", "", token, 503},
		{"GET", "/metrics", "", token, 200},
		{"GET", "/healthz", "", token, 200},
	} {
		wg.Go(func() {
			began := time.Now()
			status, _, answer := ask(t, s.url, c.method, c.path, c.body, c.header)
			took := stalls.Since(began)
			t.Logf("%s %s: %d after %v", c.method, c.path, status, took.Round(time.Millisecond))
			if c.want != 0 && status != c.want || took > 10*time.Second {
				t.Errorf("%s %s: got %d after %v, want %d within 10s: %.300s", c.method, c.path, status, took, c.want,
					answer)
			}
			if c.path == "/metrics" && (!strings.Contains(answer, "\nrenga_bus_outbox_unpublished 0") ||
				took > 2*time.Second) {
				t.Errorf("after %v /metrics lacks what was read before:\n%s", took, answer)
			}
		})
	}
	wg.Wait()
	proxy.Back()
	month := time.Now().UTC().Format("2006-01")
	eventually(t, "what happened in the audit log", maxWait, func() bool {
		_, _, answer := ask(t, s.url, "GET", "/api/workflow-events/summary?ym="+month, "", token)
		return strings.Contains(answer, `"failed":1`) && strings.Contains(answer, `"rejected":2`) &&
			strings.Contains(answer, `"total":3`)
	})
}
