package gate

import (
	"context"
	"log/slog"
	"time"
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

// slow is when an ordinary request is worth a line by itself.
const slow = time.Second

// log writes the line of a request: an internal failure as an error, what could
// not be served or was slow as a warning, everything else for debugging only, since
// a busy system answers tens of thousands of requests a second.
func (x *exchange) log(ctx context.Context, took time.Duration) {
	level := slog.LevelDebug
	switch {
	case x.status == 500:
		level = slog.LevelError
	case x.status > 500, took > slow && x.waits():
		level = slog.LevelWarn
	}
	log := x.gate.log
	if !log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String(keyMethod, x.r.Method),
		slog.String(keyRoute, x.pattern()),
		slog.Int(keyStatus, x.status),
		slog.Float64(keyMillis, float64(took.Microseconds())/1000),
		slog.String(keyCorrelation, x.call.CorrelationID),
		slog.String(keyRequest, x.call.RequestID),
		slog.String(keyTenant, x.call.Principal.Tenant),
	}
	if x.call.Principal.Subject != "" {
		attrs = append(attrs, slog.String(keySubject, x.call.Principal.Subject))
	}
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

// waits reports whether the request should have been quick.
func (x *exchange) waits() bool { return x.route != nil && x.route.timeout > 0 }
