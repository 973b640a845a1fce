package bus

import (
	"context"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// How long rows are kept. What is not published, not decided or in progress is kept
// for as long as that takes.
const (
	Horizon       = 7 * 24 * time.Hour     // an event after it was published; a stream keeps it as long
	ProcessedFor  = Horizon + 24*time.Hour // the mark of a processed event, after its day
	DeadFor       = 30 * 24 * time.Hour    // a dead letter after it was applied or skipped
	ReplayFor     = 30 * 24 * time.Hour    // a replay after its end
	processFor    = 24 * time.Hour         // the sign of life of a process
	retainFirst   = 10 * time.Second       // after a start, which has enough to do
	retainEvery   = 10 * time.Minute       // between two looks for what is past its time
	prepareEvery  = time.Hour              // between two looks for days that are to come
	retainRows    = 500                    // of one job
	maxRetainRest = 100 * time.Millisecond // after a job, which else rests as long as it took
)

// day is the length of a day in milliseconds.
const day = wire.Stamp(24 * time.Hour / time.Millisecond)

// retention deletes what is past its time, and makes and drops the day tables of processed_events.
type retention struct{ bus *Bus }

// retain deletes what has expired until ctx ends, in short jobs, and prepares the tables of the next days.
func (r *retention) retain(ctx context.Context) {
	prepared := time.Now() // Run did
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

// prepare makes the tables of the next days. Without them it works too.
func (r *retention) prepare(ctx context.Context) {
	r.attempt(ctx, "tables for the days to come could not be made", r.prepareDays)
}

// attempt runs a task that is repeated anyway. An unavailable database is not logged: it is reported elsewhere.
func (r *retention) attempt(ctx context.Context, failed string, do func(context.Context) error) {
	if err := do(ctx); err != nil && ctx.Err() == nil && fault.KindOf(err) != fault.Unavailable {
		r.bus.log.Error(failed, "error", err)
	}
}

// rule deletes up to retainRows expired rows, and gives how many those were.
type rule func(ctx context.Context, tx *sqldb.Tx, now wire.Stamp) (int64, error)

// retainAll deletes everything that has expired now.
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
	for part := range wire.Partitions {
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

// before is a rule for rows of which an instant is longer ago than they are kept. In
// its query that instant is $1, the number of rows $2, and args follow.
func before(kept time.Duration, query string, args ...any) rule {
	return func(ctx context.Context, tx *sqldb.Tx, now wire.Stamp) (int64, error) {
		return tx.Exec(ctx, query, append([]any{now - wire.Stamp(kept.Milliseconds()), retainRows}, args...)...)
	}
}

// apply applies a rule for as long as it deletes something.
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
