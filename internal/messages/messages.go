package messages

import (
	"cmp"
	"context"
	"embed"
	"log/slog"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

//go:embed migrations
var files embed.FS

// Migration is the tables of this package, for sqldb.Config.
func Migration() sqldb.Migration { return sqldb.Tables("messages", files) }

// DefaultRetention is how long a message is retained that is kept no longer.
const DefaultRetention = 30 * 24 * time.Hour

// Engine resumes nodes and starts executions.
type Engine interface {
	// Do runs SQL and commands in one transaction; After may run again.
	Do(ctx context.Context, unit engine.Unit) ([]engine.Result, error)
}

// Config is what messages work with. Zero values mean what their comments say; what has none must be there.
type Config struct {
	Engine Engine
	// Awaiting are the nodes that wait for a message, the longest waiting first, as a transaction sees them.
	Awaiting func(ctx context.Context, tx *sqldb.Tx, tenant string, of flow.Awaited, limit int) (
		[]engine.AwaitingNode, error)
	// IsAwaited is the condition in SQL that a node waits for the message of a tenant, name and key.
	IsAwaited func(tenant, name, key string) string
	// Subscribed are the graphs that messages of a name start, by id, as a transaction sees them.
	Subscribed func(ctx context.Context, tx *sqldb.Tx, tenant, name string, limit int) ([]string, error)

	KeyRetention time.Duration    // how long an idempotency key is remembered; 0: idempotency.DefaultRetention
	Retention    time.Duration    // of messages that are kept no longer; 0: DefaultRetention
	Now          func() time.Time // nil: the clock of the database, on SQLite that of the machine
	Log          *slog.Logger     // nil: nowhere
}

// Messages are those of all tenants.
type Messages struct {
	db     *sqldb.DB
	cfg    Config
	keys   idempotency.Keys
	queue  chan awaited // what nodes began to wait for
	missed atomic.Bool  // something is not in the queue: Run looks for all that is kept and awaited
}

// awaited is what a node of a tenant waits for.
type awaited struct {
	tenant string
	flow.Awaited
}

// New is messages over a database that has the tables of Migration and of the engine. It does no I/O.
func New(db *sqldb.DB, cfg Config) *Messages {
	cfg.Retention = cmp.Or(cfg.Retention, DefaultRetention)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Messages{
		db: db, cfg: cfg, keys: idempotency.Keys{Service: "messages", Retention: cfg.KeyRetention},
		queue: make(chan awaited, maxQueued),
	}
}

// Awaits notes that a node has begun to wait for a message, which may be kept already. It does not block.
func (m *Messages) Awaits(tenant string, of flow.Awaited) {
	select {
	case m.queue <- awaited{tenant, of}:
	default:
		m.missed.Store(true)
	}
}

// now is the time that messages go by: one clock for all processes.
func (m *Messages) now(ctx context.Context, tx *sqldb.Tx) (canonical.Stamp, error) {
	if m.cfg.Now != nil {
		return canonical.Stamp(m.cfg.Now().UnixMilli()), nil
	}
	ms, err := tx.Now(ctx)
	return canonical.Stamp(ms), err
}

func (m *Messages) read(ctx context.Context, op string, fn sqldb.Func) error {
	return fault.Wrap("messages."+op, m.db.Read(ctx, fn))
}

func (m *Messages) write(ctx context.Context, op string, fn sqldb.Func) error {
	return fault.Wrap("messages."+op, m.db.Write(ctx, sqldb.Other, fn))
}
