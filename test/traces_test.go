package test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// ask sends a request with headers, as "Name: value", and gives the answer.
func ask(t testing.TB, url, method, path, body string, headers ...string) (
	status int, header http.Header, answer string,
) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(raw)
}

// TestATraceShowsTheTransactionsOfARequest follows requests of every kind through the real
// server to a collector.
func TestATraceShowsTheTransactionsOfARequest(t *testing.T) {
	at, spans := newSite(t), newCollector(t)
	at.env = spans.env()
	s := serve(t, at)
	const secret = "value-of-a-row"
	calls := []struct {
		method, path, body string
		status             int
		server             string   // the name of its span
		db                 []string // name and lane of those that must be below it
	}{
		{
			"PUT", "/pdca/strategies/strat.a", `{"name":"` + secret + `"}`, 201, "PUT /pdca/strategies/{id}",
			[]string{"db write other"},
		},
		{"GET", "/gui/strategies?q=" + secret, "", 200, "GET /gui/strategies", []string{"db read other"}},
		{"PUT", "/graphs/g", graphs["line"], 200, "PUT /graphs/{graphId}", nil},
		{
			"POST", "/executions", `{"graphId":"g","input":{"a":"` + secret + `"}}`, 202, "POST /executions",
			[]string{"db write engine"},
		},
		{"PUT", "/api/workflow-templates/closing", closing, 201, "PUT /api/workflow-templates/{id}", nil},
		{
			"POST", "/api/workflow-events", `{"idempotency_key":"` + secret + `"}`, 200, "POST /api/workflow-events",
			[]string{"db write engine"},
		},
		{
			"POST", "/pdca/recheck", strings.Replace(recheckOne, "manual", secret, 1), 202, "POST /pdca/recheck",
			[]string{"db write engine"},
		},
		{"GET", "/pdca/nothing", "", 404, "none", nil},
	}
	for i, call := range calls {
		parent := fmt.Sprintf("00-%032x-%016x-01", i+1, 1)
		status, _, answer := ask(t, s.url, call.method, call.path, call.body, "traceparent: "+parent,
			"Idempotency-Key: 01J8TPZ7YJ1E1X4C5N9ZP3M3QJ")
		if status/100 != call.status/100 {
			t.Fatalf("%s %s: got %d %s", call.method, call.path, status, answer)
		}
	}
	s.stop()
	byTrace := map[string][]span{}
	for _, one := range spans.all() {
		byTrace[one.trace] = append(byTrace[one.trace], one)
	}
	for i, call := range calls {
		checkTrace(t, call.server, byTrace[fmt.Sprintf("%032x", i+1)], call.db)
	}
	for _, text := range []string{secret, "SELECT", "INSERT"} {
		if strings.Contains(spans.everything(), text) {
			t.Errorf("the spans hold %q", text)
		}
	}
}

// checkTrace expects the span of a request, below its caller's, with transactions below it.
func checkTrace(t *testing.T, server string, all []span, want []string) {
	t.Helper()
	var root span
	for _, one := range all {
		if one.name == server && one.kind == 2 {
			root = one
		}
	}
	if root.id == "" || root.parent != fmt.Sprintf("%016x", 1) || root.attributes["renga.request_id"] == "" {
		t.Errorf("%s: the span of the request is %+v, of %d", server, root, len(all))
	}
	seen := map[string]int{}
	for _, one := range all {
		if one.id == root.id {
			continue
		}
		waited, err := strconv.ParseFloat(one.attributes["renga.db.waited_ms"], 64)
		ran, err2 := strconv.ParseFloat(one.attributes["renga.db.ran_ms"], 64)
		if one.parent != root.id || one.kind != 3 || one.attributes["db.system.name"] == "" || err != nil ||
			err2 != nil || waited < 0 || ran < 0 {
			t.Errorf("%s: the span below is %+v", server, one)
		}
		if one.began < root.began || one.ended > root.ended || one.ended < one.began {
			t.Errorf("%s: %s is not within it", server, one.name)
		}
		seen[one.name+" "+one.attributes["renga.db.lane"]]++
	}
	for _, name := range want {
		if seen[name] == 0 {
			t.Errorf("%s: there is no %s below it, but %v", server, name, seen)
		}
	}
	if server == "none" && len(seen) > 0 {
		t.Errorf("%s: got %v", server, seen)
	}
}
