package gate

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
)

// SessionCookie names the session of a web page. Browsers take a cookie of such a name only from its own host, over
// https or from this machine.
const SessionCookie = "__Host-renga"

// SessionRefused is the action of a cookie or a sign-in that was refused, in the audit log.
const SessionRefused = "session.refused"

// Sessions keep the tokens of web pages, which show a cookie instead.
type Sessions interface {
	// Token is the token of the session that a cookie names. A cookie of no session is fault.Unauthorized.
	Token(ctx context.Context, cookie string) (string, error)
}

// shown is the token that a request shows: the header goes before the cookie, also a header that is no good.
func (a *Auth) shown(r *http.Request) (raw string, session bool, err error) {
	if cookie := a.cookie(r); cookie != "" {
		raw, err = a.sessions.Token(r.Context(), cookie)
		return raw, true, err
	}
	raw, err = bearer(r)
	return raw, false, err
}

// cookie is the session cookie of a request without an Authorization header; "": there is none that counts.
func (a *Auth) cookie(r *http.Request) string {
	if len(r.Header["Authorization"]) > 0 {
		return ""
	}
	return a.Cookie(r)
}

// Cookie is the session cookie of a request, "" when there is none that counts. A browser sends it along
// whoever makes it send a request, so it counts only when the browser says that a page of this origin did, for reads
// as well.
func (a *Auth) Cookie(r *http.Request) string {
	if a.sessions == nil || !a.own(r) {
		return ""
	}
	cookies := r.CookiesNamed(SessionCookie)
	if len(cookies) != 1 { // a browser has one of this name
		return ""
	}
	return cookies[0].Value
}

// own reports whether a browser says that a page of this origin sent a request.
func (a *Auth) own(r *http.Request) bool {
	if site := r.Header["Sec-Fetch-Site"]; len(site) > 0 {
		return len(site) == 1 && site[0] == "same-origin"
	}
	origin, n := header(r, "Origin")
	return n == 1 && (origin == a.public || origin == "https://"+r.Host ||
		origin == "http://"+r.Host && loopbackHost(r.Host))
}

// stands reports whether a session stands for what a route's pass asks for: nothing else was shown, and the session
// has the scope of the route and is of the tenant that the pass lets callers in to.
func (a *Auth) stands(r *http.Request, e *entry, c *Call) (p Principal, ok bool) {
	if c.Shown != "" || a.cookie(r) == "" {
		return p, false
	}
	p, known := a.holder(r, e)
	return p, known && e.Scope != "" && p.Has(e.Scope) && p.Tenant == e.Pass.Tenant(r)
}

// Confidential refuses a request to sign in over plain http, where others could read the cookie on the way. Requests
// to this machine itself have no way on which that could happen.
func (a *Auth) Confidential(r *http.Request) error {
	origin, n := header(r, "Origin")
	at, err := url.Parse(a.public)
	switch {
	case n == 1 && origin != "null":
	case r.TLS != nil:
		origin = "https://" + r.Host
	case err == nil && at.Host != "" && strings.EqualFold(at.Host, r.Host):
		origin = a.public
	default:
		origin = "http://" + r.Host
	}
	if strings.HasPrefix(origin, "https://") || strings.HasPrefix(origin, "http://") && loopbackHost(r.Host) {
		return nil
	}
	return fault.New(fault.Forbidden, "HTTPS_REQUIRED", "there are no sessions over plain http, where others on the "+
		"way could read the cookie: put https in front of the server and name its URL with --public-url, or send the "+
		"token with each request")
}

// Verified is what a token says that may open a session.
type Verified struct {
	Principal Principal
	Expires   time.Time
}

// Verify is what a token says. It is checked as on every request, and is meant for one of our surfaces.
func (a *Auth) Verify(raw string) (Verified, error) {
	if a.mode != ModeJWT {
		return Verified{}, errNoTokens
	}
	t, err := a.identify(raw, a.console)
	if err != nil {
		return Verified{}, err
	}
	return Verified{t.principal, t.expires}, nil
}

// errNoTokens is the end of whoever wants to sign in where nobody needs to.
var errNoTokens = fault.New(fault.Conflict, "NO_SESSIONS",
	"this server runs without authentication: everybody is let in, and nobody signs in")

// Refuse notes that somebody was refused who wanted to sign in, in the log and the audit log, a few of each address.
func (c *Call) Refuse(err error) { c.gate.tellRefused(c, SessionRefused, err) }

// Address is where the request came from: of whoever connected, which may be a proxy.
func (c *Call) Address() string { return address(c.Request) }

// VerifyID checks an ID token: signed with the keys of all tokens by an OpenID provider, for its client, in answer to a
// nonce (OpenID Connect Core 1.0, section 3.1.3.7).
func (a *Auth) VerifyID(raw, issuer, client, nonce string) error {
	if a.mode != ModeJWT {
		return errNoTokens
	}
	t, err := newVerifier(a.verifier.keys, issuer, a.now).verify(raw, a.now())
	if err != nil {
		return fault.New(fault.Unauthorized, "", "the ID token: %s", err.Error())
	}
	var more struct {
		Nonce string `json:"nonce"`
		Party string `json:"azp"`
	}
	parts := strings.Split(raw, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(payload, &more)
	}
	switch {
	case err != nil:
		return fault.New(fault.Unauthorized, "", "the ID token is malformed")
	case !t.hasAudience([]string{client}) || more.Party != "" && more.Party != client ||
		len(t.audiences) > 1 && more.Party == "":
		return fault.New(fault.Unauthorized, "", "the ID token is meant for another client")
	case subtle.ConstantTimeCompare([]byte(more.Nonce), []byte(nonce)) != 1:
		return fault.New(fault.Unauthorized, "", "the ID token answers another sign-in")
	}
	return nil
}
