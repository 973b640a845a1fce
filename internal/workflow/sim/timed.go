package sim

import (
	"cmp"
	"context"
	"slices"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Timed lets a store go by the clock of its engine, whichever it has itself, so that
// a test can turn it.
type Timed struct {
	engine.Store
	After  int64  // executions up to this number are left alone
	Tenant string // and those of others; "": of all
}

// Commit runs fn with the engine's time.
func (s Timed) Commit(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	return s.Store.Commit(ctx, func(ctx context.Context, tx engine.Tx) error { return fn(ctx, timedTx{tx}) })
}

type timedTx struct{ engine.Tx }

// Now is the time of the engine. The store is asked all the same, so that it does what
// it would do.
func (tx timedTx) Now(ctx context.Context, here flow.Time) (flow.Time, error) {
	_, err := tx.Tx.Now(ctx, here)
	return here, err
}

// Due looks at all executions, one after the other.
func (s Timed) Due(
	ctx context.Context, here flow.Time, of engine.Shard, after engine.Head, limit int,
) (due []engine.Head, next, now flow.Time, err error) {
	const part = 500
	for num := s.After; ; {
		heads, err := s.Scan(ctx, num, part)
		if err != nil {
			return nil, 0, here, err
		}
		for _, h := range heads {
			num = h.Num
			switch {
			case h.DueAt == 0 || !comesAfter(&h, &after) || !of.Has(h.ID) || s.Tenant != "" && h.Tenant != s.Tenant:
			case h.DueAt <= here:
				due = append(due, h)
			case next == 0 || h.DueAt < next:
				next = h.DueAt
			}
		}
		if len(heads) < part {
			break
		}
	}
	slices.SortFunc(due, func(a, b engine.Head) int {
		return cmp.Or(cmp.Compare(a.DueAt, b.DueAt),
			cmp.Compare(a.Num, b.Num))
	})
	if len(due) > limit {
		next, due = due[limit].DueAt, due[:limit]
	}
	return due, next, here, nil
}
