package test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"renga.dev/renga/internal/platform/session/oidctest"
)

// oidcSettings are those of an OpenID provider, with the secret of its client.
func oidcSettings(t *testing.T, c canaries) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "client.txt")
	if err := os.WriteFile(file, []byte(c.plant("the secret of the client")), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{
		"RENGA_OIDC_ISSUER=" + oidctest.New(t, time.Now).URL, "RENGA_OIDC_CLIENT_ID=" + oidctest.Client,
		"RENGA_OIDC_CLIENT_SECRET_FILE=" + file, "RENGA_PUBLIC_URL=http://127.0.0.1:1",
	}
}

// session signs in and out, rightly and wrongly. It gives the cookies, which are in the headers of answers alone.
func (p *reader) session(keys *keyServer) canaries {
	p.t.Helper()
	cookies := canaries{}
	page := func(cookie string) http.Header {
		return http.Header{"Sec-Fetch-Site": {"same-origin"}, "Cookie": {cookie}}
	}
	token := keys.token(p.t, jwt.MapClaims{
		"scope": "executions:read", "jti": p.canaries.plant("a claim of the token of a session"),
	})
	p.canaries["the signature of the token of a session"] = token[strings.LastIndex(token, ".")+1:]
	for _, end := range []bool{true, false} {
		status, answer := p.send("POST", "/session", `{"token":"`+token+`"}`, page(""))
		if status != http.StatusCreated {
			p.t.Fatalf("signing in: got %d %s", status, answer)
		}
		all := p.answers.String()
		cookie := all[strings.LastIndex(all, "__Host-renga="):]
		cookie, _, _ = strings.Cut(cookie, ";")
		_, cookies["the cookie of a session"], _ = strings.Cut(cookie, "=")
		if status, answer := p.send("GET", "/executions", "", page(cookie)); status != http.StatusOK {
			p.t.Fatalf("a session: got %d %s", status, answer)
		}
		p.send("GET", "/session", "", page(cookie))
		if !end {
			break // its row stays in the database
		}
		p.send("DELETE", "/session", "", page(cookie))
		p.send("GET", "/executions", "", page(cookie))
		cookies["the cookie of an ended session"] = cookies["the cookie of a session"]
	}
	p.send("POST", "/session", `{"token":"`+p.canaries.plant("a pasted text that is no token")+`"}`, page(""))
	p.send("POST", "/session", `{"token":"`+p.canaries.plant("a pasted text that is cut off"), page(""))
	p.send("GET", "/executions", "", page("__Host-renga="+p.canaries.plant("a forged cookie")))
	p.callback(page)
	return cookies
}

// callback returns from an OpenID provider with codes that it does not know.
func (p *reader) callback(page func(string) http.Header) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+"/session/login", http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = resp.Body.Close()
	at, err := resp.Location()
	if err != nil || len(resp.Cookies()) != 1 {
		p.t.Fatalf("a sign-in: got %d %v, %v", resp.StatusCode, resp.Header, err)
	}
	login := resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value
	code := p.canaries.plant("a code of the provider")
	for _, query := range []url.Values{
		{"state": {at.Query().Get("state")}, "code": {code}},
		{"state": {p.canaries.plant("a state that was made up")}, "code": {code}},
		{"state": {at.Query().Get("state")}, "error": {p.canaries.plant("an error that was made up")}},
	} {
		if status, answer := p.send("GET", "/session/callback?"+query.Encode(), "", page(login)); status !=
			http.StatusForbidden {
			p.t.Errorf("a callback: got %d %s", status, answer)
		}
	}
}
