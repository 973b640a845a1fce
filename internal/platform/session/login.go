package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"html"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// A sign-in that is under way.
const (
	loginCookie = "__Host-renga-login"
	loginWithin = 10 * time.Minute // that somebody has at the provider
	maxReturn   = 2048             // bytes of the path that a sign-in returns to
)

// login is a sign-in that is under way. The browser has it, sealed.
type login struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"` // of PKCE
	Return   string    `json:"return"`
	Until    time.Time `json:"until"`
}

func newLogin(back string, now time.Time) *login {
	random := func() string {
		var b [32]byte
		_, _ = rand.Read(b[:]) // it never fails
		return base64.RawURLEncoding.EncodeToString(b[:])
	}
	return &login{State: random(), Nonce: random(), Verifier: random(), Return: back, Until: now.Add(loginWithin)}
}

// challenge is what the provider compares the verifier with (RFC 7636).
func (l *login) challenge() string {
	digest := sha256.Sum256([]byte(l.Verifier))
	return base64.RawURLEncoding.EncodeToString(digest[:])
}

var errNoProvider = fault.New(fault.NotFound, "", "this server has no OpenID provider: sign in with a token")

// answerLogin answers GET /session/login.
func (s *Sessions) answerLogin(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "return")
	back, given := q.Text("return")
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	if s.provider == nil {
		return gate.Reply{}, errNoProvider
	}
	switch {
	case !given:
		back = s.home
	case !localPath(back):
		return gate.Reply{}, rest.Invalid("return", "return must be a path of this server, such as /ui/executions")
	}
	l := newLogin(back, s.now())
	to, err := s.provider.start(ctx, l)
	if err != nil {
		return s.unreachable(err), nil
	}
	sealer, err := s.seals.For(ctx, "session.login")
	if err != nil {
		return gate.Reply{}, err
	}
	plain, err := json.Marshal(l)
	if err != nil {
		return gate.Reply{}, fault.Wrap("session.login", err)
	}
	return gate.Reply{Status: http.StatusSeeOther, Header: http.Header{
		"Location": {to}, "Set-Cookie": {setLogin(sealer.Text(plain), int(loginWithin/time.Second))},
	}}, nil
}

// setLogin is the header that sets the cookie of a sign-in. It is Lax: the provider sends people back from its own
// site.
func setLogin(value string, age int) string {
	return (&http.Cookie{
		Name: loginCookie, Value: value, Path: "/", MaxAge: age, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
	}).String()
}

// localPath reports whether a text is a path of this host, however a browser reads it.
func localPath(text string) bool {
	odd := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"'<>\`, r) }
	if len(text) > maxReturn || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") ||
		strings.ContainsFunc(text, odd) {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "" && u.Host == "" && u.User == nil
}

// Why somebody who returns from the provider is not signed in.
var (
	errNoLogin = fault.New(fault.Unauthorized, "", "this browser began no sign-in, or more than ten minutes ago, or "+
		"another one meanwhile")
	errOtherState  = fault.New(fault.Unauthorized, "", "the answer is that to another sign-in")
	errOtherIssuer = fault.New(fault.Unauthorized, "", "the answer is that of another OpenID provider")
	errNoCode      = fault.New(fault.Unauthorized, "", "the answer holds no code")
	errNoID        = fault.New(fault.Unauthorized, "",
		"the OpenID provider gave no ID token; --oidc-scope needs openid")
)

// answerCallback answers GET /session/callback: people see what it says.
func (s *Sessions) answerCallback(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	if s.provider == nil {
		return gate.Reply{}, errNoProvider
	}
	l, err := s.began(ctx, c.Request)
	var cookie string
	var ends time.Time
	if err == nil {
		cookie, ends, err = s.finish(ctx, c, l)
	}
	switch {
	case fault.KindOf(err) == fault.Unauthorized:
		c.Refuse(err)
		return s.turnedAway(err), nil
	case err != nil && fault.KindOf(err) == fault.Internal && !isStored(err):
		return s.unreachable(err), nil
	case err != nil:
		return gate.Reply{}, err
	}
	to := html.EscapeString(l.Return)
	r := page(http.StatusOK, "Signed in", `<p>You are signed in. <a href="`+to+`">Go on</a>.</p>`,
		`<meta http-equiv="refresh" content="0; url=`+to+`">`)
	r.Header["Set-Cookie"] = []string{s.setCookie(cookie, ends), setLogin("", -1)}
	return r, nil
}

// began is the sign-in that the browser began.
func (s *Sessions) began(ctx context.Context, r *http.Request) (*login, error) {
	cookies := r.CookiesNamed(loginCookie)
	if len(cookies) != 1 {
		return nil, errNoLogin
	}
	sealer, err := s.seals.For(ctx, "session.login")
	if err != nil {
		return nil, &stored{err}
	}
	var l login
	plain, ok := sealer.OpenText(cookies[0].Value)
	if !ok || json.Unmarshal(plain, &l) != nil || !s.now().Before(l.Until) {
		return nil, errNoLogin
	}
	return &l, nil
}

// finish opens a session with what the provider answers to a sign-in.
func (s *Sessions) finish(ctx context.Context, c *gate.Call, l *login) (cookie string, ends time.Time, err error) {
	q := c.Query()
	issuer, code := q.Get("iss"), q.Get("code")
	switch {
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(l.State)) != 1:
		return "", ends, errOtherState
	case issuer != "" && issuer != s.provider.cfg.Issuer: // RFC 9207
		return "", ends, errOtherIssuer
	case q.Get("error") != "":
		return "", ends, refusal(errorCode(q.Get("error")))
	case code == "":
		return "", ends, errNoCode
	}
	t, err := s.provider.exchange(ctx, code, l.Verifier)
	var no denied
	switch {
	case errors.As(err, &no):
		return "", ends, refusal(no)
	case err != nil:
		return "", ends, err
	case t.ID == "":
		return "", ends, errNoID
	}
	if err := s.auth.VerifyID(t.ID, s.provider.cfg.Issuer, s.provider.cfg.Client, l.Nonce); err != nil {
		return "", ends, err
	}
	said, err := s.auth.Verify(t.Access)
	if err == nil {
		cookie, ends, err = s.Open(ctx, callerOf(c), t, said, "")
	}
	if err != nil && fault.KindOf(err) != fault.Unauthorized {
		err = &stored{err}
	}
	return cookie, ends, err
}

// refusal is a refusal of the provider for people.
func refusal(d denied) error { return fault.New(fault.Unauthorized, "", "%s", d.Error()) }

// stored is an error that is not the provider's.
type stored struct{ error }

func (e *stored) Unwrap() error { return e.error }

func isStored(err error) bool {
	var own *stored
	return errors.As(err, &own)
}

// turnedAway is the page of whoever is not signed in.
func (s *Sessions) turnedAway(err error) gate.Reply {
	why := "the sign-in was refused"
	if failure, ok := fault.As(err); ok {
		why = failure.Message
	}
	r := page(http.StatusForbidden, "Not signed in", "<p>You are not signed in: "+html.EscapeString(why)+".</p>"+
		s.wayBack(), "")
	r.Header["Set-Cookie"] = []string{setLogin("", -1)}
	return r
}

// unreachable is the page of whoever cannot sign in since the provider fails.
func (s *Sessions) unreachable(err error) gate.Reply {
	s.log.Warn("the OpenID provider cannot be used", "error", err)
	r := page(http.StatusServiceUnavailable, "Not signed in",
		"<p>The OpenID provider cannot be reached; try again in a moment.</p>"+s.wayBack(), "")
	r.Header["Retry-After"] = []string{"5"}
	return r
}

func (s *Sessions) wayBack() string {
	return `<p><a href="` + html.EscapeString(s.home) + `">Back to the console</a></p>`
}

// pagePolicy lets a page do nothing but be read.
const pagePolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page is a page without scripts.
func page(status int, title, body, head string) gate.Reply {
	return gate.Reply{
		Status: status, Type: "text/html; charset=utf-8",
		Raw: []byte(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>` + title + "</title>" + head +
			"</head><body><h1>" + title + "</h1>" + body + "</body></html>"),
		Header: http.Header{"Content-Security-Policy": {pagePolicy}, "Referrer-Policy": {"no-referrer"}},
	}
}
