package gate

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fair"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// maxCorrelation is the longest correlation id, in bytes.
const maxCorrelation = 128

// statusGone is logged when the caller went away before its answer.
const statusGone = 499

// exchange is one request and its answer.
type exchange struct {
	gate    *Gate
	w       http.ResponseWriter
	r       *http.Request
	route   *entry // nil: no route takes it
	surface *Surface
	call    Call
	started time.Time
	unknown error // why it is not known whose a request with a pass is

	known     bool            // who calls has proved it
	reserved  int64           // bytes of Gate.bodies that are this request's
	occupies  *fair.Places    // those of which one is this request's; nil: it is not heavy
	allowed   time.Duration   // for the handler; 0: it has none
	waiting   context.Context // of a long poll, with its limit; nil: it is none
	counted   bool            // among the open requests of its class
	headerErr error           // what is wrong with the headers that every request may have
	stream    *stream
	stack     []byte

	mu       sync.Mutex // whoever answers has it: the handler, or the watch over its time
	answered bool
	ended    time.Time
	status   int
	code     string // of the error that was shown
	err      error  // the cause that was not shown
}

// Header values that every answer shares; net/http does not change them.
var (
	noSniff  = []string{"nosniff"}
	noStore  = []string{"no-store"}
	typeJSON = []string{"application/json"}
)

// headers settles the ids of the request and sets what every answer carries.
func (x *exchange) headers() {
	x.call.RequestID = newRequestID(x.started)
	id, n := header(x.r, "X-Correlation-Id")
	if n != 1 || !canonical.Printable(id, maxCorrelation) {
		if n > 0 {
			x.headerErr = fault.New(fault.Invalid, "",
				"the header X-Correlation-Id must be there once, as 1..%d printable ASCII characters", maxCorrelation)
		}
		id = uuid.Must(uuid.NewV7()).String()
	}
	x.call.CorrelationID, x.call.NamesChain = id, n == 1
	h := x.w.Header()
	h["X-Correlation-Id"] = []string{id}
	h["X-Request-Id"] = []string{x.call.RequestID}
	h["X-Content-Type-Options"] = noSniff
	h["Cache-Control"] = noStore
	if x.route == nil {
		return
	}
	if x.route.notice[0] != nil {
		h["Deprecation"] = x.route.notice[0]
	}
	if x.route.notice[1] != nil {
		h["Sunset"] = x.route.notice[1]
	}
}

// newRequestID is a ULID of a request that came at a time. The time may be anything a
// clock says, so one that a ULID cannot hold leaves its place empty.
func newRequestID(at time.Time) string {
	var id ulid.ULID
	_ = id.SetTime(ulid.Timestamp(at))
	_, _ = rand.Read(id[6:]) // it never fails
	return id.String()
}

// pattern is the route as it is shown in logs and spans; never the path itself,
// which may hold anything.
func (x *exchange) pattern() string {
	if x.route == nil {
		return "none"
	}
	return x.route.Pattern
}

// answer lets the request in step by step and has its handler answer it.
func (x *exchange) answer(ctx context.Context, allow []string) (Reply, error) {
	within := DefaultTimeout
	if x.route != nil {
		within = x.route.timeout
	}
	x.hurry(within)
	if err := x.arrive(); err != nil {
		return Reply{}, err // Refused hears nothing: it writes, and no rate limit has counted the page that sent this
	}
	err := x.enter(allow)
	if err != nil && (x.route == nil || x.route.Refused == nil) {
		return Reply{}, err
	}
	ctx, cancel := x.bound(sqldb.For(ctx, x.call.Principal.Tenant))
	defer cancel()
	if err == nil {
		err = x.occupy(ctx)
	}
	if err != nil && x.route.Refused == nil {
		return Reply{}, x.timely(ctx, err)
	}
	if err != nil {
		if replacement := x.route.Refused(ctx, &x.call, err); replacement != nil {
			err = replacement
		}
		return Reply{}, x.timely(ctx, err)
	}
	reply, err := x.route.Do(ctx, &x.call)
	return reply, x.timely(ctx, err)
}

// arrive settles whose the request is if it has a pass, and refuses what a foreign page sent.
func (x *exchange) arrive() error {
	if x.route != nil && x.route.Pass != nil {
		// First of all, so that whoever is refused is refused as somebody.
		x.call.Principal, x.unknown = x.gate.auth.visitor(x.r, x.route.Pass)
	}
	return x.gate.auth.place(x.r, x.route)
}

// enter lets the request in, or says why not.
func (x *exchange) enter(allow []string) error {
	if x.headerErr != nil {
		return x.headerErr
	}
	if x.route == nil {
		return x.nowhere(allow)
	}
	for _, step := range [...]func() error{x.admit, x.limit, x.query, x.key, x.body, x.open} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// nowhere refuses what no route takes.
func (x *exchange) nowhere(allow []string) error {
	if len(allow) == 0 {
		return fault.New(fault.NotFound, "", "there is nothing at this path")
	}
	methods := strings.Join(allow, ", ")
	x.w.Header().Set("Allow", methods)
	return fault.New(fault.MethodNotAllowed, "", "this path has only %s", methods)
}

// admit settles who is calling and whether the route lets them in.
func (x *exchange) admit() error {
	challenge, err := x.prove()
	x.known = err == nil || fault.KindOf(err) == fault.Forbidden
	if err == nil {
		return nil
	}
	if challenge != "" {
		x.w.Header().Set("WWW-Authenticate", challenge)
	}
	switch {
	case fault.KindOf(err) != fault.Unauthorized:
	case x.gate.auth.cookie(x.r) != "":
		x.gate.tellRefused(&x.call, SessionRefused, err)
	default:
		x.gate.tellRefused(&x.call, TokenRefused, err)
	}
	return err
}

// prove asks the route's pass or the caller's token. challenge is the
// WWW-Authenticate header that goes with a refusal.
func (x *exchange) prove() (challenge string, err error) {
	if x.route.Pass == nil {
		x.call.Principal, challenge, err = x.gate.auth.admit(x.r, x.route)
		return challenge, err
	}
	switch x.call.bearer() {
	case BearerInstead:
		p, challenge, err := x.gate.auth.admit(x.r, x.route)
		if p.Tenant != "" { // else it stays the visitor's
			x.call.Principal = p
		}
		return challenge, err
	case BearerToo:
		if p, known := x.gate.auth.holder(x.r, x.route); known {
			x.call.Principal = p
			return "", nil
		}
	}
	err = x.route.Pass.Check(x.call.Shown)
	if err == nil {
		return "", x.unknown
	}
	if p, ok := x.gate.auth.stands(x.r, x.route, &x.call); ok {
		x.call.Principal = p
		return "", nil
	}
	return `Bearer realm="renga"`, err
}

// open counts a request that may stay open for long.
func (x *exchange) open() error {
	if x.route.opened == nil {
		return nil
	}
	err := x.route.opened.enter(x.call.Principal.Tenant, x.call.Caller())
	x.counted = err == nil
	return err
}

// leave gives back what the request has of what all share.
func (x *exchange) leave() {
	x.yield()
	x.gate.bodies.release(x.call.Principal.Tenant, x.reserved)
	if x.counted {
		x.route.opened.Leave(x.call.Principal.Tenant, x.call.Caller(), 1)
	}
}

func (x *exchange) limit() error {
	if x.route.limit == nil {
		return nil
	}
	left := x.route.limit.admit(x.call.Caller(), x.started)
	h := x.w.Header()
	h.Set("X-Ratelimit-Limit", strconv.Itoa(x.route.limit.limits().Limit))
	h.Set("X-Ratelimit-Remaining", strconv.Itoa(left.remaining))
	h.Set("X-Ratelimit-Reset", seconds(left.reset))
	if left.ok {
		return nil
	}
	refusal := fault.New(fault.RateLimited, "", "too many requests; try again later")
	refusal.RetryAfter = left.retry
	return refusal
}

func (x *exchange) query() error {
	if x.r.URL.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return fault.New(fault.Invalid, "", "the query string is malformed")
	}
	x.call.query = query
	return nil
}

// body reads the body where the method has one.
func (x *exchange) body() error {
	switch x.r.Method {
	case http.MethodGet, http.MethodHead, http.MethodDelete:
		return nil
	}
	if x.r.ContentLength != 0 {
		media, err := x.route.media(x.r)
		if err != nil {
			return err
		}
		x.call.Media = media
	}
	if err := x.reserve(); err != nil {
		return err
	}
	body, err := x.route.read(x.r)
	if x.call.Body = body; err == nil {
		x.hurry(readTimeout)
	}
	return err
}

// hurry bounds how long a body may take from here on, also one that is not looked at: the
// answer waits for it. Large bodies have the time that every connection has.
func (x *exchange) hurry(within time.Duration) {
	if x.r.ContentLength == 0 || x.route != nil && (x.route.timeout <= 0 || x.route.MaxBody > quickBody) {
		return
	}
	// A writer without deadlines (a test's recorder) has nothing to bound.
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Now().Add(within))
}

// reserve takes the memory for a large body, as long as there is some. Small ones
// always find room, so that overload never refuses a cancel.
func (x *exchange) reserve() error {
	size := x.r.ContentLength
	if size < 0 {
		size = x.route.MaxBody
	}
	if size <= smallBody || size > x.route.MaxBody {
		return nil
	}
	if err := x.gate.bodies.reserve(x.call.Principal.Tenant, size); err != nil {
		return err
	}
	x.reserved = size
	return nil
}

// bound gives the handler its time. A stream or long poll has none, so the
// connection's limits are lifted too, and it ends when the process drains.
func (x *exchange) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if x.route.Stream {
		x.stream = &stream{ResponseWriter: x.w}
		x.call.Stream = x.stream
	}
	if x.route.timeout > 0 {
		return x.within(ctx, x.route.within())
	}
	x.call.wait = func(ctx context.Context, long time.Duration) (context.Context, context.CancelFunc) {
		ctx, stop := x.within(ctx, long+answerTime(DefaultTimeout))
		x.waiting = ctx
		return ctx, func() {
			if ctx.Err() == nil {
				x.waiting = nil // it ends here, not because its time ran out or its caller left
			}
			stop()
		}
	}
	control := http.NewResponseController(x.w)
	// A writer without deadlines (a test's recorder) has nothing to lift.
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(x.gate.draining, func() { cancel(errDraining) })
	return ctx, func() { stop(); cancel(nil) }
}

// within ends a handler after a time, and answers for it.
func (x *exchange) within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	x.allowed = limit
	ctx, cancel := context.WithTimeout(ctx, limit)
	stop := x.watch(ctx)
	return ctx, func() { stop(); cancel() }
}

// timely turns the error of a handler whose time ran out into what its caller can
// act on.
func (x *exchange) timely(ctx context.Context, err error) error {
	if x.waiting != nil {
		ctx = x.waiting
	}
	kind := fault.KindOf(err)
	if err == nil || ctx.Err() == nil || kind != fault.Internal && kind != fault.Unavailable {
		return err
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errDraining):
		return errDraining
	case kind == fault.Unavailable && errors.Is(cause, context.Canceled):
		return errGone
	case errors.Is(err, context.DeadlineExceeded):
		return x.overdue()
	case errors.Is(err, context.Canceled):
		return errGone
	}
	return err
}

// errGone is the end of a request whose caller went away.
var errGone = errors.New("the caller went away")
