package webhooks

import (
	"cmp"
	"context"
	"embed"
	"log/slog"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
)

//go:embed migrations
var files embed.FS

// Migration is the tables of this package, for sqldb.Config.
func Migration() sqldb.Migration { return sqldb.Tables("webhooks", files) }

// service names the consumer and the idempotency keys.
const service = "webhooks"

// The defaults of Config.
const (
	DefaultTimeout   = 15 * time.Second
	DefaultRetention = 14 * 24 * time.Hour
)

// Tails reads events that the outbox has.
type Tails interface {
	Tail(ctx context.Context, f bus.EventFilter, from bus.TailFrom) (*bus.Tail, error)
}

// Config is what webhooks work with. Zero values mean what their comments say; what has none must be there.
type Config struct {
	Allowed      Allowed
	Tails        Tails
	Hidden       bus.Fields       // fields that are not sent; nil: none
	Name         string           // of this process, which tells it from others
	Agent        string           // User-Agent of requests; "": renga
	Timeout      time.Duration    // of a request; 0: DefaultTimeout
	Retention    time.Duration    // of deliveries that are settled; 0: DefaultRetention
	KeyRetention time.Duration    // how long an idempotency key is remembered; 0: idempotency.DefaultRetention
	Now          func() time.Time // nil: the clock of the database, on SQLite that of the machine
	Log          *slog.Logger     // nil: nowhere
}

// Webhooks keeps the webhooks of all tenants, and plans and sends their deliveries.
type Webhooks struct {
	db      *sqldb.DB
	cfg     Config
	keys    idempotency.Keys
	sender  *sender
	counts  counts
	wakeups chan struct{} // holds a token when Run may have something to do
}

// New is webhooks over a database that has the tables of Migration and of the audit log. It does no I/O.
func New(db *sqldb.DB, cfg Config) *Webhooks {
	cfg.Agent = cmp.Or(cfg.Agent, "renga")
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.Retention = cmp.Or(cfg.Retention, DefaultRetention)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Webhooks{
		db: db, cfg: cfg, keys: idempotency.Keys{Service: service, Retention: cfg.KeyRetention},
		sender: newSender(&cfg), wakeups: make(chan struct{}, 1),
	}
}

// Caller is who asks.
type Caller struct {
	Tenant        string
	Subject       string // "": not known
	CorrelationID string
}

// now is the time that webhooks go by: one clock for all processes.
func (w *Webhooks) now(ctx context.Context, tx *sqldb.Tx) (canonical.Stamp, error) {
	if w.cfg.Now != nil {
		return canonical.Stamp(w.cfg.Now().UnixMilli()), nil
	}
	ms, err := tx.Now(ctx)
	return canonical.Stamp(ms), err
}

func (w *Webhooks) read(ctx context.Context, op string, fn sqldb.Func) error {
	return fault.Wrap("webhooks."+op, w.db.Read(ctx, fn))
}

// write runs fn in a transaction with its time.
func (w *Webhooks) write(
	ctx context.Context, op string, fn func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error,
) error {
	return fault.Wrap("webhooks."+op, w.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := w.now(ctx, tx)
		if err != nil {
			return err
		}
		return fn(ctx, tx, now)
	}))
}

// wake lets Run look at once.
func (w *Webhooks) wake() {
	select {
	case w.wakeups <- struct{}{}:
	default:
	}
}
