package inbound

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

//go:embed migrations
var files embed.FS

// Migration is the tables of this package, for sqldb.Config. It needs those of the
// audit log and of the engine.
func Migration() sqldb.Migration {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return sqldb.Migration{Name: "trigger", FS: sub}
}

// Starter is the engine, as far as this package needs it.
type Starter interface {
	// Do runs SQL and commands in one transaction; Before and After may run again.
	Do(ctx context.Context, unit engine.Unit) ([]engine.Result, error)
	// PutGraph stores a version of a graph unless the newest one says the same.
	PutGraph(ctx context.Context, tenant, id string, g flow.Graph) (engine.GraphRow, bool, error)
}

// Actions are those that may be the first of a template that an event starts, unless
// Config names others.
var Actions = []string{
	"preflight", "preflight_mf", "amazon_download", "amazon_print", "rakuten_download", "rakuten_print",
	"provider_ingest", "mf_reconcile", "month_close",
}

// Config is how deliveries are treated. Zero values mean what their comments say.
type Config struct {
	Engine Starter
	// Active reports whether an execution has not ended, as a transaction sees it. An
	// execution that does not exist has.
	Active      func(ctx context.Context, tx *sqldb.Tx, tenant, execution string) (bool, error)
	Actions     []string         // that are executable as a first step; nil: Actions
	MaxReceipts int              // of a tenant; 0: DefaultMaxReceipts
	TTL         time.Duration    // of a receipt; 0: DefaultTTL
	Now         func() time.Time // nil: the clock of the database, on SQLite that of the machine
	Backlog     string           // the file of RunBacklog; "": entries that wait for the database are in memory alone
	Log         *slog.Logger     // nil: nowhere
}

// Trigger starts executions from deliveries.
type Trigger struct {
	db      *sqldb.DB
	cfg     Config
	turns   turns
	news    chan struct{} // holds a token when receipts may have changed
	backlog backlog
}

// New makes a trigger over a database that has the tables of Migration. It does no I/O.
func New(db *sqldb.DB, cfg Config) *Trigger {
	if cfg.Actions == nil {
		cfg.Actions = Actions
	}
	if cfg.MaxReceipts == 0 {
		cfg.MaxReceipts = DefaultMaxReceipts
	}
	if cfg.TTL == 0 {
		cfg.TTL = DefaultTTL
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Trigger{
		db: db, cfg: cfg, turns: turns{of: map[string]*turn{}}, news: make(chan struct{}, 1),
		backlog: backlog{path: cfg.Backlog, wake: make(chan struct{}, 1)},
	}
}

// Caller is whose delivery it is, and how its traces are named.
type Caller struct {
	Tenant        string
	CorrelationID string
}

// executable reports whether an event may start a template with this first action.
func (t *Trigger) executable(action string) bool { return slices.Contains(t.cfg.Actions, action) }

// now is the time that receipts, entries and months go by: one clock for all processes.
func (t *Trigger) now(ctx context.Context, tx *sqldb.Tx) (at wire.Stamp, err error) {
	st := t.clock(&at)
	if st == nil {
		return at, nil
	}
	return at, tx.Batch(ctx, *st)
}

// here is the time while the database cannot be asked for it.
func (t *Trigger) here() wire.Stamp {
	if t.cfg.Now != nil {
		return wire.Stamp(t.cfg.Now().UnixMilli())
	}
	return wire.Stamp(time.Now().UnixMilli())
}

// clock is the statement that asks for the time; nil when it is known here, and at has it.
func (t *Trigger) clock(at *wire.Stamp) *sqldb.Stmt {
	switch {
	case t.cfg.Now != nil:
		*at = wire.Stamp(t.cfg.Now().UnixMilli())
	case t.db.Dialect() == sqldb.SQLite:
		*at = wire.Stamp(time.Now().UnixMilli())
	default:
		return &sqldb.Stmt{
			Query: "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)",
			Row:   func(r *sqldb.Row) error { return r.Scan(at) },
		}
	}
	return nil
}
