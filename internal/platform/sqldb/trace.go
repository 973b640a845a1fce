package sqldb

import (
	"context"
	"time"
)

// Transaction is what is told of one call of Write or Read. Nothing in it is of its
// statements or their values.
type Transaction struct {
	Write  bool
	Lane   Lane
	Began  time.Time     // when it was asked for
	Waited time.Duration // for its turn or a connection
	Ran    time.Duration // from then to the answer, with the commit; 0: it did not come to run
	Err    error
}

// teller is who wants to know of a transaction; nil: nobody.
func (db *DB) teller(ctx context.Context) func(Transaction) {
	if db.trace == nil {
		return nil
	}
	return db.trace(ctx)
}

// tell runs a transaction by run and tells of it. A job that is run again ran from its
// first time on.
func tell(t Transaction, told func(Transaction), fn func(context.Context, *Tx) error,
	run func(fn func(context.Context, *Tx) error) error,
) error {
	t.Began = time.Now()
	var ran time.Time // run does not return while fn runs
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
	told(t)
	return t.Err
}
