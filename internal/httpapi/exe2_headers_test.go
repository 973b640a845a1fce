package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/gate"
)

// Keys come in either header on every surface, and in no other.

const (
	plainKey = "Idempotency-Key"
	xKey     = "X-Idempotency-Key"
	strayKey = "Acme-Idempotency-Key"
)

func TestAKeyIsTheSameInBothHeadersOnEverySurface(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	s.enrol("strat.one.a")
	s.do("PUT", "/graphs/order", linear("default", "a"))
	s.do("PUT", "/triggers/t", `{"graph":"order"}`).is(201)
	s.template("tpl", "", "preflight external_event")
	acme := `{"fields":{"Name":"Acme"}}`
	for i, c := range []struct {
		path, body, id string
	}{
		{"/executions", `{"graphId":"g"}`, "executionId"},
		{"/records/Account", acme, "id"},
		{"/records/Account/bulk", `{"operations":[{"op":"create","fields":{"Name":"One"}}]}`, "results.0.id"},
		{"/pdca/recheck", order("", "strat.one.a"), "request_id"},
		{"/triggers/t/events", `{}`, "executionId"},
		{"/api/workflow-events", `{"year":2026,"month":1}`, "run_id"},
	} {
		for j, headers := range [][2]string{{plainKey, xKey}, {xKey, plainKey}} {
			key := uuid.NewString()
			body := strings.Replace(c.body, `"month":1`, fmt.Sprintf(`"month":%d`, j+1), 1)
			first := s.do("POST", c.path, body, headers[0], key)
			again := s.do("POST", c.path, body, headers[1], key)
			one, two := first.text(c.id), again.text(c.id)
			if one == "" || one != two || first.status >= 300 || again.status >= 300 {
				t.Errorf("%d: POST %s with %s, then with %s: got %d %s and %d %s", i, c.path, headers[0], headers[1],
					first.status, first.body, again.status, again.body)
			}
			both := s.do("POST", c.path, body, headers[0], key, headers[1], key)
			if both.status >= 300 || both.text(c.id) != one {
				t.Errorf("POST %s with both: got %d %s", c.path, both.status, both.body)
			}
		}
	}
}

func TestAKeyInAnotherHeaderIsRefusedOnEveryRouteThatChangesSomething(t *testing.T) {
	s := newServer(t)
	seen := map[string]int{}
	for _, route := range app.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		if method == "GET" || route.Foreign {
			continue
		}
		seen[route.Surface.Name]++
		r := s.do(method, path, "", strayKey, "k")
		want := "leave it out"
		if route.Once != gate.None {
			want = "send the idempotency key in the header " + route.Surface.KeyHeader
		}
		if r.status != route.Surface.Invalid || !strings.Contains(string(r.body), want) {
			t.Errorf("%s: got %d %s, want %d %s", route.Pattern, r.status, r.body, route.Surface.Invalid, want)
		}
	}
	for _, surface := range []string{"core", "crm", "recheck", "workflow"} {
		if seen[surface] == 0 {
			t.Errorf("no route of %s was asked: %v", surface, seen)
		}
	}
}

// TestAnEventWhoseOnlyKeyNobodyReadsStartsNothing: who sends it believes that it may be sent again.
func TestAnEventWhoseOnlyKeyNobodyReadsStartsNothing(t *testing.T) {
	s := newServer(t)
	s.template("tpl", "", "preflight external_event")
	s.event(`{"year":2026,"month":1}`, strayKey, "k").refused(400, "the header Acme-Idempotency-Key is unknown; "+
		"send the key as idempotency_key or in the header x-idempotency-key", "validation http_400 retry_after_fix")
	s.event(`{"year":2026,"month":1,"event_id":"e"}`, strayKey, "k").ran(false)
	s.event(`{"year":2026,"month":2}`, strayKey, "k", xKey, "f").ran(false)

	s.do("PUT", "/graphs/order", linear("default", "a"))
	s.do("PUT", "/triggers/bare", `{"graph":"order"}`).is(201)
	s.do("PUT", "/triggers/daily", `{"graph":"order","once":"day"}`).is(201)
	s.do("PUT", "/triggers/keyed", `{"graph":"order","key":"body.id"}`).is(201)
	s.do("PUT", "/triggers/header", `{"graph":"order","key":"headers[\"acme-idempotency-key\"]"}`).is(201)
	for _, trigger := range []string{"bare", "daily"} {
		r := s.do("POST", "/triggers/"+trigger+"/events", `{"id":1}`, strayKey, "k").is(422)
		if !strings.Contains(string(r.body), `give the trigger the key headers[\"acme-idempotency-key\"]`) {
			t.Errorf("%s: got %s", trigger, r.body)
		}
		s.do("POST", "/triggers/"+trigger+"/events", `{"id":1}`, strayKey, "k", plainKey, "l").is(200).
			has("key", "l").has("triggered", "true")
	}
	s.do("POST", "/triggers/keyed/events", `{"id":1}`, strayKey, "k").is(200).has("key", "1").has("triggered", "true")
	s.do("POST", "/triggers/header/events", `{}`, strayKey, "k").is(200).has("key", "k").has("triggered", "true")
}
