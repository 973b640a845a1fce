package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"renga.dev/renga/internal/platform/fair"
	"renga.dev/renga/internal/platform/fault"
)

// Config is what a gate is made of. Zero values are the documented defaults.
type Config struct {
	Auth      *Auth            // required: without it nobody could be let in
	Telemetry *Telemetry       // default none: nothing is measured
	Log       *slog.Logger     // default slog.Default()
	Rates     map[string]Rate  // by rate class; one that is not there, or zero, is unlimited
	Quota     *Quota           // lets processes hold the limits together; default none: each for itself
	Refusals  *Refusals        // puts refused tokens into the audit log; default none: they are only logged
	Heavy     int              // heavy requests that run at a time; default: four for each processor, at least 8
	Open      map[string]Open  // by open class; one that is not there has its default
	Now       func() time.Time // default time.Now
}

// Gate is the handler of all routes.
type Gate struct {
	auth      *Auth
	telemetry *Telemetry
	log       *slog.Logger
	now       func() time.Time
	router    router
	surfaces  []*Surface // with their prefixes
	unknown   *meters    // of requests that no route took
	nowhere   map[*Surface]*named
	refused   *limiter     // log lines about refused tokens, per address
	refusals  *Refusals    // nil: there is no audit log
	bodies    bodies       // large ones under way
	heavy     *fair.Places // in which heavy requests run
	bulky     *fair.Places // in which those with large bodies or answers run
	draining  context.Context
	drain     context.CancelCauseFunc
}

// errDraining is why streams and long polls end when the process does.
var errDraining = fault.New(fault.Unavailable, "SHUTTING_DOWN", "the server is going away; try again")

// refusedRate is how many refused tokens of one address are logged.
var refusedRate = Rate{Limit: 5, Per: time.Minute}

// New makes the gate of a route table. It refuses a table that contradicts itself.
func New(cfg Config, routes []Route) (*Gate, error) {
	if cfg.Auth == nil {
		return nil, errors.New("gate: there is no Auth")
	}
	g := &Gate{
		nowhere: map[*Surface]*named{},
		auth:    cfg.Auth, telemetry: cfg.Telemetry, log: cmp.Or(cfg.Log, slog.Default()), now: cfg.Now,
		router: router{root: newBranch()}, refused: newLimiter(refusedRate), refusals: cfg.Refusals,
	}
	g.heavy, g.bulky = newHeavy(cfg.Heavy)
	if g.now == nil {
		g.now = time.Now
	}
	g.draining, g.drain = context.WithCancelCause(context.Background())
	var measure *instruments
	if cfg.Telemetry != nil {
		var err error
		if measure, err = newInstruments(cfg.Telemetry.Meter); err != nil {
			return nil, fmt.Errorf("gate: metrics: %w", err)
		}
		g.unknown = measure.of("", "none", false)
	}
	if err := checkClasses(cfg.Rates, routes); err != nil {
		return nil, err
	}
	limits, err := newLimits(cfg.Rates, cfg.Quota)
	if err != nil {
		return nil, err
	}
	opened, err := newOpened(cfg.Open, routes)
	if err != nil {
		return nil, err
	}
	for _, route := range routes {
		if err := g.add(&entry{
			Route: route, limit: limits[route.Rate], opened: opened[route.Open],
			timeout: route.Timeout,
		}, measure); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// add prepares a route: defaults filled in, limiter and meters at hand.
func (g *Gate) add(e *entry, measure *instruments) error {
	e.Surface = cmp.Or(e.Surface, Core)
	e.MaxBody = cmp.Or(e.MaxBody, DefaultMaxBody)
	e.timeout = cmp.Or(e.timeout, DefaultTimeout)
	if e.Media == nil {
		e.Media = jsonOnly
	}
	if e.Stream {
		e.timeout = NoTimeout
	}
	switch {
	case e.Pattern == "":
		return fmt.Errorf("gate: the contract has no operation %q", e.Operation)
	case e.Do == nil:
		return fmt.Errorf("gate: pattern %q has no handler", e.Pattern)
	case e.Public && e.Scope != "":
		return fmt.Errorf("gate: pattern %q is public and asks for the scope %q", e.Pattern, e.Scope)
	case e.Own && !e.Public:
		return fmt.Errorf("gate: pattern %q is for our own pages and not public: it need not say so", e.Pattern)
	case e.Pass != nil && e.Public:
		return fmt.Errorf("gate: pattern %q has a pass of its own and is not public", e.Pattern)
	case !e.Sunset.IsZero() && (e.Deprecated.IsZero() || e.Sunset.Sub(e.Deprecated) < MinNotice):
		return fmt.Errorf("gate: pattern %q: a sunset comes at least %s after the deprecation", e.Pattern, MinNotice)
	case e.Once != None && e.Surface.KeyHeader == "":
		return fmt.Errorf("gate: pattern %q takes a key, but its surface has no header for it", e.Pattern)
	}
	if !e.Deprecated.IsZero() {
		e.notice[0] = []string{"@" + strconv.FormatInt(e.Deprecated.Unix(), 10)} // RFC 9745
	}
	if !e.Sunset.IsZero() {
		e.notice[1] = []string{e.Sunset.UTC().Format(http.TimeFormat)} // RFC 8594
	}
	if !slices.Contains(g.surfaces, e.Surface) {
		g.surfaces = append(g.surfaces, e.Surface)
	}
	if err := g.router.add(e); err != nil {
		return err
	}
	if measure == nil {
		return nil
	}
	e.meters = measure.of(e.method, e.path, e.Stream)
	return g.name(e)
}

// name prepares the metrics of a route whose surface has some of its own.
func (g *Gate) name(e *entry) error {
	if e.Surface.Metrics == "" {
		return nil
	}
	nowhere := g.nowhere[e.Surface]
	if nowhere == nil {
		measure, err := newNamed(g.telemetry.Bare, e.Surface)
		if err != nil {
			return fmt.Errorf("gate: metrics: %w", err)
		}
		nowhere = measure.of("none", e.Surface)
		g.nowhere[e.Surface] = nowhere
	}
	e.named = nowhere.of(e.Pattern, e.Surface)
	return nil
}

// Drain ends streams and long polls, and makes the process not ready. Everything
// else is served until the server is shut down.
func (g *Gate) Drain() { g.drain(errDraining) }

// surface is the surface of a path that no route took: the one with the longest
// prefix that fits, or Core.
func (g *Gate) surface(path string) *Surface {
	found, longest := Core, 0
	for _, s := range g.surfaces {
		for _, prefix := range s.Prefixes {
			if len(prefix) > longest && strings.HasPrefix(path, prefix) {
				found, longest = s, len(prefix)
			}
		}
	}
	return found
}

// ServeHTTP answers a request.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{gate: g, w: w, r: r, started: g.now()}
	var params, allow []string
	x.route, params, allow = g.router.find(r.Method, r.URL.EscapedPath())
	x.call = Call{Request: r, route: x.route, params: params, gate: g}
	if x.route != nil {
		x.surface = x.route.Surface
	} else {
		x.surface = g.surface(r.URL.Path)
	}
	if x.route != nil && x.route.Pass != nil {
		x.call.Shown = x.route.Pass.Extract(r) // before anything could repeat it
	}
	x.headers()
	ctx := r.Context()
	if g.telemetry != nil && g.telemetry.Tracing {
		spanned, span := x.startSpan(ctx)
		ctx = spanned
		defer func() { endSpan(span, x.status) }()
	}
	defer x.finish(ctx)
	defer x.leave()
	reply, err := x.answer(ctx, allow)
	x.write(ctx, reply, err)
}

// finish counts and logs the request, after a panic too: one handler's mistake is
// one caller's 500.
func (x *exchange) finish(ctx context.Context) {
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler { //nolint:errorlint // the value itself is the signal
			panic(p)
		}
		x.stack = debug.Stack()
		x.mu.Lock()
		x.answered = x.status != 0 // the answer itself may have panicked
		x.mu.Unlock()
		x.write(ctx, Reply{}, fmt.Errorf("panic: %v", p))
		if x.streamed() {
			defer panic(http.ErrAbortHandler) // a cut stream must not look complete
		}
	}
	if x.call.scratch != nil {
		x.call.scratch.release()
	}
	took := x.ended.Sub(x.started) // of a stream, to its end
	meters := x.gate.unknown
	if x.route != nil {
		meters = x.route.meters
	}
	meters.answered(ctx, x.status, took)
	if x.surface.Metrics != "" {
		x.measure(ctx, took)
	}
	x.log(ctx, took)
	if x.streamed() && x.err != nil && x.route.Whole {
		panic(http.ErrAbortHandler) // as above
	}
}

// address is the caller's address without its port.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
