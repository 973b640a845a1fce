package httpapi_test

import (
	"log/slog"
	"strings"
	"testing"
)

const shopSecret = "a-secret-of-the-shop"

// trigger stores a trigger with a secret, and its graph.
func (s *server) trigger(id string, header ...string) {
	s.t.Helper()
	s.do("PUT", "/graphs/order", linear("default", "a"), header...)
	s.do("PUT", "/triggers/"+id, `{"graph":"order","key":"body.id","secret":"`+shopSecret+`"}`, header...).is(201).
		has("hasSecret", "true")
}

func TestATriggerTakesItsSecretFromThreePlacesInBothModes(t *testing.T) {
	issuer, auth := newIssuer(t)
	admin := issuer.header("mika", "graphs:write workflow:write")
	for _, o := range []options{{}, {auth: auth}, {token: "s3cret", auth: auth}} {
		s := newServerWith(t, o)
		tenant := "?tenant=" + own
		if o.auth.Keys == "" {
			tenant = "?x=y"
			s.trigger("t")
		} else {
			s.trigger("t", admin...)
		}
		first := ""
		for _, shown := range [][]string{
			{"&token=" + shopSecret},
			{"", "x-workflow-event-token", shopSecret},
			{"", "Authorization", "Bearer " + shopSecret},
		} {
			r := s.do("POST", "/triggers/t/events"+tenant+shown[0], `{"id":1}`, shown[1:]...).is(200)
			if first == "" {
				first = r.has("triggered", "true").text("executionId")
			} else {
				r.has("duplicate", "true").has("executionId", first)
			}
		}
		for _, shown := range [][]string{
			{""},
			{"&token=" + shopSecret + "x"},
			{"", "x-workflow-event-token", "s3cret"},
			{"", "Authorization", "Basic " + shopSecret},
		} {
			s.do("POST", "/triggers/t/events"+tenant+shown[0], `{"id":2}`, shown[1:]...).is(401).
				has("error.code", "UNAUTHORIZED").has("error.details.reasonClass", "auth")
		}
	}
}

func TestInModeJWTATokenWithTheScopeOpensTheTriggersOfItsTenant(t *testing.T) {
	issuer, auth := newIssuer(t)
	s := newServerWith(t, options{auth: auth, owner: other})
	admin := issuer.header("mika", "graphs:write workflow:write workflow:read audit:read")
	s.trigger("t", admin...)
	s.do("PUT", "/triggers/open", `{"graph":"order","key":"body.id"}`, admin...).is(201).has("hasSecret", "false")
	s.do("POST", "/triggers/t/events", `{"id":1}`, admin...).is(200).has("triggered", "true")
	s.do("POST", "/triggers/open/events", `{"id":1}`, admin...).is(200).has("triggered", "true")
	s.do("POST", "/triggers/none/events", `{"id":1}`, admin...).is(404).has("error.code", "TRIGGER_NOT_FOUND")

	reader := issuer.header("mika", "workflow:read")
	s.do("POST", "/triggers/t/events", `{"id":2}`, reader...).is(403).has("error.details.scope", "workflow:write")
	s.do("POST", "/triggers/open/events", `{"id":2}`, reader...).is(403)
	s.do("POST", "/triggers/t/events", `{"id":2}`, append(reader, "x-workflow-event-token", shopSecret)...).is(200)
	// Without a token the tenant is that of workflow events, or the one that is named; never that of a header.
	secret := []string{"x-workflow-event-token", shopSecret, "X-Tenant-Id", own}
	s.do("POST", "/triggers/t/events", `{"id":3}`, secret...).is(401)
	s.do("POST", "/triggers/t/events?tenant="+own, `{"id":3}`, secret...).is(200).has("triggered", "true")
	s.do("POST", "/triggers/open/events?tenant="+own, `{"id":3}`).is(401)
	s.do("POST", "/triggers/none/events?tenant="+own, `{"id":3}`, secret...).is(401)
	s.get("/audit?action=workflow_event", admin...).has("total", "9")
	s.get("/api/workflow-events/summary?ym="+s.month(), admin...).has("by_status.success", "4").
		has("by_status.rejected", "5").has("recent.0.trigger_id", "none")
}

func TestTheSecretOfATriggerIsInNoLogAndNoAnswer(t *testing.T) {
	log := &journal{}
	s := newServerWith(t, options{
		log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	var seen strings.Builder
	ask := func(method, path, body string) {
		r := s.do(method, path, body)
		seen.Write(r.body)
		for name, values := range r.header {
			seen.WriteString(name + strings.Join(values, ","))
		}
	}
	s.trigger("t")
	ask("PUT", "/triggers/t", `{"graph":"order","key":"body.id","secret":"`+shopSecret+`"}`)
	ask("PUT", "/triggers/u", `{"graph":"none","secret":"`+shopSecret+`"}`)
	ask("PUT", "/triggers/u", `{"graph":"order","secret":["`+shopSecret+`"]}`)
	ask("GET", "/triggers/t", "")
	ask("GET", "/triggers", "")
	for _, shown := range []string{shopSecret, shopSecret + "-wrong", shopSecret + "&%zz"} {
		query := "?token=" + shown
		for _, body := range []string{`{"id":1}`, `{}`, `{`, strings.Repeat(" ", 2<<20)} {
			ask("POST", "/triggers/t/events"+query, body)
		}
		ask("GET", "/triggers/t/events"+query, "")
	}
	ask("GET", "/audit", "")
	if lines := strings.Count(log.String(), "\n"); lines < 15 {
		t.Fatalf("the log has %d lines", lines)
	}
	for name, text := range map[string]string{"the log": log.String(), "an answer": seen.String()} {
		if at := strings.Index(text, shopSecret); at >= 0 {
			t.Errorf("the secret is in %s: …%s…", name, text[max(0, at-200):min(len(text), at+50)])
		}
	}
}
