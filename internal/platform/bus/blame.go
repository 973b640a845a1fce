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
type blame struct {
	alone  bool     // events are taken one to a transaction
	ran    []string // events whose handlers this transaction has called
	guilty string   // event that fails unless the transaction is committed
	why    error
}

// begin begins another transaction.
func (b *blame) begin() { b.ran = b.ran[:0] }

// called notes that a handler was called for an event.
func (b *blame) called(id string, took time.Duration) {
	b.ran = append(b.ran, id)
	if took >= handleTimeout {
		b.guilty, b.why = id, fmt.Errorf("the handler took %v, and it has %v", took.Round(time.Millisecond), handleTimeout)
	}
}

// of is why an event has failed before it is tried; nil: it has not.
func (b *blame) of(id string) error {
	if b.guilty == id {
		return b.why
	}
	return nil
}

// suspects reports whether a transaction came to nothing because of a handler: its events
// are to be taken again then, and this time it will be found. A database that is away is
// nobody's fault.
func (r *reader) suspects(ctx context.Context, err error) bool {
	b := &r.blame
	if err == nil {
		b.guilty, b.why = "", nil
		return false
	}
	away := fault.KindOf(err) == fault.Unavailable && b.guilty == ""
	if len(b.ran) == 0 || away || ctx.Err() != nil || errors.Is(err, errLost) || errors.Is(err, errCareful) {
		return false
	}
	if len(b.ran) == 1 && b.guilty == "" {
		b.guilty, b.why = b.ran[0], fmt.Errorf("what the handler did cannot be committed: %w", err)
	}
	b.alone = true
	return true
}
