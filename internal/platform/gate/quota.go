package gate

import (
	"context"
	"embed"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/sqldb"
)

// How processes share quotas.
const (
	drawWithin = 500 * time.Millisecond // that a request waits for the database
	awayFor    = 2 * time.Second        // that the database is left alone after it failed
	beatEvery  = 10 * time.Second       // a process says that it is there
	beatWithin = 5 * time.Second
	goneAfter  = 30 * time.Second // since a process was seen
	sweepMost  = 1000             // rows that one beat deletes
)

//go:embed migrations
var files embed.FS

// Migration is the tables of shared quotas, for sqldb.Config.
func Migration() sqldb.Migration { return sqldb.Tables("gate", files) }

// Quota is what the processes on one PostgreSQL have used of the limits of their clients. A process
// draws some calls at a time from a client's row, so there is no statement per request. Time is the
// database's.
type Quota struct {
	db    *sqldb.DB
	name  string
	log   *slog.Logger
	peers atomic.Int64 // processes that were seen, this one among them

	mu   sync.Mutex
	away bool      // the last draw failed
	shut time.Time // no draw before, while away
}

// NewQuota makes one, for a process with a name of its own. It does no I/O.
func NewQuota(db *sqldb.DB, name string, log *slog.Logger) *Quota {
	q := &Quota{db: db, name: name, log: log}
	q.peers.Store(1)
	return q
}

// sqlNow is the time of the database in microseconds, the same in all of a statement.
const sqlNow = `(extract(epoch FROM statement_timestamp()) * 1000000)::bigint`

// drawing takes up to $3 calls of a client's quota, as many as are left: $4 is the
// interval of one call, $5 that of a full quota. What was given is noted in the row, since
// the arrival before the draw is not to be had afterwards.
var drawing = strings.NewReplacer(
	"{arrival}", "GREATEST(r.arrival, {now})",
	"{granted}", "LEAST($3::bigint, GREATEST(0, ({now} + $5::bigint - GREATEST(r.arrival, {now})) / $4::bigint))",
).Replace(`INSERT INTO gate_rate AS r (class, client, arrival, granted)
VALUES ($1, $2, {now} + $3::bigint * $4::bigint, $3::bigint)
ON CONFLICT (class, client) DO UPDATE SET arrival = {arrival} + $4::bigint * {granted}, granted = {granted}
RETURNING granted, arrival - {now}`)

var drawStatement = strings.ReplaceAll(drawing, "{now}", sqlNow)

// drawn is what a draw gave.
type drawn struct {
	calls int
	ahead time.Duration // of the client's arrival before the database's now, after the draw
}

// errAway says that the database was away a moment ago.
var errAway = errors.New("the database is away")

// draw takes up to n calls of a client. It waits no longer than drawWithin; while the
// database is away, not at all.
func (q *Quota) draw(class string, client []byte, n int, rate Rate, at time.Time) (drawn, error) {
	q.mu.Lock()
	wait := q.shut.Sub(at)
	shut := q.away && wait > 0 && wait <= awayFor
	q.mu.Unlock()
	if shut {
		return drawn{}, errAway
	}
	type result struct {
		drawn
		err error
	}
	ended := make(chan result, 1)
	ctx, cancel := context.WithTimeout(context.Background(), drawWithin)
	defer cancel()
	go func() { // a job that has begun is finished, however long the network takes
		var r result
		r.err = q.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			var calls, ahead int64
			err := tx.Row(ctx, drawStatement, class, client, n, rate.interval().Microseconds(),
				rate.full().Microseconds()).Scan(&calls, &ahead)
			r.drawn = drawn{int(calls), time.Duration(ahead) * time.Microsecond}
			return err
		})
		ended <- r
	}()
	select {
	case r := <-ended:
		q.judge(r.err, at)
		return r.drawn, r.err
	case <-ctx.Done():
		q.judge(ctx.Err(), at)
		return drawn{}, ctx.Err()
	}
}

// judge notes whether the database is there, and tells when that changes.
func (q *Quota) judge(err error, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	was := q.away
	if q.away = err != nil; q.away {
		q.shut = at.Add(awayFor)
	}
	switch {
	case q.away && !was:
		q.log.Warn("rate limits cannot be shared, this process keeps to its own part of them", keyError, err)
	case was && !q.away:
		q.log.Info("rate limits are shared again")
	}
}

// share is this process's part of a limit.
func (q *Quota) share(limit int) int { return max(1, limit/int(q.peers.Load())) }

// Run says now and then that this process is there, counts those that are, and deletes
// what says nothing any more, until ctx ends.
func (q *Quota) Run(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		_ = q.beat(ctx) // a draw reports an outage, where it matters
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatWithin)
	defer cancel()
	// Should this fail, the process is gone after goneAfter.
	_ = q.db.Write(last, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM gate_process WHERE name = $1`, q.name)
		return err
	})
}

func (q *Quota) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatWithin)
	defer cancel()
	var peers int64
	err := q.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Batch(
			ctx,
			sqldb.Stmt{Query: `INSERT INTO gate_process (name, seen) VALUES ($1, ` + sqlNow +
				`) ON CONFLICT (name) DO UPDATE SET seen = ` + sqlNow, Args: []any{q.name}},
			sqldb.Stmt{Query: `DELETE FROM gate_process WHERE name IN (SELECT name FROM gate_process WHERE seen < ` +
				sqlNow + ` - $1::bigint FOR UPDATE SKIP LOCKED)`, Args: []any{goneAfter.Microseconds()}},
			sqldb.Stmt{
				Query: `DELETE FROM gate_rate WHERE (class, client) IN (SELECT class, ` +
					`client FROM gate_rate WHERE arrival < ` + sqlNow + ` LIMIT $1 FOR UPDATE SKIP LOCKED)`,
				Args: []any{sweepMost},
			},
			sqldb.Stmt{Query: `SELECT count(*) FROM gate_process`, Row: func(r *sqldb.Row) error {
				return r.Scan(&peers)
			}},
		)
	})
	if err == nil {
		q.peers.Store(max(1, peers))
	}
	return err
}
