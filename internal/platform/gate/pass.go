package gate

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"renga.dev/renga/internal/platform/fault"
)

// Pass lets callers in by something else than the gate's own tokens, in both
// modes. Scopes have no meaning for it.
type Pass interface {
	// Take gives what the request shows, "" when it shows nothing. Whatever a log, a
	// span or an error could repeat of it is taken out of the request.
	Extract(r *http.Request) string
	// Check refuses a caller by what was shown (fault.Unauthorized).
	Check(shown string) error
	// Tenant is whose the request is in mode jwt. In mode none it is the one in
	// X-Tenant-Id, as everywhere.
	Tenant(r *http.Request) string
	// Bearer is what a bearer token of the gate's own means to the route, in mode jwt.
	Bearer() Bearer
}

// Bearer is what a bearer token means where a route has a pass.
type Bearer uint8

// What it means.
const (
	NoBearer      Bearer = iota // nothing: the pass alone lets callers in
	BearerInstead               // the pass lets nobody in, tokens with the scope of the route do
	// BearerToo: who has a token is known by it, whatever its scopes; who has none is let in by the pass. The handler
	// decides, by Call.Principal and Call.Shown.
	BearerToo
)

// bearer is what a bearer token means to the route's pass.
func (c *Call) bearer() Bearer {
	if c.gate.auth.mode != ModeJWT {
		return NoBearer
	}
	return c.route.Pass.Bearer()
}

// EventToken is the pass of workflow events: one text that sender and server share.
// The zero value lets nobody in.
type EventToken struct {
	digest [sha256.Size]byte
	unset  bool // there is no token to compare with
	bearer bool // instead, in mode jwt, callers show their own
	tenant string
}

// maxEventToken is the longest token that can be set, in bytes: any header holds it.
const maxEventToken = 1024

// NewEventToken makes the pass of workflow events. Without a token everybody is let in; in mode jwt only
// whoever has a bearer token with the scope of the route, unless they are open. The tenant is a UUID; "" is the
// default tenant.
func NewEventToken(token, tenant string, open bool) (*EventToken, error) {
	e := &EventToken{
		digest: sha256.Sum256([]byte(token)), unset: token == "", bearer: token == "" && !open, tenant: defaultTenant,
	}
	if open && token != "" {
		return nil, errors.New("workflow events cannot have a token and be open to everybody; choose one")
	}
	if strings.TrimSpace(token) != token {
		return nil, errors.New("the workflow event token begins or ends with white space, which a header cannot carry")
	}
	if len(token) > maxEventToken || strings.ContainsFunc(token, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errors.New("the workflow event token must be at most 1024 bytes without control characters")
	}
	if tenant == "" {
		return e, nil
	}
	parsed, ok := parseTenant(tenant)
	if !ok {
		return nil, errors.New("the tenant of workflow events must be a UUID")
	}
	e.tenant = parsed
	return e, nil
}

// Open reports that everybody is let in, in a mode.
func (e *EventToken) Open(mode Mode) bool { return e.unset && (mode != ModeJWT || !e.bearer) }

// Bearer reports that there is no token of workflow events, and callers of mode jwt show their own.
func (e *EventToken) Bearer() Bearer {
	if e.bearer {
		return BearerInstead
	}
	return NoBearer
}

// Tenant is whose workflow events are in mode jwt.
func (e *EventToken) Tenant(*http.Request) string { return e.tenant }

// Extract is the first of query parameter token, header X-Workflow-Event-Token and bearer token that is
// not empty. The parameter is taken out of the URL, and so is all of a malformed query.
func (e *EventToken) Extract(r *http.Request) string {
	fromQuery := ""
	if r.URL.RawQuery != "" {
		values, err := url.ParseQuery(r.URL.RawQuery)
		fromQuery = values.Get("token")
		values.Del("token")
		r.URL.RawQuery, r.RequestURI = values.Encode(), ""
		if err != nil {
			r.URL.RawQuery = malformedQuery
		}
	}
	if fromQuery != "" {
		return fromQuery
	}
	if value, _ := header(r, "X-Workflow-Event-Token"); value != "" {
		return value
	}
	value, err := bearer(r)
	if err != nil {
		return ""
	}
	return value
}

// malformedQuery is a query that cannot be parsed and holds nothing.
const malformedQuery = "%"

// Check compares in constant time. Digests do, so that the time does not tell the
// length either.
func (e *EventToken) Check(shown string) error {
	digest := sha256.Sum256([]byte(shown))
	if e.unset || subtle.ConstantTimeCompare(digest[:], e.digest[:]) == 1 {
		return nil
	}
	return fault.New(fault.Unauthorized, "", "Invalid workflow event token.")
}
