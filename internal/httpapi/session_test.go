package httpapi_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/sqldb"
)

// Sessions of the web console: POST, GET and DELETE /session, and what their cookie opens.

// desk is a server with people who sign in at it.
type desk struct {
	*server
	issuer issuer
	now    clock // of the gate and of sessions
}

func newDesk(t *testing.T, o options) *desk {
	t.Helper()
	issuer, auth := newIssuer(t)
	d := &desk{issuer: issuer}
	o.auth.Mode, o.auth.Keys = auth.Mode, auth.Keys
	o.auth.Now = d.now.Now
	d.server = newServerWith(t, o)
	return d
}

// token makes a token of an hour that makes these claims.
func (d *desk) token(claims jwt.MapClaims) string {
	d.t.Helper()
	all := jwt.MapClaims{
		"iss": "noctria.auth", "aud": "renga", "sub": "mika", "exp": d.now.Now().Add(time.Hour).Unix(),
		"scope": "executions:read",
	}
	for name, value := range claims {
		all[name] = value
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodRS256, all).SignedString(d.issuer.key)
	if err != nil {
		d.t.Fatal(err)
	}
	return token
}

// signIn opens a session, as a page of the server does, and gives its cookie.
func (d *desk) signIn(claims jwt.MapClaims, header ...string) (cookie string) {
	d.t.Helper()
	header = append(header, "Sec-Fetch-Site", "same-origin")
	return d.cookie(d.do("POST", "/session", `{"token":"`+d.token(claims)+`"}`, header...).is(201))
}

// cookie is the session cookie that an answer sets.
func (d *desk) cookie(r reply) string {
	d.t.Helper()
	cookies := (&http.Response{Header: r.header}).Cookies()
	if len(cookies) != 1 || cookies[0].Name != "__Host-renga" || !cookies[0].HttpOnly || !cookies[0].Secure ||
		cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Path != "/" || cookies[0].Domain != "" {
		d.t.Fatalf("the answer sets %v", r.header["Set-Cookie"])
	}
	return cookies[0].Value
}

// with is the header of a page of the server that shows a cookie.
func with(cookie string, header ...string) []string {
	return append([]string{"Cookie", "__Host-renga=" + cookie, "Sec-Fetch-Site", "same-origin"}, header...)
}

func TestASessionActsWithItsToken(t *testing.T) {
	d := newDesk(t, options{})
	tenant := "00000000-0000-4000-8000-0000000000aa"
	cookie := d.signIn(jwt.MapClaims{"tenant": tenant, "sub": "ada", "scope": "executions:read pdca:read"})
	d.get("/me", with(cookie)...).is(200).has("tenantId", tenant).has("subject", "ada")
	d.get("/executions", with(cookie)...).is(200)
	d.get("/pdca/recheck/01J8TPZ7YJ1E1X4C5N9Z000000", with(cookie)...).is(404)
	d.get("/gui/strategies", with(cookie)...).is(200)
	d.get("/audit", with(cookie)...).is(403).has("error.details.scope", "audit:read")
	r := d.get("/session", with(cookie)...).is(200).has("signedIn", "true")
	r.has("tenantId", tenant).has("subject", "ada")
	at, err := time.Parse(time.RFC3339, r.text("expiresAt"))
	if left := at.Sub(d.now.Now()); err != nil || left <= 58*time.Minute || left > time.Hour {
		t.Errorf("it ends in %v: %v", left, err)
	}
	d.get("/session").is(200).has("signedIn", "false").has("auth", "jwt")
	// The header goes before the cookie.
	other := "Bearer " + d.token(jwt.MapClaims{"sub": "bob"})
	d.get("/me", with(cookie, "Authorization", other)...).is(200).has("subject", "bob")
	d.get("/me", with(cookie, "Authorization", "Bearer nonsense")...).is(401)
	d.get("/me", with(cookie, "Authorization", "Basic bWlrYQ==")...).is(401)
}

func TestATokenForAnySurfaceOpensASessionForAll(t *testing.T) {
	d := newDesk(t, options{})
	for _, audience := range []any{"renga", "pdca", "pdca.gui", []string{"other", "pdca"}} {
		cookie := d.signIn(jwt.MapClaims{"aud": audience, "scope": "executions:read pdca:read"})
		d.get("/executions", with(cookie)...).is(200)
		d.get("/gui/strategies", with(cookie)...).is(200)
		d.get("/pdca/recheck/01J8TPZ7YJ1E1X4C5N9Z000000", with(cookie)...).is(404)
	}
	for name, claims := range map[string]jwt.MapClaims{
		"another audience": {"aud": "other"}, "no scope claim": {"scope": nil}, "another issuer": {"iss": "other"},
		"expired": {"exp": d.now.Now().Add(-time.Hour).Unix()}, "no subject": {"sub": ""},
		"expired, within the leeway": {"exp": d.now.Now().Add(-time.Second).Unix()},
	} {
		r := d.do("POST", "/session", `{"token":"`+d.token(claims)+`"}`, "Sec-Fetch-Site", "same-origin").is(401)
		if r.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: the answer sets a cookie", name)
		}
	}
	for _, body := range []string{`{"token":"x.y.z"}`, `{"token":"` + strings.Repeat("a", 9<<10) + `"}`} {
		d.do("POST", "/session", body).is(401)
	}
	for _, body := range []string{``, `{}`, `{"token":""}`, `{"token":1}`, `{"token":"a","more":1}`} {
		d.do("POST", "/session", body).is(422)
	}
	d.do("POST", "/session", `{"token":"`+strings.Repeat("a", 20<<10)+`"}`).is(413)
	d.do("POST", "/session", `{"token":"a"}`, "Content-Type", "text/plain").is(415)
}

func TestACookieCountsForPagesOfTheServerAlone(t *testing.T) {
	d := newDesk(t, options{public: "https://renga.example.com"})
	cookie := "__Host-renga=" + d.signIn(nil)
	host := strings.TrimPrefix(d.url, "http://")
	for _, tc := range []struct {
		name   string
		header []string
		want   int
	}{
		{"same origin", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"without Sec-Fetch-Site", nil, 401},
		{"typed into the address bar", []string{"Sec-Fetch-Site", "none"}, 401},
		{"another origin", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a sister site", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{
			"a link from elsewhere",
			[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
			401,
		},
		{"its own Origin", []string{"Origin", d.url}, 200},
		{"the Origin of the public URL", []string{"Origin", "https://renga.example.com"}, 200},
		{"its own host at another port", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"a foreign Origin", []string{"Origin", "https://evil.example"}, 403},
		{"the Origin null", []string{"Origin", "null"}, 403},
		{"a foreign site with its own Origin", []string{"Sec-Fetch-Site", "cross-site", "Origin", d.url}, 403},
	} {
		r := d.get("/me", append(tc.header, "Cookie", cookie)...)
		if r.status != tc.want {
			t.Errorf("%s: got %d %s, want %d", tc.name, r.status, r.body, tc.want)
		}
		signedIn := d.get("/session", append(tc.header, "Cookie", cookie)...).is(200).text("signedIn")
		if signedIn != "" && signedIn != "true" && signedIn != "false" || (signedIn == "true") != (tc.want == 200) {
			t.Errorf("%s: signedIn is %q", tc.name, signedIn)
		}
	}
	// Two sites in one header are none that a browser sends.
	req := d.request(t.Context(), "GET", "/me", "", "Cookie", cookie)
	req.Header["Sec-Fetch-Site"] = []string{"same-origin", "cross-site"}
	resp, err := d.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 401 {
		t.Errorf("two values of Sec-Fetch-Site: got %d", resp.StatusCode)
	}
	if !strings.HasPrefix(host, "127.0.0.1:") {
		t.Errorf("the test is about loopback, and the host is %s", host)
	}
}

func TestForgedAndForeignCookiesAreRefused(t *testing.T) {
	d, other := newDesk(t, options{}), newDesk(t, options{})
	a := d.signIn(jwt.MapClaims{"tenant": "00000000-0000-4000-8000-0000000000aa"})
	b := d.signIn(jwt.MapClaims{"tenant": "00000000-0000-4000-8000-0000000000bb"})
	flipped := []byte(a)
	flipped[20] ^= 1
	for name, cookie := range map[string]string{
		"of another server": other.signIn(nil), "with a bit turned": string(flipped), "cut": a[:len(a)-4],
		"two halves": a[:len(a)/2] + b[len(b)/2:], "a token": d.token(nil), "nonsense": "x",
	} {
		d.get("/me", with(cookie)...).is(401)
		d.get("/session", with(cookie)...).is(200).has("signedIn", "false")
		d.do("DELETE", "/session", "", with(cookie)...).is(204)
		_ = name
	}
	d.get("/me", "Cookie", "__Host-renga="+a+"; __Host-renga="+b, "Sec-Fetch-Site", "same-origin").is(401)
	d.get("/me", "Cookie", "renga="+a, "Sec-Fetch-Site", "same-origin").is(401)
	// Whoever can write to the database gives nobody the token of another session: rows are swapped.
	d.write(`UPDATE session_open SET token = (SELECT token FROM session_open s
		WHERE s.tenant_id = '00000000-0000-4000-8000-0000000000bb')
		WHERE tenant_id = '00000000-0000-4000-8000-0000000000aa'`)
	d.get("/me", with(a)...).is(401)
	d.get("/me", with(b)...).is(200).has("tenantId", "00000000-0000-4000-8000-0000000000bb")
}

// write changes the database.
func (d *desk) write(query string) {
	d.t.Helper()
	err := d.db.Write(d.t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, query)
		if err == nil && n != 1 {
			d.t.Errorf("%d rows: %s", n, query)
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

func TestASessionEndsWithSignOutAndWithItsToken(t *testing.T) {
	d := newDesk(t, options{})
	cookie := d.signIn(nil)
	d.get("/me", with(cookie)...).is(200)
	d.do("DELETE", "/session", "", "Cookie", "__Host-renga="+cookie).is(204) // by no page of the server
	d.do("DELETE", "/session", "", with(cookie, "Sec-Fetch-Site", "cross-site")...).is(403)
	d.get("/me", with(cookie)...).is(200)
	r := d.do("DELETE", "/session", "", with(cookie)...).is(204)
	if got := r.header.Get("Set-Cookie"); !strings.HasPrefix(got, "__Host-renga=; Path=/; Max-Age=0;") {
		t.Errorf("the cookie stays: %s", got)
	}
	d.get("/me", with(cookie)...).is(401)
	d.do("DELETE", "/session", "", with(cookie)...).is(204)

	cookie = d.signIn(nil)
	d.get("/me", with(cookie)...).is(200)
	d.now.ahead.Add(int64(time.Hour))
	d.get("/me", with(cookie)...).is(401)
	d.get("/session", with(cookie)...).is(200).has("signedIn", "false")

	cookie = d.signIn(jwt.MapClaims{"exp": d.now.Now().Add(1000 * time.Hour).Unix()})
	d.now.ahead.Add(int64(24*time.Hour - time.Minute))
	d.get("/me", with(cookie)...).is(200)
	d.now.ahead.Add(int64(time.Minute))
	d.get("/me", with(cookie)...).is(401)
	// Who signs in again in one browser has one session.
	first := d.signIn(nil)
	second := d.signIn(nil, "Cookie", "__Host-renga="+first)
	d.get("/me", with(first)...).is(401)
	d.get("/me", with(second)...).is(200)
}

func TestThereIsNoSessionOverPlainHTTPBeyondThisMachine(t *testing.T) {
	d := newDesk(t, options{})
	public := newDesk(t, options{public: "https://renga.example.com"})
	for _, tc := range []struct {
		desk         *desk
		host, origin string
		want         int
	}{
		{d, "localhost:8080", "http://localhost:8080", 201},
		{d, "[::1]:8080", "http://[::1]:8080", 201},
		{d, "renga.example.com", "https://renga.example.com", 201}, // TLS ends in front of the server
		{d, "10.0.0.5:8080", "http://10.0.0.5:8080", 403},
		{d, "renga.example.com", "http://renga.example.com", 403},
		{d, "renga.example.com", "", 403},
		{public, "renga.example.com", "", 201},
		{public, "renga.example.com", "http://renga.example.com", 403},
		{public, "10.0.0.5:8080", "", 403},
	} {
		req := tc.desk.request(t.Context(), "POST", "/session", `{"token":"`+tc.desk.token(nil)+`"}`)
		req.Host = tc.host
		if tc.origin != "" {
			req.Header.Set("Origin", tc.origin)
		}
		resp, err := tc.desk.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		_, _ = body.ReadFrom(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != tc.want || tc.want == 403 && (!strings.Contains(body.String(), "HTTPS_REQUIRED") ||
			resp.Header.Get("Set-Cookie") != "") {
			t.Errorf("%+v: got %d %s", tc, resp.StatusCode, body.String())
		}
	}
}

func TestASessionStandsForTheTokenOfWorkflowEvents(t *testing.T) {
	owner := "00000000-0000-4000-8000-0000000000aa"
	d := newDesk(t, options{token: "s3cret", owner: owner})
	as := func(tenant, scope string) []string {
		return with(d.signIn(jwt.MapClaims{"tenant": tenant, "scope": scope}))
	}
	summary, templates := "/api/workflow-events/summary?ym=2026-01", "/api/workflow-templates"
	reader, writer := as(owner, "workflow:read"), as(owner, "workflow:write")
	d.get(summary, reader...).is(200)
	d.get(templates, reader...).is(200)
	d.get(summary, writer...).is(401)
	template := `{"name":"A","steps":[{"action":"preflight","trigger_kind":"external_event"}]}`
	d.do("PUT", templates+"/a", template, reader...).is(401)
	d.do("PUT", templates+"/a", template, writer...).is(201)
	// Of another tenant, it has nothing to do with these events.
	d.get(summary, as("00000000-0000-4000-8000-0000000000bb", "workflow:read")...).is(401)
	d.get(summary, as(owner, "executions:read")...).is(401)
	// What was shown beside it counts alone.
	d.get(summary, append(reader, "X-Workflow-Event-Token", "wrong")...).is(401)
	d.get(summary, append(reader, "Authorization", "Bearer wrong")...).is(401)
	d.get(summary+"&token=wrong", reader...).is(401)
	d.get(summary, reader[0], reader[1]).is(401)
	d.get(summary, append(reader, "X-Workflow-Event-Token", "s3cret")...).is(200)
}

func TestWithoutATokenOfWorkflowEventsASessionNeedsTheScope(t *testing.T) {
	d := newDesk(t, options{})
	d.get("/api/workflow-templates", with(d.signIn(jwt.MapClaims{"scope": "workflow:read"}))...).is(200)
	d.get("/api/workflow-templates", with(d.signIn(jwt.MapClaims{"scope": "executions:read"}))...).is(403)
}

func TestSessionsAreAuditedAndTheirSecretsAreNowhere(t *testing.T) {
	var log logbook
	d := newDesk(t, options{log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	token := d.token(jwt.MapClaims{"scope": "audit:read executions:read"})
	r := d.do("POST", "/session", `{"token":"`+token+`"}`, "Sec-Fetch-Site", "same-origin").is(201)
	cookie := d.cookie(r)
	opened := d.get("/audit?action=session.opened", with(cookie)...).is(200).has("total", "1").
		has("items.0.actor.id", "mika")
	for range 2 {
		d.do("DELETE", "/session", "", with(cookie)...).is(204)
	}
	d.get("/me", with(cookie)...).is(401)
	last := d.signIn(jwt.MapClaims{"scope": "audit:read"})
	closed := d.get("/audit?action=session.closed", with(last)...).is(200).has("total", "1")
	if opened.text("items.0.subject") != closed.text("items.0.subject") {
		t.Errorf("%s was opened and %s closed", opened.body, closed.body)
	}
	log.mu.Lock()
	lines := log.String()
	log.mu.Unlock()
	signature := token[strings.LastIndex(token, ".")+1:]
	for where, text := range map[string]string{
		"the log": lines, "the audit log": string(opened.body) + string(closed.body),
		"the answer": string(r.body) + string(d.get("/session", with(last)...).body), "the database": d.dump(),
	} {
		for what, secret := range map[string]string{"token": signature, "cookie": cookie} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s is in %s", what, where)
			}
		}
	}
	if !strings.Contains(lines, "session refused") {
		t.Errorf("a refused cookie is not in the log")
	}
}

// dump is the table of sessions as text.
func (d *desk) dump() string {
	d.t.Helper()
	var all strings.Builder
	err := d.db.Read(d.t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT tenant_id, id, subject, token, refresh FROM session_open") {
			var columns [5]string
			if err == nil {
				err = row.Scan(&columns[0], &columns[1], &columns[2], &columns[3], &columns[4])
			}
			if err != nil {
				return err
			}
			all.WriteString(strings.Join(columns[:], " ") + "\n")
		}
		return nil
	})
	if err != nil || all.Len() == 0 {
		d.t.Fatalf("the table of sessions: %q, %v", all.String(), err)
	}
	return all.String()
}

func TestSignInsAreLimitedPerAddress(t *testing.T) {
	d := newDesk(t, options{rates: map[string]gate.Rate{"session.open": {Limit: 3, Per: time.Minute}}})
	for range 3 {
		d.do("POST", "/session", `{"token":"x"}`).is(401)
	}
	d.do("POST", "/session", `{"token":"`+d.token(nil)+`"}`).is(429)
	d.get("/session").is(200)
	d.do("DELETE", "/session", "").is(204)
}

func TestWithoutAuthenticationNobodySignsIn(t *testing.T) {
	s := newServer(t)
	s.do("POST", "/session", `{"token":"x"}`).is(409).has("error.code", "NO_SESSIONS")
	s.get("/session", with("x")...).is(200).has("auth", "none").has("signedIn", "false")
	s.get("/executions", with("x")...).is(200)
}
