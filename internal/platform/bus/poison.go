package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

// poisonDetector finds poison events: their handler succeeds but ruins the transaction, by violating a constraint
// that is checked at the commit, ignoring a failed statement, or taking so long that the database ends the
// transaction. The reader would retry the batch for ever.
//
// When a transaction fails after handlers ran, its events are isolated, one per transaction. An event that ruins its
// own transaction, or whose handler took too long, is poison: in the next transaction it fails without a call.
type poisonDetector struct {
	isolate bool     // one event per transaction
	called  []string // events handled in this transaction
	poison  string   // event that fails until a commit
	cause   error
}

func (b *poisonDetector) begin() { b.called = b.called[:0] }

func (b *poisonDetector) noteCall(id string, took time.Duration) {
	b.called = append(b.called, id)
	if took >= handleTimeout {
		b.poison, b.cause = id, fmt.Errorf("the handler took %v, and it has %v", took.Round(time.Millisecond),
			handleTimeout)
	}
}

// failureOf is why an event fails without a call; nil: it does not.
func (b *poisonDetector) failureOf(id string) error {
	if b.poison == id {
		return b.cause
	}
	return nil
}

// suspectsPoison reports whether a handler ruined a transaction, whose events are then isolated. An unavailable
// database is no handler's fault.
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

func (iv *invoker) atMost(n int) int {
	if iv.poison.isolate {
		return 1
	}
	return n
}
