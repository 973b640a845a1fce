package gate

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
)

const (
	recheckID  = "01J8TPZ7YJ1E1X4C5N9ZP3M3QJ"
	goodKey    = "01J8TPZ7YJ1E1X4C5N9ZP3M3Q0"
	conflicts  = "01J8TPZ7YJ1E1X4C5N9ZP3M3Q1" // the key of a request that is in conflict
	panics     = "01J8TPZ7YJ1E1X4C5N9ZP3M3Q2"
	readScope  = "pdca:read"
	checkRoute = "GET /pdca/recheck/{request_id}"
)

// recheckTable is a small table on the re-check surface and a route of another one.
func recheckTable() []Route {
	return []Route{
		{Pattern: "GET /things", Do: ok},
		{Pattern: "POST /pdca/recheck", Surface: Recheck, Once: Required, Do: func(_ context.Context, c *Call) (Reply,
			error,
		) {
			switch c.Key {
			case conflicts:
				return Reply{}, fault.New(fault.Conflict, "IDEMPOTENCY_CONFLICT", "the key was used for another body")
			case panics:
				panic("a mistake")
			}
			c.About = recheckID
			return Reply{Status: 202, Body: map[string]string{"request_id": recheckID}}, nil
		}},
		{Pattern: checkRoute, Surface: Recheck, Scope: readScope, Do: ok},
		{Pattern: "GET /gui/strategies", Surface: Recheck, Rate: "pdca.read", Do: ok},
	}
}

func TestTheMetricsOfASurfaceHaveTheNamesOfItsDocument(t *testing.T) {
	tel := telemetry(t)
	limits, err := ParseRates([]string{"pdca.read=1/h"})
	if err != nil {
		t.Fatal(err)
	}
	delete(limits, "pdca.recheck")
	delete(limits, "pdca.bulk")
	d := openDoor(t, Config{Telemetry: tel, Rates: limits}, append(Pages{Metrics: tel.Metrics}.Routes(),
		recheckTable()...)...)
	page := func() []string {
		metric := regexp.MustCompile(`(?m)^(pdca_|airflow_).*$`)
		return metric.FindAllString(d.ask("GET", "/metrics", "").Body.String(), -1)
	}
	if diff := cmp.Diff([]string{"pdca_api_idempotency_conflicts_total 0"}, page()); diff != "" {
		t.Errorf("before any request (-want +got):\n%s", diff)
	}
	d.ask("GET", "/things", "")
	for _, key := range []string{goodKey, goodKey, conflicts, conflicts, panics} {
		d.ask("POST", "/pdca/recheck", "{}", "Idempotency-Key: "+key)
	}
	d.ask("POST", "/pdca/recheck", "{}")
	d.ask("GET", "/pdca/recheck/"+recheckID, "")
	d.ask("GET", "/pdca/secret", "")
	d.ask("DELETE", "/pdca/recheck", "")
	d.ask("GET", "/gui/strategies", "")
	d.ask("GET", "/gui/strategies", "")
	adapter, err := tel.Bare.Int64Counter("airflow.adapter.requests_total")
	if err != nil {
		t.Fatal(err)
	}
	adapter.Add(t.Context(), 1)
	var counts []string
	for _, line := range page() {
		if !strings.Contains(line, "latency_ms_bucket") && !strings.Contains(line, "latency_ms_sum") {
			counts = append(counts, line)
		}
	}
	want := []string{
		`airflow_adapter_requests_total 1`,
		`pdca_api_idempotency_conflicts_total 2`,
		`pdca_api_latency_ms_count{endpoint="GET /gui/strategies"} 2`,
		`pdca_api_latency_ms_count{endpoint="GET /pdca/recheck/{request_id}"} 1`,
		`pdca_api_latency_ms_count{endpoint="POST /pdca/recheck"} 6`,
		`pdca_api_latency_ms_count{endpoint="none"} 2`,
		`pdca_api_requests_total{endpoint="GET /gui/strategies",outcome="RATE_LIMITED"} 1`,
		`pdca_api_requests_total{endpoint="GET /gui/strategies",outcome="ok"} 1`,
		`pdca_api_requests_total{endpoint="GET /pdca/recheck/{request_id}",outcome="ok"} 1`,
		`pdca_api_requests_total{endpoint="POST /pdca/recheck",outcome="BAD_REQUEST"} 1`,
		`pdca_api_requests_total{endpoint="POST /pdca/recheck",outcome="IDEMPOTENCY_CONFLICT"} 2`,
		`pdca_api_requests_total{endpoint="POST /pdca/recheck",outcome="INTERNAL_ERROR"} 1`,
		`pdca_api_requests_total{endpoint="POST /pdca/recheck",outcome="ok"} 2`,
		`pdca_api_requests_total{endpoint="none",outcome="METHOD_NOT_ALLOWED"} 1`,
		`pdca_api_requests_total{endpoint="none",outcome="NOT_FOUND"} 1`,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if buckets := strings.Join(page(), "\n"); !strings.Contains(buckets,
		`pdca_api_latency_ms_bucket{endpoint="POST /pdca/recheck",le="10000"} 6`) {
		t.Errorf("the latencies are not in milliseconds:\n%s", buckets)
	}
}

func TestEveryRequestToTheRecheckSurfaceHasALineWithTheKeysOfItsDocument(t *testing.T) {
	fixed := []string{
		"client_id", "correlationId", "endpoint", "http_status", "latency_ms", "level", "msg", "tenant",
		"time", "x_request_id",
	}
	key := rsaKey(t, 2048)
	d := jwtDoor(t, publicPEM(t, &key.PublicKey), AuthConfig{}, recheckTable()...)
	as := func(scope string) string {
		return "Authorization: Bearer " + sign(t, jwt.SigningMethodRS256, key, nil, jwt.MapClaims{
			"aud": AudienceRecheck,
			"sub": "desk-1", "scope": scope,
		})
	}
	for _, tt := range []struct {
		method, path string
		headers      []string
		level        string
		endpoint     string
		status       float64
		client       string
		about, code  string
	}{
		{
			"POST", "/pdca/recheck",
			[]string{"Idempotency-Key: " + goodKey, as("x")},
			"INFO", "POST /pdca/recheck", 202,
			"desk-1", recheckID, "",
		},
		{
			"POST", "/pdca/recheck",
			[]string{"Idempotency-Key: " + conflicts, as("x")},
			"INFO", "POST /pdca/recheck", 409,
			"desk-1", "", "IDEMPOTENCY_CONFLICT",
		},
		{
			"GET", "/pdca/recheck/" + recheckID,
			[]string{as(readScope)},
			"INFO", checkRoute, 200, "desk-1", recheckID,
			"",
		},
		{"GET", "/pdca/recheck/anything%0Aelse", []string{as(readScope)}, "INFO", checkRoute, 200, "desk-1", "", ""},
		{
			"GET", "/pdca/recheck/" + recheckID,
			[]string{as("x")},
			"INFO", checkRoute, 403, "desk-1", recheckID,
			"FORBIDDEN",
		},
		{"GET", "/pdca/recheck/" + recheckID, nil, "DEBUG", checkRoute, 401, "", recheckID, "UNAUTHORIZED"},
		{"GET", "/gui/secret", nil, "DEBUG", "none", 404, "", "", "NOT_FOUND"},
		{
			"POST", "/pdca/recheck",
			[]string{"Idempotency-Key: " + panics, as("x")},
			"ERROR", "POST /pdca/recheck", 500,
			"desk-1", "", "INTERNAL_ERROR",
		},
	} {
		before := len(d.log.String())
		body := ""
		if tt.method == "POST" {
			body = "{}"
		}
		w := d.ask(tt.method, tt.path, body, tt.headers...)
		lines := strings.Split(strings.TrimSpace(d.log.String()[before:]), "\n")
		line := map[string]any{}
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
			t.Fatalf("%v: %v", lines, err)
		}
		want := map[string]any{
			"level": tt.level, "msg": "request", "endpoint": tt.endpoint, "http_status": tt.status,
			"client_id":    tt.client,
			"x_request_id": w.Header().Get("X-Request-Id"), "correlationId": w.Header().Get("X-Correlation-Id"),
		}
		keys := slices.Clone(fixed)
		for name, value := range map[string]string{"request_id": tt.about, "code": tt.code} {
			if value != "" {
				want[name], keys = value, append(keys, name)
			}
		}
		if tt.status == 500 {
			keys = append(keys, "error", "stack")
		}
		slices.Sort(keys)
		if diff := cmp.Diff(keys, slices.Sorted(maps.Keys(line))); diff != "" {
			t.Errorf("%s %s: the keys (-want +got):\n%s", tt.method, tt.path, diff)
		}
		for name, value := range want {
			if line[name] != value {
				t.Errorf("%s %s: %s is %v, want %v", tt.method, tt.path, name, line[name], value)
			}
		}
		if ms, ok := line["latency_ms"].(float64); !ok || ms < 0 || ms > 10_000 {
			t.Errorf("%s %s: latency_ms is %v", tt.method, tt.path, line["latency_ms"])
		}
	}
	before := len(d.log.String())
	d.ask("GET", "/things", "", "Authorization: Bearer "+sign(t, jwt.SigningMethodRS256, key, nil, nil))
	if line := d.log.String()[before:]; !strings.Contains(line,
		`"level":"DEBUG","msg":"request","method":"GET","route":"GET /things"`) {
		t.Errorf("the line of another surface is %s", line)
	}
}
