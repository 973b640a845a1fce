package httpapi_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/gate"
)

// TRG-2, RUN-3: the token of workflow events, and whose they are.

const (
	unauthorized = "auth http_401 retry_after_fix"
	msgToken     = "Invalid workflow event token."
)

// workflowPaths are method and path of every route that goes by the event token.
func workflowPaths() [][2]string {
	var all [][2]string
	for _, route := range app.Routes() {
		if route.Surface == gate.Workflow {
			method, path, _ := strings.Cut(route.Pattern, " ")
			path = strings.Replace(path, "{id}", "a", 1)
			all = append(all, [2]string{method, path})
		}
	}
	return all
}

func TestEveryRouteOfWorkflowEventsAsksForTheToken(t *testing.T) {
	issuer, auth := newIssuer(t)
	for _, o := range []options{{token: "s3cret"}, {token: "s3cret", auth: auth}} {
		s := newServerWith(t, o)
		if got := len(workflowPaths()); got != 6 {
			t.Fatalf("got %d routes, want 6", got)
		}
		for _, route := range workflowPaths() {
			for _, header := range [][]string{
				nil,
				{"x-workflow-event-token", "wrong"},
				{"Authorization", "Bearer wrong"},
				{"Authorization", "Basic s3cret"},
				issuer.header("mika", "executions:read executions:write graphs:write"),
			} {
				s.do(route[0], route[1], "", header...).refused(401, msgToken, unauthorized)
			}
			s.do(route[0], route[1]+"?token=wrong", "", "x-workflow-event-token", "s3cret").refused(401, msgToken,
				unauthorized)
			for _, header := range [][]string{
				{"x-workflow-event-token", "s3cret"},
				{"Authorization", "Bearer s3cret"},
			} {
				if r := s.do(route[0], route[1], "", header...); r.status == 401 {
					t.Errorf("%s: %s", r.asked, r.body)
				}
			}
			if r := s.do(route[0], route[1]+"?token=s3cret", ""); r.status == 401 {
				t.Errorf("%s: %s", r.asked, r.body)
			}
		}
	}
}

func TestTheTokenIsAskedForFirst(t *testing.T) {
	s := newServerWith(t, options{token: "s3cret"})
	for _, body := range []string{"{", `[]`, strings.Repeat("x", 2<<20), `{"year":{}}`} {
		s.event(body).refused(401, msgToken, unauthorized)
	}
	s.event("a=b", "Content-Type", "text/plain").refused(401, msgToken, unauthorized)
	s.do("POST", eventsPath+"?a=%zz", "{}").refused(401, msgToken, unauthorized)
}

func TestOnlyDeliveriesAreAudited(t *testing.T) {
	s := newServerWith(t, options{token: "s3cret"})
	for _, route := range workflowPaths() {
		s.do(route[0], route[1], "").is(401)
	}
	s.get("/audit?action=workflow_event").has("total", "1").has("items.0.outcome", "refused").has("items.0.reason",
		msgToken).
		has("items.0.reasonClass", "auth").has("items.0.reasonCode", "http_401").has("items.0.retryAdvice",
		"retry_after_fix").has("items.0.subject", "")
}

func TestWorkflowEventsBelongToTheirOwnTenant(t *testing.T) {
	issuer, auth := newIssuer(t)
	s := newServerWith(t, options{auth: auth, owner: other, token: "s3cret"})
	token := []string{"x-workflow-event-token", "s3cret", "X-Tenant-Id", own}
	s.do("PUT", templatesPath+"a",
		`{"name":"A","year":2026,"month":1,"steps":[{"action":"preflight","trigger_kind":"external_event"}]}`,
		token...).is(201)
	run := s.event("{}", token...).ran(false)
	admin := issuer.header("mika", "executions:read audit:read")
	s.get("/executions/"+run, admin...).is(404) // the token's tenant is the default one
	s.get("/audit", admin...).has("total", "0")

	free := newServerWith(t, options{token: "s3cret", owner: other})
	free.do("PUT", templatesPath+"a",
		`{"name":"A","year":2026,"month":1,"steps":[{"action":"preflight","trigger_kind":"external_event"}]}`,
		token...).is(201)
	run = free.event("{}", token...).ran(false)
	free.get("/executions/" + run).is(200)
	free.event("{}", "x-workflow-event-token", "s3cret", "X-Tenant-Id", other).refused(404,
		"No external_event workflow template was found.", templateMissing)
	free.event("{}", "X-Tenant-Id", other).refused(401, msgToken, unauthorized)
	free.get("/audit", "X-Tenant-Id", other).has("total", "2")
	free.get("/audit").has("total", "1")
}

// TRG-2: in mode jwt, a server without a token of workflow events asks for bearer tokens.
func TestWithoutATokenOfWorkflowEventsModeJWTAsksForBearerTokensWithTheScope(t *testing.T) {
	issuer, auth := newIssuer(t)
	s := newServerWith(t, options{auth: auth, owner: other})
	scopes := map[string]string{"GET": "workflow:read", "PUT": "workflow:write", "DELETE": "workflow:write"}
	scopes["POST"] = scopes["PUT"]
	for _, route := range workflowPaths() {
		s.do(route[0], route[1], "").refused(401, "a bearer token is required", unauthorized)
		s.do(route[0], route[1]+"?token=any", "", "x-workflow-event-token", "any").
			refused(401, "a bearer token is required", unauthorized)
		s.do(route[0], route[1], "", issuer.header("mika", "executions:write graphs:write")...).
			refused(403, "this needs the scope "+scopes[route[0]], "auth http_403 retry_after_fix")
		if r := s.do(route[0], route[1], "", issuer.header("mika", scopes[route[0]])...); r.status == 401 ||
			r.status == 403 {
			t.Errorf("%s: %d %s", r.asked, r.status, r.body)
		}
	}
}

func TestAWorkflowEventWithABearerTokenBelongsToTheTenantOfTheToken(t *testing.T) {
	issuer, auth := newIssuer(t)
	s := newServerWith(t, options{auth: auth, owner: other})
	sender := issuer.header("mika", "workflow:read workflow:write executions:read audit:read")
	s.do("PUT", templatesPath+"a",
		`{"name":"A","year":2026,"month":1,"steps":[{"action":"preflight","trigger_kind":"external_event"}]}`,
		append(sender, "X-Tenant-Id", other)...).is(201)
	run := s.event("{}", sender...).ran(false)
	s.get("/executions/"+run, sender...).is(200)
	s.event("{}").refused(401, "a bearer token is required", unauthorized)
	s.event("{}", issuer.header("mika", "workflow:read")...).
		refused(403, "this needs the scope workflow:write", "auth http_403 retry_after_fix")
	// The delivery that was refused without a token is that of the server's tenant of workflow events.
	s.get("/audit?action=workflow_event", sender...).has("total", "2").has("items.0.outcome", "refused")
}

func TestTheFlagOpensWorkflowEventsInModeJWT(t *testing.T) {
	issuer, auth := newIssuer(t)
	s := newServerWith(t, options{auth: auth, openEvents: true})
	s.do("PUT", templatesPath+"a",
		`{"name":"A","year":2026,"month":1,"steps":[{"action":"preflight","trigger_kind":"external_event"}]}`).is(201)
	run := s.event("{}", "X-Tenant-Id", other).ran(false)
	s.get("/executions/"+run, issuer.header("mika", "executions:read")...).is(200)
}

// journal is a log that a test reads.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func TestTheTokenIsInNoLogNoAnswerAndNotInTheAuditLog(t *testing.T) {
	log := &journal{}
	s := newServerWith(t, options{
		token: "s3cret",
		log:   slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	var seen strings.Builder
	ask := func(method, path, body string, header ...string) {
		r := s.do(method, path, body, header...)
		seen.Write(r.body)
		for name, values := range r.header {
			seen.WriteString(name + strings.Join(values, ","))
		}
	}
	template := `{"name":"A","year":2026,"month":1,"steps":[{"action":"preflight","trigger_kind":"external_event"}]}`
	ask("PUT", templatesPath+"a?token=s3cret", template)
	for _, query := range []string{
		"?token=s3cret", "?token=s3cret-wrong", "?token=s3cret&x=%zz", "?x&tok%65n=s3cret",
		"?token=s3cret;a",
	} {
		for _, body := range []string{
			`{"event_id":"k"}`, `{"event_id":"k"}`, `{}`, `{`, `{"month":13}`,
			`{"template_id":"x"}`, strings.Repeat(" ", 2<<20),
		} {
			ask("POST", eventsPath+query, body)
		}
		ask("POST", eventsPath+query, "x", "Content-Type", "text/plain")
		ask("GET", eventsPath+"/summary"+query, "")
		ask("GET", eventsPath+"/summary"+query+"&ym="+s.month(), "")
		ask("GET", templatesPath+"a"+query, "")
		ask("GET", eventsPath+query, "")
		ask("GET", "/api/workflow-nothing"+query, "")
	}
	for page := range 3 {
		seen.Write(s.get("/audit?page_size=100&page=" + string(rune('1'+page))).is(200).body)
	}
	if lines := strings.Count(log.String(), "\n"); lines < 60 {
		t.Fatalf("the log has %d lines", lines)
	}
	for name, text := range map[string]string{"the log": log.String(), "an answer": seen.String()} {
		if at := strings.Index(text, "s3cret"); at >= 0 {
			t.Errorf("the token is in %s: …%s…", name, text[max(0, at-200):min(len(text), at+50)])
		}
	}
}
