package gate

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"renga.dev/renga/internal/platform/canonical"
)

// Named maxima and defaults of a request.
const (
	DefaultMaxBody = 1 << 20             // bytes of a body, where a route names no other limit
	DefaultTimeout = 10 * time.Second    // of a request, where a route names no other
	MinNotice      = 90 * 24 * time.Hour // from Route.Deprecated to Route.Sunset
	NoTimeout      = -1                  // Route.Timeout of a route that waits by itself (long poll)
)

// Route is one line of the route table.
type Route struct {
	Operation string        // of the contract, from which FromContract fills in the next members and Once
	Pattern   string        // method and path: "POST /executions/{id}/cancel"; a last "{rest...}" takes what is left
	Surface   *Surface      // error shape, header names; nil: Core
	Scope     string        // needed in jwt mode; "" lets every caller with a valid token in
	Audiences []string      // `aud` of tokens, any of them; nil: those of the surface
	Rate      string        // class in Config.Rates; "" or a class that is not there: unlimited
	Open      string        // class in Config.Open of requests that stay open for long; "": they do not
	Heavy     bool          // takes much of a processor or of the database: waits for a place, as large bodies do
	Once      Once          // idempotency policy
	MaxBody   int64         // bytes; 0: DefaultMaxBody
	Media     []string      // accepted media types of the body; nil: application/json
	Timeout   time.Duration // 0: DefaultTimeout; NoTimeout for long polls; streams have none
	Stream    bool          // the handler writes to Call.Stream; its Reply is not looked at unless it wrote nothing
	Whole     bool          // with Stream: all of it or an error; when Do fails after it began, the connection is cut
	Public    bool          // no token is asked for
	Own       bool          // with Public: not for pages of other origins, which may only link to it
	Rest      bool          // the last {name} of the path takes all that is left of it, also nothing
	Pass      Pass          // how callers are let in, in place of tokens and scopes; nil: by those
	Foreign   bool          // senders cannot choose their headers; the handler sees to a StrayKey

	// Deprecated is since when the route should not be used any more, or from when; it goes
	// out as the header Deprecation. Sunset is when it may be gone, as the header Sunset, at
	// least MinNotice later. Zero: neither.
	Deprecated, Sunset time.Time

	// Refused gets a request that ended before Do, with what is known of it; what it
	// returns is answered, or, if that is nil, err. It does not get what foreign pages
	// sent. It may be nil.
	Refused func(ctx context.Context, c *Call, err error) error
	// Do answers the call. ctx ends with the request or its time-out.
	Do func(ctx context.Context, c *Call) (Reply, error)
}

// Principal is who is calling.
type Principal struct {
	Tenant  string   // a UUID in lower case
	Subject string   // `sub`; in mode none the header X-User-Id, or ""
	Scopes  []string // nil in mode none, where every scope is held
	All     bool     // every scope is held
	Roles   []string // `roles` and `groups` of the token
	Groups  []string
}

// Has reports whether the principal holds a scope; "" is held by everybody.
func (p *Principal) Has(scope string) bool {
	return scope == "" || p.All || slices.Contains(p.Scopes, scope)
}

// Call is a request that was let in.
type Call struct {
	Principal     Principal
	CorrelationID string // as sent, or made here; already in the answer's header
	NamesChain    bool   // the correlation id was sent
	RequestID     string // a ULID, made here for this request alone; already in the answer's header
	Key           string // idempotency key; "" when the route's policy lets it be absent
	Media         string // media type of the body without parameters; "" without a body
	// Body is what was sent, at most MaxBody bytes. It is this call's own memory:
	// a handler may keep it or parts of it.
	Body    []byte
	Request *http.Request
	Stream  http.ResponseWriter // with Route.Stream; flush with http.NewResponseController
	// About is the id of what the request is about, for its line in the log on surfaces with
	// Lines: of a re-check, its request_id. A handler sets what it makes; an id in the path is
	// known without.
	About string
	// Shown is what the caller showed to the route's pass. It is a secret: nothing may repeat it.
	Shown string

	route   *entry
	params  []string
	query   url.Values
	scratch *scratch
	gate    *Gate
	yield   func() // of a heavy request
	wait    func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

// Wait gives a call of a route with NoTimeout, which waits for so long by itself, the time for its
// answer that all others have. stop is called when it has ended.
func (c *Call) Wait(ctx context.Context, long time.Duration) (_ context.Context, stop context.CancelFunc) {
	if c.wait == nil {
		return ctx, func() {}
	}
	return c.wait(ctx, long)
}

// Caller names who is calling where something is counted by caller: tenant and subject, or
// the address where there is no subject.
func (c *Call) Caller() string {
	if c.Principal.Subject == "" {
		return c.Principal.Tenant + " " + address(c.Request)
	}
	return c.Principal.Tenant + " " + c.Principal.Subject
}

// Yield gives the place of a heavy request back: from here on it only waits, for others who
// see to it themselves that nobody is held up.
func (c *Call) Yield() {
	if c.yield != nil {
		c.yield()
	}
}

// Path is the value of a wildcard of the route's pattern, unescaped; "" when there is none.
func (c *Call) Path(name string) string {
	if i := slices.Index(c.route.names, name); i >= 0 && i < len(c.params) {
		return c.params[i]
	}
	return ""
}

// Query holds the query parameters; a malformed query was refused before.
func (c *Call) Query() url.Values {
	if c.query == nil {
		c.query = c.Request.URL.Query()
	}
	return c.query
}

// Endpoint is method and path, as an idempotency key is scoped. However a path is
// escaped, one endpoint has one spelling.
func (c *Call) Endpoint() string {
	path := c.Request.URL.EscapedPath()
	if strings.IndexFunc(path, reserved) < 0 {
		return c.Request.Method + " " + path
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if plain, err := url.PathUnescape(segment); err == nil {
			segments[i] = url.PathEscape(plain)
		}
	}
	return c.Request.Method + " " + strings.Join(segments, "/")
}

// reserved reports whether a character of a path can be spelled in two ways.
func reserved(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/-_.~", r))
}

// IdempotencyKey is what makes this call safe to repeat: key, endpoint and digest of the
// body. A body that is not strict JSON is fault.Invalid.
func (c *Call) IdempotencyKey() (canonical.IdempotencyKey, error) {
	return canonical.ParseIdempotencyKey(c.Key, c.Endpoint(), c.Body)
}

// Decode reads the body strictly; see canonical.Decode.
func (c *Call) Decode(into any) error { return canonical.Decode(c.Body, into) }

// Scratch is an empty buffer to build an answer on without garbage; give what was
// built to Built.
func (c *Call) Scratch() []byte {
	c.scratch = scratches.Get().(*scratch)
	return c.scratch.bytes[:0]
}

// Built is the reply with a body that was built on Scratch. Its memory is used
// again as soon as it is written: nothing may keep it.
func (c *Call) Built(status int, raw []byte) Reply {
	if c.scratch != nil {
		c.scratch.bytes = raw
	}
	return Reply{Status: status, Raw: raw}
}

// Reply is the answer to a call that did not fail.
type Reply struct {
	Status int         // 0: 200
	Body   any         // marshalled as JSON, unless Raw is set; nil: no body
	Raw    []byte      // written as it is
	Type   string      // content type of Raw; "" is application/json
	Header http.Header // more headers, in canonical spelling
}
