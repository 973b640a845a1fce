package sqldb

import (
	"context"
	"time"
)

// Transaction describes a call of Write or Read, without statements and values.
type Transaction struct {
	Write    bool
	Priority Priority
	Began    time.Time     // the call
	Waited   time.Duration // for its turn or a connection
	Ran      time.Duration // with the commit; 0: it never ran
	Err      error
}

// traced runs a transaction and reports it to whoever asked. A repeated job runs from its first begin.
func (db *DB) traced(
	ctx context.Context, t Transaction, fn Func,
	run func(fn Func) error,
) error {
	if db.trace == nil {
		return run(fn)
	}
	ended := db.trace(ctx)
	if ended == nil {
		return run(fn)
	}
	t.Began = time.Now()
	var ran time.Time
	t.Err = run(func(ctx context.Context, tx *Tx) error {
		if ran.IsZero() {
			ran = time.Now()
		}
		return fn(ctx, tx)
	})
	end := time.Now()
	if ran.IsZero() {
		ran = end
	}
	t.Waited, t.Ran = ran.Sub(t.Began), end.Sub(ran)
	ended(t)
	return t.Err
}
