package schedules

import (
	"cmp"
	"context"
	"embed"
	"log/slog"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
)

//go:embed migrations
var files embed.FS

// Migration is the tables of this package, for sqldb.Config.
func Migration() sqldb.Migration { return sqldb.Tables("schedules", files) }

// DefaultRetention is how long rows of the ledger are retained.
const DefaultRetention = 90 * 24 * time.Hour

// Engine starts executions.
type Engine interface {
	// Do runs SQL and commands in one transaction; Before and After may run again.
	Do(ctx context.Context, unit engine.Unit) ([]engine.Result, error)
}

// Config is what schedules work with. Zero values mean what their comments say; what has none must be there.
type Config struct {
	Engine Engine
	// HasGraph reports whether a tenant has a graph.
	HasGraph func(ctx context.Context, tenant, graph string) (bool, error)
	// Active reports whether an execution has not ended, as a transaction sees it. One that does not exist has.
	Active       func(ctx context.Context, tx *sqldb.Tx, tenant, execution string) (bool, error)
	KeyRetention time.Duration    // how long an idempotency key is remembered; 0: idempotency.DefaultRetention
	Retention    time.Duration    // of rows of the ledger; 0: DefaultRetention
	Now          func() time.Time // nil: the clock of the database, on SQLite that of the machine
	Log          *slog.Logger     // nil: nowhere
}

// Schedules keeps the schedules of all tenants and starts what is due.
type Schedules struct {
	db      *sqldb.DB
	cfg     Config
	keys    idempotency.Keys
	counts  counts
	wakeups chan struct{} // holds a token when Run may have something to do
}

// New is schedules over a database that has the tables of Migration, of the audit log and of the engine. It does no
// I/O.
func New(db *sqldb.DB, cfg Config) *Schedules {
	cfg.Retention = cmp.Or(cfg.Retention, DefaultRetention)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Schedules{
		db: db, cfg: cfg, keys: idempotency.Keys{Service: "schedules", Retention: cfg.KeyRetention},
		wakeups: make(chan struct{}, 1),
	}
}

// Caller is who asks.
type Caller struct {
	Tenant        string
	Subject       string // "": not known
	CorrelationID string
}

// now is the time that schedules go by: one clock for all processes.
func (s *Schedules) now(ctx context.Context, tx *sqldb.Tx) (canonical.Stamp, error) {
	if s.cfg.Now != nil {
		return canonical.Stamp(s.cfg.Now().UnixMilli()), nil
	}
	ms, err := tx.Now(ctx)
	return canonical.Stamp(ms), err
}

func (s *Schedules) read(ctx context.Context, op string, fn sqldb.Func) error {
	return fault.Wrap("schedules."+op, s.db.Read(ctx, fn))
}

func (s *Schedules) write(ctx context.Context, op string, fn sqldb.Func) error {
	return fault.Wrap("schedules."+op, s.db.Write(ctx, sqldb.Other, fn))
}

// wake lets Run look at once.
func (s *Schedules) wake() {
	select {
	case s.wakeups <- struct{}{}:
	default:
	}
}

// forUpdate locks the rows that a statement selects, where there is more than one writer.
func forUpdate(tx *sqldb.Tx, skip string) string {
	if tx.Dialect() == sqldb.SQLite {
		return ""
	}
	return " FOR UPDATE" + skip
}
