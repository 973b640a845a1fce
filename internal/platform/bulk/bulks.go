package bulk

import (
	"context"
	"embed"
	"log/slog"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

//go:embed migrations
var files embed.FS

func Migration() sqldb.Migration { return sqldb.Tables("bulk", files) }

type Clock interface{ Now() time.Time }

// Config configures bulks.
type Config struct {
	Kinds map[string]Kind // by name
	// Exclusive: no other process works on these bulks, so at the start every lease is free.
	Exclusive bool
	// KeyRetention is how long an idempotency key is kept; 0: 30 days.
	KeyRetention time.Duration
	// Retention is how long a bulk is kept after its last change; 0: 30 days.
	Retention time.Duration
	// Lease is how long a process holds a bulk without a sign of life; 0: 10s.
	Lease time.Duration
	Clock Clock        // nil: the machine's; PostgreSQL's own clock wins
	Log   *slog.Logger // nil: none

	limits limits // smaller in tests
}

type limits struct {
	items  int // of one bulk
	freeze int // items of one transaction; Create freezes a smaller set itself
	work   int // items of one call of Kind.Do
	retain int // rows of one transaction
}

var realLimits = limits{items: MaxItems, freeze: 500, work: 200, retain: 500}

func (c Config) withDefaults() Config {
	if c.Retention == 0 {
		c.Retention = 30 * 24 * time.Hour
	}
	if c.Lease == 0 {
		c.Lease = 10 * time.Second
	}
	if c.Clock == nil {
		c.Clock = wall{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.limits == (limits{}) {
		c.limits = realLimits
	}
	return c
}

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

// Bulks are the bulks of a database, safe for concurrent use.
type Bulks struct {
	db     *sqldb.DB
	cfg    Config
	hold   string        // after a SELECT, locks the row if there is more than one writer
	wakeup chan struct{} // holds a token when there is work
}

// New does no I/O.
func New(db *sqldb.DB, cfg Config) *Bulks {
	s := &Bulks{db: db, cfg: cfg.withDefaults(), wakeup: make(chan struct{}, 1)}
	if db.Dialect() == sqldb.Postgres {
		s.hold = " FOR UPDATE"
	}
	return s
}

func (s *Bulks) wake() {
	select {
	case s.wakeup <- struct{}{}:
	default:
	}
}

func (s *Bulks) now(ctx context.Context, tx *sqldb.Tx) (int64, error) {
	return tx.NowBy(ctx, s.cfg.Clock.Now)
}

func (s *Bulks) read(ctx context.Context, op string, fn sqldb.Func) error {
	return fault.Wrap(op, s.db.Read(ctx, fn))
}

// write runs fn, given the time, at a lower priority than executions. fn may run again, so it sets its results anew.
func (s *Bulks) write(
	ctx context.Context, op string, fn func(ctx context.Context, tx *sqldb.Tx, now int64) error,
) error {
	return fault.Wrap(op, s.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		return fn(ctx, tx, now)
	}))
}

const columns = `num, id, tenant, kind, spec, status, total, applied, already, refused, failed, created_by, started_by,
	correlation_id, created_at, started_at, ended_at, place, epoch`

func scan(row *sqldb.Row) (Bulk, error) {
	var b Bulk
	var created, started, ended int64
	c := &b.Counts
	err := row.Scan(&b.num, &b.ID, &b.Tenant, &b.Kind, &b.Spec, &b.Status, &b.Total, &c.Applied, &c.Already, &c.Refused,
		&c.Failed, &b.CreatedBy, &b.StartedBy, &b.CorrelationID, &created, &started, &ended, &b.place, &b.epoch)
	b.CreatedAt, b.StartedAt, b.EndedAt = instant(created), instant(started), instant(ended)
	return b, err
}

func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
