package recheck

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/runs"
)

// The defaults of a RecheckConfig.
const (
	DefaultTimeout   = time.Hour
	DefaultRetention = 90 * 24 * time.Hour
	DefaultURLLife   = 5 * time.Minute
)

// Engine is the engine, as far as requests need it.
type Engine interface {
	// Do runs SQL and commands in one transaction; Before and After may run again.
	Do(ctx context.Context, unit engine.Unit) ([]engine.Result, error)
	// PutGraph stores a version of a graph unless the newest one says the same.
	PutGraph(ctx context.Context, tenant, id string, g flow.Graph) (engine.GraphRow, bool, error)
	// Execution is an execution as it is committed.
	Execution(ctx context.Context, tenant string, id flow.ID, at uint64) (engine.View, error)
	// Events are up to limit events of an execution from one on.
	Events(ctx context.Context, tenant string, id flow.ID, from uint64, limit int) ([]flow.Event, uint64, error)
}

// RecheckConfig is how requests are treated. Zero values mean what their comments say.
type RecheckConfig struct {
	Engine Engine
	// Down reports that whoever checks cannot be reached at present, so that nothing should
	// be accepted. It is asked for every request and must not wait. nil: never.
	Down         func() bool
	Timeout      time.Duration    // of one attempt at one strategy; 0: DefaultTimeout
	KeyRetention time.Duration    // how long a key is remembered; 0: idempotency.DefaultRetention
	Retention    time.Duration    // of requests that have ended; 0: DefaultRetention
	URLLife      time.Duration    // of the URL of an artifact; 0: DefaultURLLife
	Now          func() time.Time // nil: the clock of the database, on SQLite that of the machine
	Log          *slog.Logger     // nil: nowhere
}

// Rechecks takes requests to check strategies again and runs their batches.
type Rechecks struct {
	*runs.Ends
	db         *sqldb.DB
	strategies *Strategies
	cfg        RecheckConfig
	keys       idempotency.Keys
	graphs     runs.Graphs
	recent     recent
	secret     atomic.Pointer[[]byte]
}

// NewRechecks makes requests over strategies, in the same database. It does no I/O.
func NewRechecks(strategies *Strategies, cfg RecheckConfig) *Rechecks {
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.Retention = cmp.Or(cfg.Retention, DefaultRetention)
	cfg.URLLife = cmp.Or(cfg.URLLife, DefaultURLLife)
	if cfg.Down == nil {
		cfg.Down = func() bool { return false }
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Rechecks{
		Ends: runs.NewEnds(GraphPrefix, "pdca_ended"), db: strategies.db, strategies: strategies, cfg: cfg,
		keys: idempotency.Keys{Service: "recheck", Retention: cfg.KeyRetention},
	}
}

// Strategies are those that requests are about.
func (r *Rechecks) Strategies() *Strategies { return r.strategies }

// Caller is who asks, and how its traces are named.
type Caller struct {
	Tenant        string
	Subject       string // "": not known
	CorrelationID string
}

func (c *Caller) actor() flow.Actor { return flow.Actor{Kind: flow.KindUser, ID: c.Subject} }

// Status is how far a request is. The numbers are those in the table.
type Status int64

// The statuses.
const (
	Queued Status = iota
	Running
	Succeeded
	Failed
	Partial
	Canceled
)

var statusNames = [...]string{"queued", "running", "succeeded", "failed", "partial", "canceled"}

func (s Status) String() string { return statusNames[s] }

// MarshalText writes the word.
func (s Status) MarshalText() ([]byte, error) { return []byte(statusNames[s]), nil }

// UnmarshalText reads the word.
func (s *Status) UnmarshalText(text []byte) error {
	at := slices.Index(statusNames[:], string(text))
	if at < 0 {
		return unfit("%.32q is no status", text)
	}
	*s = Status(at)
	return nil
}

// Ended reports whether nothing will change any more.
func (s Status) Ended() bool { return s > Running }

// ItemStatus is how far one strategy of a request is. The numbers are those in the table.
type ItemStatus int64

// The statuses of items.
const (
	ItemQueued ItemStatus = iota
	ItemRunning
	ItemSucceeded
	ItemFailed
	ItemCanceled
	ItemPlanned
	itemStatuses // how many there are
)

// ItemStatusNames are the words, in the order of their numbers.
var ItemStatusNames = [itemStatuses]string{"queued", "running", "succeeded", "failed", "canceled", "planned"}

func (s ItemStatus) String() string { return ItemStatusNames[s] }

// MarshalText writes the word.
func (s ItemStatus) MarshalText() ([]byte, error) { return []byte(ItemStatusNames[s]), nil }

// ending is the status of a request whose items have come to their ends.
func ending(succeeded, failed, canceled int) Status {
	switch {
	case canceled > 0 && succeeded+failed == 0:
		return Canceled
	case failed == 0 && canceled == 0:
		return Succeeded
	case succeeded == 0 && canceled == 0:
		return Failed
	}
	return Partial
}

// now is the time that requests go by: one clock for all processes.
func (r *Rechecks) now(ctx context.Context, tx *sqldb.Tx) (canonical.Stamp, error) {
	if r.cfg.Now != nil {
		return canonical.Stamp(r.cfg.Now().UnixMilli()), nil
	}
	ms, err := tx.Now(ctx)
	return canonical.Stamp(ms), err
}

func (r *Rechecks) write(ctx context.Context, op string, fn func(context.Context, *sqldb.Tx) error) error {
	return fault.Wrap(op, r.db.Write(ctx, sqldb.Other, fn))
}

// forUpdate locks the row that a statement selects, where there is more than one writer.
func forUpdate(tx *sqldb.Tx) string {
	if tx.Dialect() == sqldb.SQLite {
		return ""
	}
	return " FOR UPDATE"
}
