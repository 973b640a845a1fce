package test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.yaml.in/yaml/v3"

	"renga.dev/renga/api"
	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/program"
	"renga.dev/renga/internal/recheck/airflow/airflowtest"
)

// TestNoSecretLeavesItsPlace plants secrets wherever an operator or a caller has some, sends
// requests of every kind, and looks for them in answers, log, spans, metrics, audit log and
// files.
func TestNoSecretLeavesItsPlace(t *testing.T) {
	c, spans, keys := canaries{}, newCollector(t), newKeyServer(t)
	at := secretSite(t, c, spans, keys)
	s := serve(t, at)
	p := &reader{t: t, url: s.url, canaries: c, tokens: tokens(t, c, keys)}
	p.use()
	links, cookies := p.download(), p.session(keys)
	p.request()
	p.follow(s)
	audit := p.audit()
	_, _, metrics := ask(t, s.url, "GET", "/metrics", "")
	s.stop()

	signing := signingKey(t, at)
	for where, text := range map[string]string{
		"the metrics": metrics, "the audit log": audit,
		"the spans": spans.everything(), "the log": s.log.String(),
	} {
		c.none(t, where, text)
		links.none(t, where, text)
		cookies.none(t, where, text)
		signing.none(t, where, text)
	}
	c.none(t, "the answers", p.answers.String())
	signing.none(t, "the answers", p.answers.String())
	files := c.folder(t, at.dir)
	cookies.folder(t, at.dir)
	for what, enough := range map[string]bool{
		"answers": p.sent > 300 && len(p.statuses) > 8, "metrics": strings.Contains(metrics, "pdca_api_requests_total"),
		"audit log": strings.Contains(audit, "token.refused") && strings.Contains(audit, "session.closed"),
		"spans":     len(spans.all()) > 300,
		"log": strings.Contains(s.log.String(), "token refused") &&
			strings.Contains(s.log.String(), "level=DEBUG"),
		"files": files > 3,
	} {
		if !enough {
			t.Errorf("the test sees too little of the %s; it sent %d requests, answered %v", what, p.sent, p.statuses)
		}
	}
}

// secretSite is a site whose settings hold all the secrets that there are settings for.
func secretSite(t *testing.T, c canaries, spans *collector, keys *keyServer) site {
	t.Helper()
	at := newSite(t)
	if at.database != "" {
		u, err := url.Parse(at.database)
		if err != nil {
			t.Fatal(err)
		}
		c["the password of the database"], _ = u.User.Password()
	}
	users := filepath.Join(t.TempDir(), "followers.yaml")
	text := fmt.Sprintf("users:\n  - {user: ann, password: %q, tenant: 00000000-0000-0000-0000-000000000001}\n",
		c.plant("the password of a follower"))
	if err := os.WriteFile(users, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	airflow := airflowtest.New(t, airflowtest.Config{
		Password: c.plant("the password of Airflow"),
		End: func(airflowtest.Run, int) (string, any) {
			return "success", map[string]any{"artifacts": []any{map[string]any{
				"name":       "a.txt",
				"media_type": "text/plain", "content": "aGVsbG8=",
			}}}
		},
	})
	at.whole = true
	at.env = append(spans.env(),
		"RENGA_LOG_LEVEL=debug", "RENGA_AUTH=jwt",
		"RENGA_JWT_KEYS="+keys.url+"/jwks?key="+c.plant("the key of the URL of keys"),
		"AX_WORKFLOW_EVENT_TOKEN="+c.plant("the token of workflow events"),
		"RENGA_NATS_LISTEN=127.0.0.1:0", "RENGA_NATS_USERS="+users,
		"RENGA_AIRFLOW_URL="+airflow.URL(), "RENGA_AIRFLOW_DAG=recheck", "RENGA_AIRFLOW_RESULT_TASK=report",
		"RENGA_AIRFLOW_USER=renga", "RENGA_AIRFLOW_PASSWORD="+c["the password of Airflow"],
		"OTEL_EXPORTER_OTLP_HEADERS=authorization="+c.plant("the key of the collector"),
	)
	at.env = append(at.env, oidcSettings(t, c)...)
	return at
}

// tokens are bearer tokens, good and bad, each with a secret inside.
func tokens(t *testing.T, c canaries, keys *keyServer) map[string]string {
	t.Helper()
	all := "executions:read executions:write graphs:write tasks:work events:read events:write audit:read pdca:read " +
		"pdca:recheck pdca:recheck_all pdca:download pdca:admin"
	good := keys.token(t, jwt.MapClaims{"scope": all, "jti": c.plant("a claim of a good token")})
	parts := strings.Split(good, ".")
	c["the claims of a good token"], c["the signature of a good token"] = parts[1], parts[2]
	return map[string]string{
		"good": good,
		"without a scope": keys.token(t, jwt.MapClaims{
			"scope": "none",
			"jti":   c.plant("a claim of a token without a scope"),
		}),
		"out of date": keys.token(t, jwt.MapClaims{
			"scope": all, "exp": 1,
			"jti": c.plant("a claim of an old token"),
		}),
		"for others":      keys.token(t, jwt.MapClaims{"scope": all, "aud": c.plant("another audience")}),
		"forged":          parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2])),
		"no token at all": c.plant("a bearer that is no token"),
		"of another kind": "",
		"of an odd person": keys.token(t, jwt.MapClaims{"scope": all, "sub": "a\n" +
			c.plant("a subject with a line break")}),
	}
}

// reader sends requests and keeps the answers.
type reader struct {
	t        *testing.T
	url      string
	canaries canaries
	tokens   map[string]string
	recheck  string // the id of a re-check
	answers  bytes.Buffer
	sent     int
	statuses map[int]int
}

// send sends a request; what comes back is kept.
func (p *reader) send(method, path, body string, header http.Header) (status int, answer string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header = header
	if body != "" && header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // to a provider only browsers go
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	var raw bytes.Buffer
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		cancel() // its head is enough
	} else if _, err := raw.ReadFrom(resp.Body); err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	_ = resp.Header.Write(&p.answers)
	p.answers.Write(raw.Bytes())
	p.sent++
	if p.statuses == nil {
		p.statuses = map[int]int{}
	}
	p.statuses[resp.StatusCode]++
	return resp.StatusCode, raw.String()
}

// as is the header of a bearer.
func (p *reader) as(token string) http.Header {
	header := http.Header{
		"Idempotency-Key": {fmt.Sprintf("01J8TPZ7YJ1E1X4C5N9Z%06d", p.sent)},
	}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return header
}

// use does what honest callers do, and demands that it works.
func (p *reader) use() {
	p.t.Helper()
	good, event := p.tokens["good"], p.canaries["the token of workflow events"]
	shown := http.Header{"X-Workflow-Event-Token": {event}}
	for _, call := range []struct {
		method, path, body string
		header             http.Header
	}{
		{"PUT", "/pdca/strategies/strat.a", `{"name":"A"}`, p.as(good)},
		{"GET", "/gui/strategies", "", p.as(good)},
		{"PUT", "/graphs/g", graphs["line"], p.as(good)},
		{"POST", "/executions", `{"graphId":"g","start":true}`, p.as(good)},
		{"PUT", "/api/workflow-templates/closing", closing, shown.Clone()},
		{"POST", "/api/workflow-events", `{"idempotency_key":"bank-1"}`, shown.Clone()},
		{"POST", "/api/workflow-events?token=" + event, `{"idempotency_key":"bank-1"}`, http.Header{}},
		{"POST", "/api/workflow-events", `{"idempotency_key":"bank-1"}`, p.as(event)},
		{"GET", "/executions", "", p.as(good)},
		{"POST", "/pdca/recheck", recheckOne, p.keyed(good, 1)},
		{"POST", "/pdca/recheck", recheckOne, p.keyed(good, 1)},
		{
			"POST", "/pdca/recheck_all", `{"filter":{},"window":{"lookback_days":7},"reason":"daily","dry_run":true}`,
			p.keyed(good, 2),
		},
	} {
		status, answer := p.send(call.method, call.path, call.body, call.header)
		if status >= 300 {
			p.t.Fatalf("%s %s: got %d %s", call.method, call.path, status, answer)
		}
		if call.path == "/pdca/recheck" {
			p.recheck = between(answer, `"request_id":"`, `"`)
		}
	}
}

// between is the text between two others.
func between(text, before, behind string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, behind)
	return text
}

// download downloads what a check has left, and gives what let it in, which is in the
// answer and nowhere else.
func (p *reader) download() canaries {
	p.t.Helper()
	good, artifact := p.tokens["good"], ""
	eventually(p.t, "what the check has left", maxWait, func() bool {
		_, answer := p.send("GET", "/pdca/recheck/"+p.recheck, "", p.as(good))
		artifact = between(answer, `"artifact_id":"`, `"`)
		return artifact != ""
	})
	_, answer := p.send("GET", "/pdca/artifacts/"+artifact+"/download_url", "", p.as(good))
	path := "/pdca" + strings.ReplaceAll(between(answer, "/pdca", `"`), `\u0026`, "&")
	if status, content := p.send("GET", path, "", http.Header{}); status != http.StatusOK || content != "hello" {
		p.t.Fatalf("%s: got %d %s", path, status, content)
	}
	u, err := url.Parse(path)
	if err != nil {
		p.t.Fatal(err)
	}
	if status, _ := p.send("GET", path+"0", "", http.Header{}); status < 400 {
		p.t.Errorf("a forged URL: got %d", status)
	}
	return canaries{"the signature of a URL": u.Query().Get("signature")}
}

// signingKey is the key that URLs are signed with, in all its forms.
func signingKey(t *testing.T, at site) canaries {
	t.Helper()
	db, err := app.OpenDB(t.Context(), app.Place{DataDir: at.dir, DatabaseURL: at.database, AsIs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var key []byte
	err = db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT secret FROM pdca_signing WHERE n = 1").Scan(&key)
	})
	if err != nil || len(key) < 32 {
		t.Fatalf("the key that URLs are signed with has %d bytes: %v", len(key), err)
	}
	return canaries{"the key of URLs": string(key), "the key of URLs in hexadecimal": hex.EncodeToString(key)}
}

// recheckOne asks for one strategy to be checked again.
const recheckOne = `{"strategies":["strat.a"],"window":{"lookback_days":14},"reason":"manual"}`

// keyed is the header of a bearer with a key that may come again.
func (p *reader) keyed(token string, n int) http.Header {
	header := p.as(token)
	header.Set("Idempotency-Key", fmt.Sprintf("01J8TPZ7YJ1E1X4C5N8Z%06d", n))
	return header
}

// wildcard is a parameter of a path in the contract.
var wildcard = regexp.MustCompile(`\{[^}]*\}`)

// request goes to every endpoint of the contract with every token, in right and wrong ways.
func (p *reader) request() {
	p.t.Helper()
	var doc struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	if err := yaml.Unmarshal(api.OpenAPI, &doc); err != nil {
		p.t.Fatal(err)
	}
	event := p.canaries["the token of workflow events"]
	basic := p.canaries.plant("a password of basic authentication")
	for template, methods := range doc.Paths {
		for method := range methods {
			if method == "parameters" {
				continue
			}
			method, path := strings.ToUpper(method), wildcard.ReplaceAllString(template,
				"0190c1de-0000-7000-8000-000000000000")
			for _, token := range p.tokens {
				p.send(method, path, "", p.as(token))
			}
			good := p.tokens["good"]
			p.send(method, path+"?access_token="+good+"&token="+event, "{}", p.as(good))
			p.send(method, path+"?token="+event+"%zz", "", http.Header{})
			p.send(method, path, `{"broken":`, p.as(good))
			odd := p.as("")
			odd.Set("Authorization", "Basic "+basic)
			odd.Set("X-Workflow-Event-Token", event+"x")
			p.send(method, path, "", odd)
			if method == "POST" || method == "PUT" {
				text := p.as(good)
				text.Set("Content-Type", "text/plain")
				p.send(method, path, "text", text)
			}
		}
	}
	p.send("GET", "/pdca/nothing", "", p.as(p.tokens["good"]))
	// a conflict
	p.send("POST", "/pdca/recheck", strings.Replace(recheckOne, "14", "15", 1), p.keyed(p.tokens["good"], 1))
	for range 20 { // more than the limit
		p.send("POST", "/pdca/recheck_all", "{}", p.as(p.tokens["good"]))
	}
	p.send("DELETE", "/pdca/recheck", "", p.as(p.tokens["good"]))
	p.send("PUT", "/pdca/strategies/strat.a", strings.Repeat(" ", 70<<10), p.as(p.tokens["good"]))
}

// follow logs in as a follower, rightly and wrongly.
func (p *reader) follow(s *child) {
	p.t.Helper()
	_, rest, found := strings.Cut(s.log.String(), `msg="events can be followed over NATS" address=`)
	addr, _, _ := strings.Cut(rest, "\n")
	if !found {
		p.t.Fatal("nobody can follow events")
	}
	for _, password := range []string{
		p.canaries["the password of a follower"],
		p.canaries.plant("a wrong password of a follower"),
	} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			p.t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprintf(
			conn,
			"CONNECT {\"user\":\"ann\",\"pass\":%q,\"verbose\":false,\"lang\":\"x\",\"version\":\"1\"}\r\nPING\r\n",
			password,
		)
		var said strings.Builder
		for answer := make([]byte, 4096); !strings.Contains(said.String(), "PONG") && !strings.Contains(said.String(),
			"-ERR"); {
			n, err := conn.Read(answer)
			said.Write(answer[:n])
			if err != nil {
				break
			}
		}
		p.answers.WriteString(said.String())
		_ = conn.Close()
	}
}

// audit is the whole audit log, once refused tokens, which are noted beside, are in it. Those that
// came while the database was held up for long are not: it goes on to send some.
func (p *reader) audit() string {
	p.t.Helper()
	for began := time.Now(); ; pause(200 * time.Millisecond) {
		p.send("GET", "/executions", "", p.as(p.tokens["forged"]))
		if all := p.pages(); strings.Contains(all, "token.refused") || time.Since(began) > maxWait {
			return all
		}
	}
}

func (p *reader) pages() string {
	p.t.Helper()
	var all strings.Builder
	for page := 1; ; page++ {
		status, answer := p.send("GET", fmt.Sprintf("/audit?page=%d&page_size=100", page), "", p.as(p.tokens["good"]))
		if status != http.StatusOK {
			p.t.Fatalf("the audit log: got %d %s", status, answer)
		}
		all.WriteString(answer)
		if strings.Contains(answer, `"items":[]`) {
			return all.String()
		}
	}
}

// TestASettingThatCannotBeUsedIsRefusedWithoutItsSecret starts servers that cannot start.
func TestASettingThatCannotBeUsedIsRefusedWithoutItsSecret(t *testing.T) {
	onSQLite(t)
	c := canaries{}
	secret := c.plant("the secret")
	for _, args := range [][]string{
		{"--database-url", "postgres://ann:" + secret + "@127.0.0.1:1/renga"},
		{"--database-url", "postgres://ann@127.0.0.1:1/renga?password=" + secret},
		{"--database-url", "postgres://ann:" + secret + "@:not-a-port/renga"},
		{"--database-url", "mysql://ann:" + secret + "@localhost/renga"},
		{"--nats-url", "nats://ann:" + secret + "@127.0.0.1:1"},
		{"--nats-url", "nats://" + secret + "@127.0.0.1:1"},
		{"--nats-url", "http://ann:" + secret + "@127.0.0.1:1"},
		{"--auth", "jwt", "--jwt-keys", "http://127.0.0.1:1/jwks?key=" + secret},
		{"--auth", "jwt", "--jwt-keys", "http://keys.example.com/" + secret},
		{"--airflow-url", "http://ann:" + secret + "@127.0.0.1:1", "--airflow-dag", "d"},
		{"--airflow-url", "http://127.0.0.1:1/?token=" + secret, "--airflow-dag", "d"},
		{"--auth", "jwt", "--jwt-keys", "https://ann:" + secret + "@127.0.0.1:1/jwks"},
	} {
		var out, errs bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), signalTimeout)
		code := program.Run(ctx, slices.Concat([]string{
			"serve", "--log-level", "debug", "--data-dir",
			filepath.Join(t.TempDir(), "data"),
		}, args), &out, &errs)
		cancel()
		if code == 0 {
			t.Errorf("%q was taken", args)
		}
		c.none(t, fmt.Sprintf("%s %.20s", args[0], args[1]), out.String()+errs.String())
	}
}
