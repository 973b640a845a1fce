package bulk

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

//go:embed migrations
var files embed.FS

// Migration is the tables of bulks, for sqldb.Config.
func Migration() sqldb.Migration {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return sqldb.Migration{Name: "bulk", FS: sub}
}

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Config is how bulks are done. Zero values mean what their comments say.
type Config struct {
	Kinds map[string]Kind // by their names
	// Exclusive says that no other process works on these bulks, so a lease that is
	// found at the start is of a process that has ended.
	Exclusive bool
	// KeyRetention is how long a key is remembered; 0: 30 days.
	KeyRetention time.Duration
	// Retention is how long a bulk is kept that nothing happens to any more; 0: 30 days.
	Retention time.Duration
	// Lease is how long a chunk stays with a process that gives no sign of life; 0: 10s.
	Lease time.Duration
	Clock Clock        // nil: the machine's. With PostgreSQL its clock counts, not this one.
	Log   *slog.Logger // nil: nowhere

	limits limits // tests have smaller ones
}

// limits bound what is done at once. Zero values are the real ones.
type limits struct {
	items  int // of one bulk
	freeze int // items that one transaction freezes; a smaller set is frozen when Create answers
	work   int // items that are worked on at once
	retain int // rows that one job deletes
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

// Now is the machine's time.
func (wall) Now() time.Time { return time.Now() }

// Bulks are the bulks in a database. Its methods may be called from anywhere.
type Bulks struct {
	db   *sqldb.DB
	cfg  Config
	kick chan struct{} // holds one token when there is something new to work on
}

// New makes bulks of a database that has their tables (Migration). It does no I/O.
func New(db *sqldb.DB, cfg Config) *Bulks {
	return &Bulks{db: db, cfg: cfg.withDefaults(), kick: make(chan struct{}, 1)}
}

func (s *Bulks) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// now is the time in milliseconds by the clock that all processes share.
func (s *Bulks) now(ctx context.Context, tx *sqldb.Tx) (int64, error) {
	if tx.Dialect() == sqldb.SQLite {
		return s.cfg.Clock.Now().UnixMilli(), nil
	}
	return tx.Now(ctx)
}

// read runs fn in a read transaction and names the operation in its errors.
func (s *Bulks) read(ctx context.Context, op string, fn func(context.Context, *sqldb.Tx) error) error {
	return fault.Wrap(op, s.db.Read(ctx, fn))
}

// write runs fn in a transaction of its own, behind what executions wait for. It may
// run more than once, so fn sets everything that it gives back anew.
func (s *Bulks) write(ctx context.Context, op string, fn func(context.Context, *sqldb.Tx) error) error {
	return fault.Wrap(op, s.db.Write(ctx, sqldb.Other, fn))
}

const columns = `num, id, tenant, kind, spec, status, total, applied, already, refused, failed, created_by, started_by,
	correlation_id, created_at, started_at, ended_at, place, epoch`

func scan(row *sqldb.Row) (Bulk, error) {
	var b Bulk
	var created, started, ended int64
	err := row.Scan(&b.num, &b.ID, &b.Tenant, &b.Kind, &b.Spec, &b.Status, &b.Total, &b.Counts.Applied,
		&b.Counts.Already,
		&b.Counts.Refused, &b.Counts.Failed, &b.CreatedBy, &b.StartedBy, &b.CorrelationID, &created, &started, &ended,
		&b.place, &b.epoch)
	b.CreatedAt, b.StartedAt, b.EndedAt = instant(created), instant(started), instant(ended)
	return b, err
}

// instant is a stored time; 0 is none.
func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
