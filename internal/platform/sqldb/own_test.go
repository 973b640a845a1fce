package sqldb

import (
	"context"
	"errors"
	"testing"

	"renga.dev/renga/internal/platform/fault"
)

// passing is a context whose deadline passes, or whose caller goes away, when a test says so.
type passing struct {
	context.Context
	end chan struct{}
	why error
}

func (c *passing) Done() <-chan struct{} { return c.end }

func (c *passing) Err() error {
	select {
	case <-c.end:
		return c.why
	default:
		return nil
	}
}

func TestAJobLearnsThatItsCallerCannotBeAnswered(t *testing.T) {
	both(t, func(t *testing.T, db *DB) {
		for _, why := range []error{context.DeadlineExceeded, context.Canceled} {
			ctx := &passing{t.Context(), make(chan struct{}), why}
			err := db.Write(ctx, Other, func(_ context.Context, tx *Tx) error {
				if err := tx.Waits(); err != nil {
					t.Errorf("before its end: %v", err)
				}
				close(ctx.end)
				return tx.Waits()
			})
			switch {
			case why == context.Canceled && err != nil:
				t.Errorf("the work of a caller that went away was given up: %v", err)
			case why == context.DeadlineExceeded && (!errors.Is(err, why) || fault.KindOf(err) != fault.Unavailable):
				t.Errorf("got %v, want that the deadline has passed", err)
			}
		}
	})
}

func TestATransactionOwnsOneOfAKind(t *testing.T) {
	both(t, func(t *testing.T, db *DB) {
		made := 0
		one := func() *int { made++; return new(int) }
		for range 2 {
			err := db.Write(t.Context(), Other, func(_ context.Context, tx *Tx) error {
				first := Own(tx, one)
				if Own(tx, one) != first {
					t.Error("a transaction has two")
				}
				tx.Disown()
				if Own(tx, one) == first {
					t.Error("what was disowned is still there")
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if made != 4 {
			t.Errorf("%d were made in two transactions, want 4", made)
		}
	})
}
