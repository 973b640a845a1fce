package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

// blame finds the event whose handler ruins transactions without failing itself: it
// breaks a rule that is checked when they are committed, goes on after a statement
// failed, or takes so long that the database ends them. Were that the fault of nobody,
// the reader would try the same again for ever.
//
// A transaction that came to nothing after handlers were called is suspect. Then events
// are taken alone, and one that ruins its own transaction is guilty, as is one whose
// handler took too long: in the next transaction it fails, and its handler is not called.
type poisonDetector struct {
	isolate bool     // events are taken one to a transaction
	called  []string // events whose handlers this transaction has called
	poison  string   // event that fails unless the transaction is committed
	cause   error
}

// begin begins another transaction.
func (b *poisonDetector) begin() { b.called = b.called[:0] }

// called notes that a handler was called for an event.
func (b *poisonDetector) noteCall(id string, took time.Duration) {
	b.called = append(b.called, id)
	if took >= handleTimeout {
		b.poison, b.cause = id, fmt.Errorf("the handler took %v, and it has %v", took.Round(time.Millisecond), handleTimeout)
	}
}

// of is why an event has failed before it is tried; nil: it has not.
func (b *poisonDetector) failureOf(id string) error {
	if b.poison == id {
		return b.cause
	}
	return nil
}

// suspectsPoison reports whether a transaction failed because of a handler. Its events are then applied again, in isolation,
// and the poison event is found. An unavailable database is no handler's fault.
func (iv *invoker) suspectsPoison(ctx context.Context, err error) bool {
	b := &iv.poison
	if err == nil {
		b.poison, b.cause = "", nil
		return false
	}
	away := fault.KindOf(err) == fault.Unavailable && b.poison == ""
	if len(b.called) == 0 || away || ctx.Err() != nil || errors.Is(err, errLeaseLost) || errors.Is(err, errOneByOne) {
		return false
	}
	if len(b.called) == 1 && b.poison == "" {
		b.poison, b.cause = b.called[0], fmt.Errorf("what the handler did cannot be committed: %w", err)
	}
	b.isolate = true
	return true
}

// atMost limits how many of something one transaction takes: one during isolation.
func (iv *invoker) atMost(n int) int {
	if iv.poison.isolate {
		return 1
	}
	return n
}
