package httpapi_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"renga.dev/renga/internal/platform/gate"
)

const (
	strategiesPath = "/pdca/strategies/"
	listPath       = "/gui/strategies"
)

// flat demands an error in the shape of the re-check surface.
func (r reply) flat(status int, code, message string) reply {
	r.t.Helper()
	r.is(status)
	if want := fmt.Sprintf(`{"error":%q,"message":%q}`, code, message); string(r.body) != want {
		r.t.Errorf("%s: got %s, want %s", r.asked, r.body, want)
	}
	return r
}

func TestPDC1AStrategyIsRegisteredChangedAndListed(t *testing.T) {
	s := newServer(t)
	const first = `{"health":"unknown","id":"strat.meanrev.m1","last_checked_at":null,"metrics":{},"name":"平均回帰",` +
		`"tags":["daily"]}`
	s.do("PUT", strategiesPath+"strat.meanrev.m1", `{"name":"平均回帰","tags":["daily"]}`).is(201).has("name", "平均回帰")
	s.do("PUT", strategiesPath+"strat.meanrev.m1",
		`{"id":"strat.meanrev.m1","name":"平均回帰","tags":["daily"]}`).is(200)
	s.do("PUT", strategiesPath+"strat.b",
		`{"name":"B","health":"degraded","metrics":{"sharpe":-0.5,"by_month":[1,2]}}`).is(201)
	s.get(listPath+"?q="+url.QueryEscape("回帰")).is(200).has("items.0", first).has("page", "1").has("page_size",
		"50").has("total", "1")
	s.get(listPath+"?page=2&page_size=10").is(200).has("items", "[]").has("page", "2").has("page_size", "10").has(
		"total", "2")
	s.get(listPath+"?health=degraded&sort=name.asc").is(200).has("items.0.metrics",
		`{"by_month":[1,2],"sharpe":-0.5}`).has("total", "1")
	s.elsewhere()
	s.get(listPath).is(200).has("total", "0")
}

func TestPDC6WhatBreaksARuleIs400AndNamed(t *testing.T) {
	s := newServer(t)
	for _, tt := range []struct{ body, message string }{
		{`{"name":"n","tag":["daily"]}`, "tag is not a known field"},
		{`{"name":"n","tags":[1]}`, "tags[0] must be a string"},
		{`{"name":"n","health":"well"}`, "health must be healthy, degraded or unknown"},
		{`{"tags":[]}`, "name is missing"},
		{`{"name":"n","id":"other"}`, "id is not the one in the path"},
		{`{"name":"n","metrics":7}`, "metrics must be an object"},
	} {
		s.do("PUT", strategiesPath+"a", tt.body).flat(400, "BAD_REQUEST", tt.message)
	}
	for _, id := range []string{"Upper", "a%20b", "%E6%97%A5", strings.Repeat("a", 129), "a%2Fb"} {
		s.do("PUT", strategiesPath+id, `{"name":"n"}`).flat(400, "BAD_REQUEST",
			"the id of a strategy must be 1 to 128 of a-z 0-9 . _ -")
	}
	for query, message := range map[string]string{
		"page=0":        "page must be a whole number between 1 and 1000000000",
		"page_size=9":   "page_size must be a whole number between 10 and 100",
		"page_size=101": "page_size must be a whole number between 10 and 100",
		"page_size=ten": "page_size must be a whole number between 10 and 100",
		"sort=id": "sort must be one of id, name, health, last_checked_at, with .asc or .desc " +
			"behind it",
		"sort=metrics.asc": "sort must be one of id, name, health, last_checked_at, with .asc or .desc " +
			"behind it",
		"health=fine":                  "health must be a list of healthy, degraded, unknown, separated by commas",
		"tags_any=a,,b":                "tags_any must be 1 to 16 tags, separated by commas",
		"q=a&q=b":                      "q is there twice",
		"colour=red":                   "colour is not a known query parameter",
		"q=%00":                        "q must be at most 64 characters on one line",
		"q=%zz":                        "the query string is malformed",
		"q=" + strings.Repeat("x", 65): "q must be at most 64 characters on one line",
	} {
		s.get(listPath+"?"+query).flat(400, "BAD_REQUEST", message)
	}
	s.do("PUT", strategiesPath+"a?dry=1", `{"name":"n"}`).
		flat(400, "BAD_REQUEST", "dry is not a known query parameter")
	s.get(listPath).is(200).has("total", "0")
}

func TestPDC6EveryRefusalHasACodeOfTheCatalogue(t *testing.T) {
	s := newServer(t)
	s.get("/pdca/nothing").flat(404, "NOT_FOUND", "there is nothing at this path")
	s.get("/gui").flat(404, "NOT_FOUND", "there is nothing at this path")
	s.get(strategiesPath+"a").flat(405, "METHOD_NOT_ALLOWED", "this path has only PUT")
	s.do("PUT", strategiesPath+"a", `{}`, "Content-Type", "text/plain").is(415).has("error", "UNSUPPORTED_MEDIA_TYPE")
	s.do("PUT", strategiesPath+"a", fmt.Sprintf(`{"name":%q}`, strings.Repeat("x", 64<<10))).is(413).has("error",
		"PAYLOAD_TOO_LARGE")
	s.get(listPath, "X-Tenant-Id", "me").flat(400, "BAD_REQUEST", "the header X-Tenant-Id must be one UUID")
}

func TestPDC2AudiencesAndScopes(t *testing.T) {
	issuer, auth := newIssuer(t)
	s := newServerWith(t, options{auth: auth})
	put := func(header ...string) reply { return s.do("PUT", strategiesPath+"a", `{"name":"n"}`, header...) }
	list := func(header ...string) reply { return s.get(listPath, header...) }
	put().is(401).has("error", "UNAUTHORIZED")
	list().is(401).has("error", "UNAUTHORIZED")
	for _, tt := range []struct {
		aud       any
		scope     string
		put, list int
	}{
		{"pdca", "pdca:admin", 201, 401},
		{"pdca", "pdca:read", 403, 401},
		{"pdca.gui", "pdca:read", 401, 200},
		{"pdca.gui", "pdca:admin", 401, 403},
		{[]string{"pdca", "pdca.gui"}, "pdca:read pdca:admin", 200, 200},
		{"renga", "pdca:read pdca:admin", 401, 401},
	} {
		header := issuer.bearer(jwt.MapClaims{"aud": tt.aud, "sub": "desk-1", "scope": tt.scope})
		put(header...).of(fmt.Sprint("put ", tt)).is(tt.put)
		list(header...).of(fmt.Sprint("list ", tt)).is(tt.list)
	}
	without := issuer.bearer(jwt.MapClaims{"aud": []string{"pdca", "pdca.gui"}, "sub": "desk-1"})
	put(without...).flat(401, "UNAUTHORIZED", "the token has no scope claim")
	list(without...).flat(401, "UNAUTHORIZED", "the token has no scope claim")
	short := issuer.bearer(jwt.MapClaims{"aud": "pdca", "sub": "desk-1", "scope": "pdca:recheck"})
	put(short...).flat(403, "FORBIDDEN", "this needs the scope pdca:admin")
}

// TestPDC8TheRoutesOfTheSurfaceAreLimitedByTheirClasses holds the route table against the
// document's quotas.
func TestPDC8TheRoutesOfTheSurfaceAreLimitedByTheirClasses(t *testing.T) {
	want := map[string]int{
		"PUT /pdca/strategies/{id}": 120, "GET /gui/strategies": 600,
		"POST /pdca/recheck": 120, "POST /pdca/recheck_all": 10, "GET /pdca/recheck/{request_id}": 600,
		"POST /pdca/recheck/{request_id}/cancel":         120,
		"GET /pdca/artifacts/{artifact_id}/download_url": 600, "GET /pdca/artifacts/{artifact_id}/content": 600,
	}
	found := 0
	for _, route := range tokenRoutes() {
		if route.Surface != gate.Recheck {
			continue
		}
		found++
		if got := gate.DefaultRates[route.Rate].Limit; got != want[route.Pattern] {
			t.Errorf("%s: got %d a minute, want %d", route.Pattern, got, want[route.Pattern])
		}
	}
	if found != len(want) {
		t.Errorf("got %d routes, want %d", found, len(want))
	}
}
