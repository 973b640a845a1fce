package gate

import (
	"context"
	"log/slog"
	"time"

	"github.com/oklog/ulid/v2"
)

// The keys of log lines. Every line of the gate uses these and no others.
const (
	keyAddress     = "address"
	keyCheck       = "check"
	keyCode        = "code"
	keyCorrelation = "correlationId"
	keyError       = "error"
	keyMethod      = "method"
	keyMillis      = "ms"
	keyRequest     = "x_request_id"
	keyRoute       = "route"
	keyStack       = "stack"
	keyStatus      = "status"
	keySubject     = "subject"
	keyTenant      = "tenant"
)

// The keys of the lines of surfaces with Lines, as their document has them, in place of
// those that say the same elsewhere.
const (
	keyAbout      = "request_id"
	keyClient     = "client_id"
	keyEndpoint   = "endpoint"
	keyHTTPStatus = "http_status"
	keyLatency    = "latency_ms"
)

// slow is when an ordinary request is worth a line by itself.
const slow = time.Second

// log writes the line of a request: an internal failure as an error, what could not be served or was
// slow as a warning, everything else for debugging. On a surface with Lines known callers have a line
// for each request; others must not be able to fill the log.
func (x *exchange) log(ctx context.Context, took time.Duration) {
	level := slog.LevelDebug
	switch {
	case x.status == 500:
		level = slog.LevelError
	case x.status > 500, took > slow && x.waits():
		level = slog.LevelWarn
	case x.surface.Lines && x.known:
		level = slog.LevelInfo
	}
	log := x.gate.log
	if !log.Enabled(ctx, level) {
		return
	}
	attrs := x.attrs(float64(took.Microseconds()) / 1000)
	if x.code != "" {
		attrs = append(attrs, slog.String(keyCode, x.code))
	}
	if x.err != nil {
		attrs = append(attrs, slog.String(keyError, x.err.Error()))
	}
	if x.stack != nil {
		attrs = append(attrs, slog.String(keyStack, string(x.stack)))
	}
	log.LogAttrs(ctx, level, "request", attrs...)
}

// attrs are what the line says of every request.
func (x *exchange) attrs(ms float64) []slog.Attr {
	correlation, tenant := slog.String(keyCorrelation, x.call.CorrelationID), slog.String(keyTenant,
		x.call.Principal.Tenant)
	if x.surface.Lines {
		attrs := []slog.Attr{
			slog.String(keyRequest, x.call.RequestID),
			slog.String(keyClient, x.call.Principal.Subject),
			slog.String(keyEndpoint, x.pattern()),
			slog.Int(keyHTTPStatus, x.status),
			slog.Float64(keyLatency, ms),
			correlation, tenant,
		}
		if about := x.about(); about != "" {
			attrs = append(attrs, slog.String(keyAbout, about))
		}
		return attrs
	}
	attrs := []slog.Attr{
		slog.String(keyMethod, x.r.Method),
		slog.String(keyRoute, x.pattern()),
		slog.Int(keyStatus, x.status),
		slog.Float64(keyMillis, ms),
		correlation,
		slog.String(keyRequest, x.call.RequestID),
		tenant,
	}
	if x.call.Principal.Subject != "" {
		attrs = append(attrs, slog.String(keySubject, x.call.Principal.Subject))
	}
	return attrs
}

// about is the id of what the request is about: what its handler says, or the request_id
// of its path, unless that is anything else than an id.
func (x *exchange) about() string {
	if x.call.About != "" || x.route == nil {
		return x.call.About
	}
	id := x.call.Path(keyAbout)
	if _, err := ulid.ParseStrict(id); err != nil {
		return ""
	}
	return id
}

// waits reports whether the request should have been quick.
func (x *exchange) waits() bool { return x.route != nil && x.route.timeout > 0 }
