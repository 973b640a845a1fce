package bus

import (
	"context"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Retention. What is unpublished, undecided or in progress does not expire.
const (
	Horizon       = 7 * 24 * time.Hour     // a published event, also in the stream
	ProcessedFor  = Horizon + 24*time.Hour // a processed mark
	DeadFor       = 30 * 24 * time.Hour    // a dead letter that has ended
	ReplayFor     = 30 * 24 * time.Hour    // a replay that has ended
	processFor    = 24 * time.Hour         // a process's row
	retainFirst   = 10 * time.Second       // after a start
	retainEvery   = 10 * time.Minute
	prepareEvery  = time.Hour
	retainRows    = 500                    // of a transaction
	maxRetainRest = 100 * time.Millisecond // after one; otherwise as long as it took
)

// day is in milliseconds.
const day = canonical.Stamp(24 * time.Hour / time.Millisecond)

// retention deletes expired rows, and makes and drops the day tables of processed_events.
type retention struct{ bus *Bus }

// retain works until ctx ends, in short transactions.
func (r *retention) retain(ctx context.Context) {
	prepared := time.Now() // by Run
	wait(ctx, retainFirst, nil)
	for ctx.Err() == nil {
		if time.Since(prepared) >= prepareEvery {
			prepared = time.Now()
			r.prepare(ctx)
		}
		r.attempt(ctx, "events that are past their time could not be deleted", r.retainAll)
		wait(ctx, retainEvery, nil)
	}
}

// prepare makes the next days' tables. Without them everything still works.
func (r *retention) prepare(ctx context.Context) {
	r.attempt(ctx, "tables for the days to come could not be made", r.prepareDays)
}

// attempt runs what is repeated anyway. It does not log an unavailable database, which logs itself.
func (r *retention) attempt(ctx context.Context, failed string, do func(context.Context) error) {
	if err := do(ctx); err != nil && ctx.Err() == nil && fault.KindOf(err) != fault.Unavailable {
		r.bus.log.Error(failed, "error", err)
	}
}

// rule deletes up to retainRows expired rows and returns their number.
type rule func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) (int64, error)

func (r *retention) retainAll(ctx context.Context) error {
	rules := []rule{
		before(DeadFor, `DELETE FROM bus_dead WHERE num IN (SELECT num FROM bus_dead
			WHERE ended_at > 0 AND ended_at < $1 ORDER BY ended_at LIMIT $2)`),
		before(ReplayFor, `DELETE FROM bus_replay WHERE (id, part) IN (SELECT id, part FROM bus_replay
			WHERE status <> 0 AND ended_at < $1 LIMIT $2)`),
		before(processFor, `DELETE FROM bus_lease WHERE (name, part) IN (SELECT name, part FROM bus_lease
			WHERE name >= 'process:' AND name < 'process;' AND until < $1 LIMIT $2)`),
		r.retainDays,
	}
	for part := range events.Partitions {
		rules = append(rules, before(Horizon, `DELETE FROM outbox_events WHERE id IN (SELECT id FROM outbox_events
			WHERE part = $3 AND published_at < $1 ORDER BY published_at LIMIT $2)`, part))
	}
	for _, rule := range rules {
		if err := r.apply(ctx, rule); err != nil {
			return err
		}
	}
	return nil
}

// before is the rule of a query with the instant $1, the number of rows $2, and args.
func before(kept time.Duration, query string, args ...any) rule {
	return func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) (int64, error) {
		return tx.Exec(ctx, query, append([]any{now - canonical.Stamp(kept.Milliseconds()), retainRows}, args...)...)
	}
}

// apply applies a rule while it deletes something.
func (r *retention) apply(ctx context.Context, do rule) error {
	for ctx.Err() == nil {
		began := time.Now()
		var n int64
		err := r.bus.write(ctx, "bus.retain", func(ctx context.Context, tx *sqldb.Tx) error {
			now, err := r.bus.now(ctx, tx)
			if err == nil {
				n, err = do(ctx, tx, now)
			}
			return err
		})
		if err != nil || n == 0 {
			return err
		}
		r.bus.cfg.Passed("retain.chunk")
		wait(ctx, min(time.Since(began), maxRetainRest), nil)
	}
	return nil
}
