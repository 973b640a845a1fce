package gate

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

// How much of a body that is too large is read after its answer, so that a client which sends all of
// it before it reads finds the answer and not a reset connection.
const (
	drainBytes  = 32 << 20
	drainWithin = 5 * time.Second
)

// within is how long a handler has. The rest of the route's time is for the answer, so that
// the caller has it within that time.
func (e *entry) within() time.Duration { return answerTime(e.timeout) }

func answerTime(timeout time.Duration) time.Duration { return timeout - timeout/10 }

// watch answers for a handler whose time has run out, since not everything that hangs heeds a context.
// What the handler answers later is not sent. stop is called when it has ended.
func (x *exchange) watch(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.answered {
			return
		}
		x.answered, x.ended = true, x.gate.now()
		x.w.Header().Set("Connection", "close") // the handler still has the connection
		x.refuse(x.overdue())
		_ = http.NewResponseController(x.w).Flush() // a test's recorder has nothing to flush
	})
}

// overdue is the answer to a request whose time ran out.
func (x *exchange) overdue() error {
	advice := "try again"
	if x.call.Key != "" {
		advice = "its outcome is not known, repeat it with the same key"
	}
	return fault.New(fault.Unavailable, "TIMEOUT", "the request took longer than %s; %s", x.allowed, advice)
}

// duplex lets an answer go out before the body has come. Whoever waits to be asked for the
// body (Expect) is not.
func (x *exchange) duplex() bool {
	return x.r.Header.Get("Expect") == "" && http.NewResponseController(x.w).EnableFullDuplex() == nil
}

// drain reads what is left of a body after its answer, up to a limit.
func (x *exchange) drain() {
	control := http.NewResponseController(x.w)
	if control.Flush() != nil || control.SetReadDeadline(time.Now().Add(drainWithin)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, x.r.Body, drainBytes) // it ends as it does: the connection is closed
}
