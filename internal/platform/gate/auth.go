package gate

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

// Mode is how callers prove who they are.
type Mode string

// The modes. ModeNone serves one machine; see CheckListen.
const (
	ModeNone Mode = "none"
	ModeJWT  Mode = "jwt"
)

// defaultTenant is whose a request is that names none.
const defaultTenant = "00000000-0000-0000-0000-000000000000"

// AuthConfig says who is let in. Zero values are the documented defaults.
type AuthConfig struct {
	Mode     Mode   // default none
	Keys     string // file or URL of PEM public keys or a JWKS; with jwt
	Issuer   string // default noctria.auth
	Audience string // default renga; a surface may have its own
	// PublicURL is where callers reach this process; its origin is one of ours. Default: only
	// what the Host header names is.
	PublicURL string
	Sessions  Sessions         // of web pages, with jwt; default none: cookies are not looked at
	Now       func() time.Time // default time.Now
	Log       *slog.Logger     // default slog.Default()
}

// Auth settles who is calling.
type Auth struct {
	mode     Mode
	audience []string
	console  []string // audiences of tokens that sessions may have
	verifier *verifier
	origin   *http.CrossOriginProtection
	public   string   // the origin of the public URL; "": it is not known
	sessions Sessions // nil: there are none
	now      func() time.Time
}

// OpenAuth reads the keys that the mode needs.
func OpenAuth(cfg AuthConfig) (*Auth, error) {
	a := &Auth{
		mode: cfg.Mode, audience: []string{cmp.Or(cfg.Audience, defaultAudience)}, now: cfg.Now,
		origin: http.NewCrossOriginProtection(),
	}
	a.console = append([]string{AudienceRecheck, AudienceGUI}, a.audience...)
	if a.now == nil {
		a.now = time.Now
	}
	if cfg.PublicURL != "" {
		u, err := url.Parse(cfg.PublicURL)
		if err == nil {
			a.public = u.Scheme + "://" + u.Host
			err = a.origin.AddTrustedOrigin(a.public)
		}
		if err != nil {
			return nil, fmt.Errorf("gate: the public URL: %w", err)
		}
	}
	switch cfg.Mode {
	case ModeNone, "":
		a.mode = ModeNone
		return a, nil
	case ModeJWT:
	default:
		return nil, fmt.Errorf("gate: auth mode %q is not known: use none or jwt", cfg.Mode)
	}
	if cfg.Keys == "" {
		return nil, fmt.Errorf("gate: auth mode jwt needs a file or URL of keys")
	}
	keys, err := openKeys(cfg.Keys, a.now(), cmp.Or(cfg.Log, slog.Default()))
	if err != nil {
		return nil, err
	}
	a.verifier, a.sessions = newVerifier(keys, cmp.Or(cfg.Issuer, defaultIssuer), a.now), cfg.Sessions
	return a, nil
}

// Mode is the mode in force.
func (a *Auth) Mode() Mode { return a.mode }

// place refuses what a foreign web page can make a browser send, in both modes: a page must not
// borrow that everybody here is let in without a token. e is nil when no route takes the request.
func (a *Auth) place(r *http.Request, e *entry) error {
	if a.mode == ModeNone && !loopbackHost(r.Host) {
		return fault.New(fault.Forbidden, "HOST_NOT_ALLOWED",
			"without authentication only requests to localhost are served; the Host header names another host")
	}
	if a.foreign(r, e) {
		return fault.New(fault.Forbidden, "CROSS_ORIGIN", "requests of other web origins are refused")
	}
	return nil
}

// foreign reports whether a page of another origin sent a request, by Sec-Fetch-Site or, of
// browsers that do not send it, by Origin. Links to what only reads may be followed from
// anywhere, and what is public be shown anywhere unless it is for our own pages.
func (a *Auth) foreign(r *http.Request, e *entry) bool {
	if len(r.Header["Sec-Fetch-Site"]) == 0 && len(r.Header["Origin"]) == 0 {
		return false // no browser
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		if e != nil && e.Public && !e.Own || followed(r) {
			return false
		}
		read := *r
		read.Method = http.MethodPost // the check lets everything pass that only reads
		r = &read
	}
	return a.origin.Check(r) != nil
}

// followed reports whether a browser shows the answer as a page of its own. A frame also navigates,
// but belongs to the page that holds it: it could keep a stream open for as long as that page lives.
func followed(r *http.Request) bool {
	dest := r.Header.Values("Sec-Fetch-Dest")
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && (len(dest) == 0 || dest[0] == "document")
}

// admit settles the principal of a request and whether the route lets it in.
// challenge is the WWW-Authenticate header that goes with a refusal.
func (a *Auth) admit(r *http.Request, e *entry) (p Principal, challenge string, err error) {
	if a.mode == ModeNone {
		p, err = a.local(r)
		return p, "", err
	}
	if e.Public {
		return Principal{Tenant: defaultTenant}, "", nil
	}
	raw, session, err := a.shown(r)
	if err != nil {
		return p, `Bearer realm="renga"`, err
	}
	t, err := a.identify(raw, a.wanted(e, session))
	if err != nil {
		return p, `Bearer realm="renga", error="invalid_token"`, err
	}
	if !t.principal.Has(e.Scope) {
		return t.principal, fmt.Sprintf(`Bearer realm="renga", error="insufficient_scope", scope=%q`, e.Scope),
			fault.New(fault.Forbidden, "", "this needs the scope %s", e.Scope).With(map[string]string{"scope": e.Scope})
	}
	return t.principal, "", nil
}

// holder is who has the token of a request, in mode jwt. Without a good token nobody is known.
func (a *Auth) holder(r *http.Request, e *entry) (p Principal, known bool) {
	raw, session, err := a.shown(r)
	if err != nil {
		return p, false
	}
	t, err := a.identify(raw, a.wanted(e, session))
	if err != nil {
		return p, false
	}
	return t.principal, true
}

// wanted are the audiences of tokens that a route takes. A session is that of the console, one application for all
// surfaces: its token is for one of them, and good for each.
func (a *Auth) wanted(e *entry, session bool) []string {
	switch {
	case session:
		return a.console
	case e.Audiences != nil:
		return e.Audiences
	case e.Surface.Audiences != nil:
		return e.Surface.Audiences
	}
	return a.audience
}

// identify is what a token says that is meant for one of these audiences.
func (a *Auth) identify(raw string, wanted []string) (*token, error) {
	t, err := a.verifier.verify(raw, a.now())
	if err != nil {
		return nil, fault.New(fault.Unauthorized, "", "%s", err.Error())
	}
	if !t.hasAudience(wanted) {
		return nil, fault.New(fault.Unauthorized, "", "the token is meant for another audience")
	}
	if !t.hasScope {
		return nil, fault.New(fault.Unauthorized, "", "the token has no scope claim")
	}
	return t, nil
}

// local is the principal of mode none: the tenant it names, with every scope.
func (a *Auth) local(r *http.Request) (Principal, error) {
	p := Principal{Tenant: defaultTenant, All: true}
	if text, n := header(r, "X-Tenant-Id"); n > 0 {
		tenant, ok := parseTenant(text)
		if n > 1 || !ok {
			return p, fault.New(fault.Invalid, "", "the header X-Tenant-Id must be one UUID")
		}
		p.Tenant = tenant
	}
	user, n := header(r, "X-User-Id")
	if n > 1 || n == 1 && !canonical.Printable(user, maxSubject) {
		return p, fault.New(fault.Invalid, "",
			"the header X-User-Id must be there once, as 1..%d printable ASCII characters", maxSubject)
	}
	p.Subject = user
	return p, nil
}

// visitor is the principal of a request whose route has a pass. Where it is not
// known whose it is, it is the default tenant's.
func (a *Auth) visitor(r *http.Request, pass Pass) (Principal, error) {
	if a.mode == ModeNone {
		return a.local(r)
	}
	return Principal{Tenant: pass.Tenant(r)}, nil
}

// bearer is the token of a request.
func bearer(r *http.Request) (string, error) {
	value, n := header(r, "Authorization")
	scheme, token, _ := strings.Cut(value, " ")
	token = strings.TrimLeft(token, " ")
	switch {
	case n == 0:
		return "", fault.New(fault.Unauthorized, "", "a bearer token is required")
	case n > 1:
		return "", fault.New(fault.Unauthorized, "", "there is more than one Authorization header")
	case !strings.EqualFold(scheme, "Bearer") || token == "":
		return "", fault.New(fault.Unauthorized, "", "the Authorization header must be \"Bearer <token>\"")
	}
	return token, nil
}

// header is the first value of a header (in canonical spelling) and how many there are.
func header(r *http.Request, name string) (string, int) {
	values := r.Header[name]
	if len(values) == 0 {
		return "", 0
	}
	return values[0], len(values)
}

// parseTenant reads a UUID in its usual text and returns it in lower case.
func parseTenant(s string) (string, bool) {
	if len(s) != 36 {
		return "", false
	}
	id, err := uuid.Parse(s)
	if err != nil {
		return "", false
	}
	return id.String(), true
}
