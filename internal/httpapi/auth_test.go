package httpapi_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/gate"
)

// EXE-1: 401 and 403, and the scope that each route asks for.

// issuer signs tokens that a server accepts.
type issuer struct {
	t   *testing.T
	key *rsa.PrivateKey
}

func newIssuer(t *testing.T) (issuer, gate.AuthConfig) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "keys.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return issuer{t, key}, gate.AuthConfig{Mode: gate.ModeJWT, Keys: path}
}

// header is the header of a caller with these scopes.
func (i issuer) header(subject, scopes string) []string {
	i.t.Helper()
	return i.bearer(jwt.MapClaims{"aud": "renga", "sub": subject, "scope": scopes})
}

// bearer is the header of a caller whose token makes these claims.
func (i issuer) bearer(claims jwt.MapClaims) []string {
	i.t.Helper()
	claims["iss"], claims["exp"] = "noctria.auth", time.Now().Add(time.Hour).Unix()
	token, err := jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(i.key)
	if err != nil {
		i.t.Fatal(err)
	}
	return []string{"Authorization", "Bearer " + token}
}

// tokenRoutes are the routes that go by the caller's token; the others are those of
// workflow events and of the events of triggers, which go by secrets, and the pages and sessions of the console.
func tokenRoutes() []gate.Route {
	return slices.DeleteFunc(app.Routes(), func(r gate.Route) bool {
		return r.Pass != nil || r.Public && r.Surface != gate.Recheck // its URLs are signed
	})
}

// coreRoutes are those of them that go by the default audience and have the error shape
// of executions; for the others see the tests of PDC-2.
func coreRoutes() []gate.Route {
	return slices.DeleteFunc(tokenRoutes(), func(r gate.Route) bool { return r.Surface == gate.Recheck })
}

func TestWithoutATokenEverythingButThePublicPagesIs401(t *testing.T) {
	_, auth := newIssuer(t)
	s := newServerWith(t, options{auth: auth})
	for _, route := range coreRoutes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		path = strings.NewReplacer("{executionId}", "00000000-0000-7000-8000-000000000000", "{nodeId}", "a",
			"{graphId}", "g",
			"{bulkId}", "00000000-0000-7000-8000-000000000000", "{deadLetterId}",
			"00000000-0000-7000-8000-000000000000",
			"{replayId}", "00000000-0000-7000-8000-000000000000", "{eventType}", "RecordCreated").Replace(path)
		r := s.do(method, path, "", "X-Idempotency-Key", "k").is(401).has("error.code", "UNAUTHORIZED").has(
			"error.details.reasonClass", "auth")
		if r.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: there is no WWW-Authenticate", route.Pattern)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/openapi.yaml", "/", "/ui/queues"} {
		s.get(path).is(200)
	}
}

func TestATokenWithoutTheScopeIs403(t *testing.T) {
	issuer, auth := newIssuer(t)
	s := newServerWith(t, options{auth: auth})
	all := []string{
		"executions:read", "executions:write", "graphs:write", "tasks:work", "events:read", "events:write",
		"audit:read",
	}
	for _, route := range coreRoutes() {
		if route.Scope == "" {
			if route.Pattern != "POST /commands" && route.Pattern != "GET /me" {
				t.Errorf("%s asks for no scope", route.Pattern)
			}
			continue
		}
		method, path, _ := strings.Cut(route.Pattern, " ")
		path = strings.NewReplacer("{executionId}", "00000000-0000-7000-8000-000000000000", "{nodeId}", "a",
			"{graphId}", "g",
			"{bulkId}", "00000000-0000-7000-8000-000000000000", "{deadLetterId}",
			"00000000-0000-7000-8000-000000000000",
			"{replayId}", "00000000-0000-7000-8000-000000000000", "{eventType}", "RecordCreated").Replace(path)
		for _, scope := range all {
			if route.Stream && scope == route.Scope {
				continue // it may not end
			}
			r := s.do(method, path, "", append(issuer.header("mika", scope), "X-Idempotency-Key", "k")...)
			if scope != route.Scope {
				r.is(403).has("error.code", "FORBIDDEN").has("error.details.scope", route.Scope)
			} else if r.status == 401 || r.status == 403 {
				t.Errorf("%s with %s: %d %s", route.Pattern, scope, r.status, r.body)
			}
		}
	}
}

func TestACreationThatClaimsNeedsTheScopeOfAWorker(t *testing.T) {
	issuer, auth := newIssuer(t)
	s := newServerWith(t, options{auth: auth})
	body := `{"graphId":"g","start":true,"claim":{"workerId":"w"}}`
	as := func(scopes string) []string { return append(issuer.header("mika", scopes), "X-Idempotency-Key", "k") }
	s.do("POST", "/executions", body, as("executions:write")...).is(403).has("error.code", "FORBIDDEN").has(
		"error.details.scope", "tasks:work")
	s.do("POST", "/executions", body, as("executions:write tasks:work")...).
		is(404).
		has("error.code", "GRAPH_NOT_FOUND")
	batch := `{"commands":[{"command":"CreateExecution","idempotencyKey":"k","graphId":"g","start":true,` +
		`"claim":{"workerId":"w"}}]}`
	s.do("POST", "/commands", batch, as("executions:write")...).is(200).has("results.0.status", "403").has(
		"results.0.error.details.scope", "tasks:work")
}

func TestScopesOfTheRoutes(t *testing.T) {
	want := map[string]string{
		"POST /executions": "executions:write", "POST /executions/{executionId}/start": "executions:write",
		"POST /executions/{executionId}/cancel":                  "executions:write",
		"POST /executions/{executionId}/archive":                 "executions:write",
		"POST /executions/{executionId}/nodes/{nodeId}/resume":   "executions:write",
		"POST /executions/{executionId}/nodes/{nodeId}/cancel":   "executions:write",
		"POST /executions/{executionId}/nodes/{nodeId}/start":    "tasks:work",
		"POST /executions/{executionId}/nodes/{nodeId}/progress": "tasks:work",
		"POST /executions/{executionId}/nodes/{nodeId}/wait":     "tasks:work",
		"POST /executions/{executionId}/nodes/{nodeId}/success":  "tasks:work",
		"POST /executions/{executionId}/nodes/{nodeId}/fail":     "tasks:work", "POST /tasks/claim": "tasks:work",
		"POST /tasks/watch":     "tasks:work",
		"POST /commands":        "",
		"GET /me":               "",
		"PUT /graphs/{graphId}": "graphs:write", "GET /graphs": "executions:read",
		"GET /graphs/{graphId}": "executions:read",
		"GET /executions":       "executions:read", "GET /executions/{executionId}": "executions:read",
		"GET /executions/{executionId}/events":   "executions:read",
		"GET /executions/{executionId}/stream":   "executions:read",
		"GET /executions/stream":                 "executions:read",
		"GET /executions/{executionId}/commands": "executions:read",
		"POST /bulks":                            "executions:write", "POST /bulks/{bulkId}/start": "executions:write",
		"POST /bulks/{bulkId}/stop": "executions:write",
		"GET /events/schemas":       "events:read", "GET /events/schemas/{eventType}": "events:read",
		"GET /events/consumers": "events:read",
		"GET /events/settings":  "events:read", "PUT /events/settings": "events:write",
		"GET /events/outbox": "events:read", "GET /events/stream": "events:read", "GET /events/dlq": "events:read",
		"GET /events/dlq/{deadLetterId}": "events:read", "POST /events/dlq/{deadLetterId}/redrive": "events:write",
		"POST /events/dlq/{deadLetterId}/skip": "events:write", "POST /events/replays": "events:write",
		"GET /events/replays":            "events:read",
		"GET /events/replays/{replayId}": "events:read", "POST /events/replays/{replayId}/stop": "events:write",
		"GET /audit": "audit:read", "GET /audit/export": "audit:read",
		"POST /events/bulks": "events:write", "POST /events/bulks/{bulkId}/start": "events:write",
		"POST /events/bulks/{bulkId}/stop": "events:write",
		"GET /events/bulks":                "events:read", "GET /events/bulks/{bulkId}": "events:read",
		"GET /events/bulks/{bulkId}/items": "events:read",
		"GET /search":                      "search:read",
		"POST /names":                      "records:read",

		"GET /waits":                                          "executions:read",
		"GET /graphs/{graphId}/versions":                      "executions:read",
		"POST /graphs/check":                                  "executions:read",
		"POST /graphs/simulate":                               "executions:read",
		"GET /executions/counts":                              "executions:read",
		"GET /executions/histogram":                           "executions:read",
		"GET /tasks/queues":                                   "executions:read",
		"GET /executions/{executionId}/attempts":              "executions:read",
		"GET /executions/{executionId}/events/{seq}":          "executions:read",
		"GET /executions/by-key/{graphId}/{businessKey}":      "executions:read",
		"GET /executions/{executionId}/nodes/{nodeId}/output": "tasks:work",

		"GET /bulks": "executions:read", "GET /bulks/{bulkId}": "executions:read",
		"GET /bulks/{bulkId}/items": "executions:read",
	}
	for _, route := range coreRoutes() {
		// who may read one of them, or write it, may all of it
		for _, surface := range []string{
			"metadata", "sharing", "records", "search", "reports", "approvals",
			"automation", "schedules", "messages", "webhooks",
		} {
			if method, path, _ := strings.Cut(route.Pattern, " "); strings.HasPrefix(path+"/", "/"+surface+"/") &&
				method == "GET" {
				want[route.Pattern] = surface + ":read"
			} else if strings.HasPrefix(path+"/", "/"+surface+"/") {
				want[route.Pattern] = surface + ":write"
			}
		}
		if method, path, _ := strings.Cut(route.Pattern, " "); strings.HasPrefix(path+"/", "/triggers/") &&
			method == "GET" {
			want[route.Pattern] = "workflow:read"
		} else if strings.HasPrefix(path+"/", "/triggers/") {
			want[route.Pattern] = "workflow:write"
		}
		if scope, ok := want[route.Pattern]; !ok || scope != route.Scope {
			t.Errorf("%s asks for %q, want %q", route.Pattern, route.Scope, scope)
		}
	}
}

func TestACommandInABatchNeedsTheScopeOfItsEndpoint(t *testing.T) {
	issuer, auth := newIssuer(t)
	s := newServerWith(t, options{auth: auth})
	admin := issuer.header("mika", "executions:read executions:write graphs:write tasks:work")
	s.do("PUT", "/graphs/g", linear("default", "a"), admin...).is(201)
	id := s.post("/executions", `{"graphId":"g"}`, admin...).is(202).text("executionId")
	start := fmt.Sprintf(`{"command":"StartExecution","idempotencyKey":"k","executionId":%q}`, id)
	work := fmt.Sprintf(`{"command":"StartNode","idempotencyKey":"k","executionId":%q,"nodeId":"a","attempt":1}`, id)
	r := s.commands(issuer.header("robot", "tasks:work"), start, work)
	r.result(0).is(403).has("error.code", "FORBIDDEN").has("error.details.scope", "executions:write")
	r.result(1).refusedBy("started")
	r = s.commands(issuer.header("mika", "executions:write"), start, strings.Replace(work, `"k"`, `"l"`, 1))
	r.result(0).is(202)
	r.result(1).is(403).has("error.details.scope", "tasks:work")
	s.commands(issuer.header("nobody", "nothing"), start).result(0).is(403)
}

func TestTheCallerOfATokenIsTheActor(t *testing.T) {
	issuer, auth := newIssuer(t)
	s := newServerWith(t, options{auth: auth})
	admin := issuer.header("mika", "executions:read executions:write graphs:write")
	s.do("PUT", "/graphs/g", linear("default", "a"), admin...).is(201)
	id := s.post("/executions", `{"graphId":"g"}`, admin...).is(202).text("executionId")
	s.get("/executions/"+id+"/events", admin...).is(200).has("items.0.actor", `{"id":"mika","kind":"user"}`)
}
