package inbound

import (
	"cmp"
	"context"
	"embed"
	"log/slog"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

//go:embed migrations
var files embed.FS

// Migration is the tables of this package, for sqldb.Config. It needs those of the
// audit log and of the engine.
func Migration() sqldb.Migration { return sqldb.Tables("trigger", files) }

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
	Active func(ctx context.Context, tx *sqldb.Tx, tenant, execution string) (bool, error)
	// HasGraph reports whether a tenant has a graph. Triggers need it.
	HasGraph    func(ctx context.Context, tenant, graph string) (bool, error)
	Actions     []string         // that are executable as a first step; nil: Actions
	MaxReceipts int              // of a tenant; 0: DefaultMaxReceipts
	TTL         time.Duration    // of a receipt; 0: DefaultTTL
	Now         func() time.Time // nil: the clock of the database, on SQLite that of the machine
	Backlog     string           // the file of RunBacklog; "": entries that wait for the database are in memory alone
	Log         *slog.Logger     // nil: nowhere
}

// Deliveries starts executions from deliveries.
type Deliveries struct {
	db      *sqldb.DB
	cfg     Config
	turns   turns
	changes chan struct{} // holds a token when receipts may have changed
	backlog backlog
}

// New makes deliveries over a database that has the tables of Migration. It does no I/O.
func New(db *sqldb.DB, cfg Config) *Deliveries {
	cfg.MaxReceipts, cfg.TTL = cmp.Or(cfg.MaxReceipts, DefaultMaxReceipts), cmp.Or(cfg.TTL, DefaultTTL)
	if cfg.Actions == nil {
		cfg.Actions = Actions
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Deliveries{
		db: db, cfg: cfg, turns: turns{of: map[string]*turn{}}, changes: make(chan struct{}, 1),
		backlog: backlog{path: cfg.Backlog, wake: make(chan struct{}, 1)},
	}
}

// Caller is whose delivery it is, and how its traces are named.
type Caller struct {
	Tenant        string
	CorrelationID string
}

// now is the time that receipts, entries and months go by: one clock for all processes.
func (t *Deliveries) now(ctx context.Context, tx *sqldb.Tx) (at canonical.Stamp, err error) {
	st := t.clock(&at)
	if st == nil {
		return at, nil
	}
	return at, tx.Batch(ctx, *st)
}

// here is the time while the database cannot be asked for it.
func (t *Deliveries) here() canonical.Stamp {
	if t.cfg.Now != nil {
		return canonical.Stamp(t.cfg.Now().UnixMilli())
	}
	return canonical.Stamp(time.Now().UnixMilli())
}

// alone says that no other process writes to the database, so its clock is the machine's.
func (t *Deliveries) alone() bool { return t.db.Dialect() == sqldb.SQLite }

// clock is the statement that asks for the time; nil when it is known here, and at has it.
func (t *Deliveries) clock(at *canonical.Stamp) *sqldb.Stmt {
	if t.cfg.Now != nil || t.alone() {
		*at = t.here()
		return nil
	}
	return &sqldb.Stmt{
		Query: "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)",
		Row:   func(r *sqldb.Row) error { return r.Scan(at) },
	}
}
