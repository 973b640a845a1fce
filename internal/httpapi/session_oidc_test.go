package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/session"
	"renga.dev/renga/internal/platform/session/oidctest"
)

// Signing in at an OpenID provider: GET /session/login and /session/callback, and tokens that are renewed.

// public is where people reach the server of these tests.
const public = "https://renga.example.com/flow"

// reception is a server with an OpenID provider.
type reception struct {
	*desk
	provider *oidctest.Provider
}

func newReception(t *testing.T) *reception {
	t.Helper()
	r := &reception{desk: &desk{}}
	r.provider = oidctest.New(t, r.now.Now)
	r.server = newServerWith(t, options{
		public: public,
		auth: gate.AuthConfig{
			Mode: gate.ModeJWT, Keys: r.provider.Keys, Issuer: r.provider.URL, Now: r.now.Now,
		},
		oidc: &session.OIDC{Issuer: r.provider.URL, Client: oidctest.Client, Secret: oidctest.Secret},
	})
	r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return r
}

// set are the cookies that an answer sets.
func (r reply) set() map[string]*http.Cookie {
	all := map[string]*http.Cookie{}
	for _, c := range (&http.Response{Header: r.header}).Cookies() {
		all[c.Name] = c
	}
	return all
}

// login begins a sign-in and goes to the provider. It gives the cookie of the sign-in, and where the provider sends the
// browser back to.
func (r *reception) login(back string) (cookie string, to *url.URL) {
	r.t.Helper()
	got := r.get("/session/login?return="+url.QueryEscape(back), "Sec-Fetch-Site", "same-origin").is(303)
	c := got.set()["__Host-renga-login"]
	if c == nil || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.MaxAge != 600 {
		r.t.Fatalf("the sign-in is %v", got.header["Set-Cookie"])
	}
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, got.header.Get("Location"), http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if to, err = url.Parse(resp.Header.Get("Location")); err != nil || !strings.HasPrefix(to.String(), public) {
		r.t.Fatalf("the provider sends the browser to %v: %v", to, err)
	}
	return c.Value, to
}

// back returns from the provider.
func (r *reception) back(cookie string, query url.Values) reply {
	r.t.Helper()
	header := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	if cookie != "" {
		header = append(header, "Cookie", "__Host-renga-login="+cookie)
	}
	return r.get("/session/callback?"+query.Encode(), header...)
}

// enter signs in.
func (r *reception) enter() (cookie string) {
	r.t.Helper()
	login, to := r.login("/flow/ui/")
	return r.back(login, to.Query()).is(200).set()["__Host-renga"].Value
}

func TestPeopleSignInAtTheProvider(t *testing.T) {
	r := newReception(t)
	r.get("/session").is(200).has("oidc", "true").has("signedIn", "false")
	login, to := r.login("/flow/ui/executions?status=ACTIVE&x=1#a")
	if to.Path != "/flow/session/callback" {
		t.Errorf("it returns to %s", to)
	}
	got := r.back(login, to.Query()).is(200)
	if body := string(got.body); !strings.Contains(body,
		`<meta http-equiv="refresh" content="0; url=/flow/ui/executions?status=ACTIVE&amp;x=1#a">`) ||
		strings.Contains(body, "<script") || !strings.Contains(got.header.Get("Content-Security-Policy"),
		"default-src 'none'") {
		t.Errorf("the page is %v %s", got.header, body)
	}
	cookies := got.set()
	if c := cookies["__Host-renga"]; c == nil || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode {
		t.Fatalf("the session is %v", got.header["Set-Cookie"])
	}
	if c := cookies["__Host-renga-login"]; c == nil || c.MaxAge != -1 {
		t.Errorf("the cookie of the sign-in stays: %v", got.header["Set-Cookie"])
	}
	cookie := cookies["__Host-renga"].Value
	r.get("/me", with(cookie)...).is(200).has("subject", oidctest.Subject).has("features.oidc", "true")
	r.get("/gui/strategies", with(cookie)...).is(200)
	at, err := time.Parse(time.RFC3339, r.get("/session", with(cookie)...).is(200).text("expiresAt"))
	if left := at.Sub(r.now.Now()); err != nil || left < 23*time.Hour {
		t.Errorf("a session that is renewed ends in %v: %v", left, err)
	}
	// The answer of the provider is good for once, and in this browser.
	r.back(login, to.Query()).is(403)
	r.do("DELETE", "/session", "", with(cookie)...).is(204)
	r.get("/me", with(cookie)...).is(401)
}

func TestASignInReturnsToThisHostAlone(t *testing.T) {
	r := newReception(t)
	for _, back := range []string{
		"https://evil.example/", "//evil.example/", `/\evil.example/`, `\\evil.example`, "evil",
		"javascript:alert(1)", "",
		"/ui/\"><script>", "/ui/'", "/ui/ x", "/ui/\r\nX: y", "/" + strings.Repeat("a", 2100),
		"/ui/\u00e9", "/\t/evil.example",
	} {
		if got := r.get("/session/login?return=" + url.QueryEscape(back)).is(422); len(got.set()) > 0 {
			t.Errorf("%q: a sign-in was begun", back)
		}
	}
	r.get("/session/login?next=/ui/").is(422)
	for _, back := range []string{"/", "/ui/", "/ui/a?b=//c", "/ui/%2F%2Fx"} {
		r.get("/session/login?return=" + url.QueryEscape(back)).is(303)
	}
}

func TestAnswersToOtherSignInsAreRefused(t *testing.T) {
	r := newReception(t)
	mine, to := r.login("/ui/")
	other, _ := r.login("/ui/")
	with := func(name, value string) url.Values {
		q := to.Query()
		q.Set(name, value)
		return q
	}
	codes := r.provider.Counted().Codes
	for name, try := range map[string]func() reply{
		"no cookie":            func() reply { return r.back("", to.Query()) },
		"of another sign-in":   func() reply { return r.back(other, to.Query()) },
		"a forged cookie":      func() reply { return r.back(mine[:20]+"AAAA"+mine[24:], to.Query()) },
		"another state":        func() reply { return r.back(mine, with("state", "x")) },
		"another issuer":       func() reply { return r.back(mine, with("iss", "https://evil.example")) },
		"no code":              func() reply { return r.back(mine, with("code", "")) },
		"the provider refuses": func() reply { return r.back(mine, with("error", "access_denied")) },
		"an error with tags":   func() reply { return r.back(mine, with("error", "<script>alert(1)</script>")) },
	} {
		got := try()
		if got.is(403); got.set()["__Host-renga"] != nil || strings.Contains(string(got.body), "<script") {
			t.Errorf("%s: %v %s", name, got.header, got.body)
		}
	}
	if got := r.provider.Counted().Codes; got != codes {
		t.Errorf("%d codes were sent to the provider", got-codes)
	}
	r.now.ahead.Add(int64(10 * time.Minute))
	r.back(mine, to.Query()).is(403)
}

func TestTokensOfTheProviderAreVerified(t *testing.T) {
	r := newReception(t)
	for name, f := range map[string]oidctest.Faults{
		"no ID token": {NoID: true}, "a nonce of another": {IDClaims: jwt.MapClaims{"nonce": "x"}},
		"no nonce":                       {IDClaims: jwt.MapClaims{"nonce": nil}},
		"an ID token for another client": {IDClaims: jwt.MapClaims{"aud": "other"}},
		"an ID token for two, unclear":   {IDClaims: jwt.MapClaims{"aud": []string{"other", oidctest.Client}}},
		"an ID token of another party":   {IDClaims: jwt.MapClaims{"azp": "other"}},
		"an ID token of another issuer":  {IDClaims: jwt.MapClaims{"iss": "https://evil.example"}},
		"an old ID token":                {IDClaims: jwt.MapClaims{"exp": 1}},
		"a token for others":             {Claims: jwt.MapClaims{"aud": "other"}},
		"a token without scopes":         {Claims: jwt.MapClaims{"scope": nil}},
		"an old token":                   {Claims: jwt.MapClaims{"exp": 1}},
	} {
		login, to := r.login("/ui/")
		r.provider.Fail(f)
		if got := r.back(login, to.Query()); got.status != 403 || got.set()["__Host-renga"] != nil {
			t.Errorf("%s: got %d %s", name, got.status, got.body)
		}
		r.provider.Fail(oidctest.Faults{})
	}
}

func TestAProviderThatFailsIsWaitedForInBounds(t *testing.T) {
	r := newReception(t)
	login, to := r.login("/ui/")
	for _, f := range []oidctest.Faults{{Down: true}, {Huge: true}} {
		r.provider.Fail(f)
		r.back(login, to.Query()).is(503)
	}
	fresh := newReception(t) // its metadata were never read
	for _, f := range []oidctest.Faults{
		{Down: true},
		{Huge: true},
		{Metadata: map[string]any{"issuer": "https://evil.example"}},
		{Metadata: map[string]any{"token_endpoint": "ftp://evil.example/"}},
		{Metadata: map[string]any{"authorization_endpoint": ""}},
	} {
		fresh.provider.Fail(f)
		fresh.get("/session/login").is(503)
	}
	fresh.provider.Fail(oidctest.Faults{})
	fresh.enter()
}

func TestASessionIsRenewedPastItsExpiries(t *testing.T) {
	r := newReception(t)
	cookie := r.enter()
	for n := 1; n <= 3; n++ {
		r.now.ahead.Add(int64(oidctest.Life - 30*time.Second)) // before the expiry
		r.get("/me", with(cookie)...).is(200)
		if got := r.provider.Counted(); got.Renewals != n || got.Misused != 0 {
			t.Fatalf("after %d lives: %+v", n, got)
		}
		r.get("/me", with(cookie)...).is(200)
	}
	for n := 4; n <= 6; n++ {
		r.now.ahead.Add(int64(2 * oidctest.Life)) // long after it
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { r.get("/me", with(cookie)...).is(200) })
		}
		all.Wait()
		if got := r.provider.Counted(); got.Renewals != n || got.Misused != 0 {
			t.Fatalf("after %d lives: %+v", n, got)
		}
	}
	r.now.ahead.Add(int64(24 * time.Hour))
	r.get("/me", with(cookie)...).is(401)
}

func TestASessionSurvivesAProviderThatIsAway(t *testing.T) {
	r := newReception(t)
	cookie := r.enter()
	r.provider.Fail(oidctest.Faults{Down: true})
	r.now.ahead.Add(int64(oidctest.Life - 30*time.Second))
	r.get("/me", with(cookie)...).is(200) // with the old token
	r.now.ahead.Add(int64(time.Minute))
	r.get("/me", with(cookie)...).is(503).has("error.code", "UNAVAILABLE")
	r.get("/session", with(cookie)...).is(503)
	r.provider.Fail(oidctest.Faults{})
	r.now.ahead.Add(int64(10 * time.Second))
	r.get("/me", with(cookie)...).is(200)
	r.provider.Fail(oidctest.Faults{Deny: "invalid_client"}) // the operator's mistake, which signs nobody out
	r.now.ahead.Add(int64(2 * oidctest.Life))
	r.get("/me", with(cookie)...).is(503)
	r.provider.Fail(oidctest.Faults{})
	r.get("/me", with(cookie)...).is(200)
}

func TestASessionEndsWhenTheProviderSaysSo(t *testing.T) {
	r := newReception(t)
	for name, f := range map[string]oidctest.Faults{
		"it does not renew":    {Deny: "invalid_grant"},
		"a token of another":   {Claims: jwt.MapClaims{"sub": "eve"}},
		"of another tenant":    {Claims: jwt.MapClaims{"tenant": "00000000-0000-4000-8000-0000000000bb"}},
		"for another audience": {Claims: jwt.MapClaims{"aud": "other"}},
	} {
		cookie := r.enter()
		r.provider.Fail(f)
		r.now.ahead.Add(int64(2 * oidctest.Life))
		if got := r.get("/me", with(cookie)...); got.status != 401 {
			t.Errorf("%s: got %d %s", name, got.status, got.body)
		}
		r.provider.Fail(oidctest.Faults{})
		r.get("/me", with(cookie)...).is(401)
	}
	r.provider.Fail(oidctest.Faults{Once: true})
	cookie := r.enter()
	r.get("/me", with(cookie)...).is(200)
	r.now.ahead.Add(int64(oidctest.Life))
	r.get("/me", with(cookie)...).is(401)
}
