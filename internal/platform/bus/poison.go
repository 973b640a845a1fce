package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

// poisonDetector finds poison events: their handler does not fail, but ruins the transaction. It violates a constraint
// that is checked at the commit, goes on after a statement failed, or takes so long that the database ends the
// transaction. Without detection the reader would retry the same batch for ever.
//
// When a transaction fails after handlers were called, its events are isolated: one to a transaction. An event that
// ruins its own transaction is poison, as is one whose handler took too long: in the next transaction it fails without
// a call of its handler.
type poisonDetector struct {
	isolate bool     // events are applied one to a transaction
	called  []string // events whose handlers this transaction has called
	poison  string   // event that fails unless the transaction is committed
	cause   error
}

// begin begins another transaction.
func (b *poisonDetector) begin() { b.called = b.called[:0] }

// noteCall records that a handler was called for an event.
func (b *poisonDetector) noteCall(id string, took time.Duration) {
	b.called = append(b.called, id)
	if took >= handleTimeout {
		b.poison, b.cause = id, fmt.Errorf("the handler took %v, and it has %v", took.Round(time.Millisecond),
			handleTimeout)
	}
}

// failureOf is why an event fails before it is tried; nil: it does not.
func (b *poisonDetector) failureOf(id string) error {
	if b.poison == id {
		return b.cause
	}
	return nil
}

// suspectsPoison reports whether a transaction failed because of a handler. Its events are then applied again, in
// isolation, and the poison event is found. An unavailable database is no handler's fault.
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
