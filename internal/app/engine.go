package app

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/recheck"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
)

// newEngine is the engine over its tables: one that has its database to itself, or several.
func (a *App) newEngine() *Part {
	stored := store.Config{
		KeyRetention: a.cfg.KeyRetention, Silent: a.cfg.Silent, Canceled: noteCancels,
		Ended:   func(h *engine.Head) (sqldb.Stmt, bool) { return a.parts.executionEnded(h) },
		Late:    func(l *engine.Late) (sqldb.Stmt, func(), error) { return a.Messages.Late(l) },
		Waiting: func(w *engine.WaitRow) (sqldb.Stmt, bool) { return a.Automation.Waiting(w) },
		Awaits:  func(tenant string, of flow.Awaited) { a.Messages.Awaits(tenant, of) },
	}
	if a.cfg.Override.Unaudited {
		stored.Canceled = nil
	}
	a.Store = store.New(a.DB, stored)
	var tables engine.Store = a.Store
	if wrap := a.cfg.Override.Store; wrap != nil {
		tables = wrap(tables)
	}
	a.Engine = a.decider(tables)
	if trace := newTracer(a.telemetry, a.cfg.DatabaseURL); trace != nil {
		a.Engine = tracedEngine{a.Engine, trace}
	}
	return &Part{
		Name: "engine", Tables: tablesOf(store.Migration), Routes: a.surface,
		Retain: func(ctx context.Context, limit int) (int64, error) {
			n, err := a.Store.Retain(ctx, flow.At(a.clock().Now().Add(-a.cfg.KeyRetention)), limit)
			return int64(n), err
		},
		Compact: func(ctx context.Context) error {
			_, err := a.Store.CompactCounts(ctx)
			return err
		},
	}
}

// decider is one engine, or the shards that share PostgreSQL with those of other processes.
func (a *App) decider(tables engine.Store) Engine {
	cfg := engine.Config{Exclusive: a.alone(), Reserved: a.ownQueue, KeyRetention: a.cfg.KeyRetention, Log: a.log}
	if a.alone() {
		return engine.New(tables, a.clock(), cfg)
	}
	if a.nats != nil && a.cfg.NATSURL != "" {
		cfg.Announce = a.nats.Wake
	}
	shards := engine.NewShards(tables, a.clock(), cfg, cmp.Or(a.cfg.Shards, defaultShards()))
	a.wakeClaims = shards.WakeClaims
	return shards
}

// defaultShards is how many engines share PostgreSQL in one process: one per core, but
// with one alone it would idle while the database works, and more than four gain nothing.
func defaultShards() int { return min(max(runtime.GOMAXPROCS(0), 2), 4) }

// ownQueue reports whether a queue is the server's own: that of rebuilds, and that of the
// checks of strategies when Airflow does them.
func (a *App) ownQueue(queue string) bool {
	return rebuild.Reserved(queue) || a.cfg.Airflow != nil && queue == recheck.Queue
}

// hasGraph reports whether a tenant has a graph.
func (a *App) hasGraph(ctx context.Context, tenant, id string) (bool, error) {
	_, err := a.Engine.Graph(ctx, tenant, id, 0)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil, err
}

// systemClock is the time of the machine.
type systemClock struct{}

// Now is the time.
func (systemClock) Now() time.Time { return time.Now() }

// clock is the machine's, or one that a test turns.
func (a *App) clock() engine.Clock {
	if a.cfg.Override.Clock == nil {
		return systemClock{}
	}
	return a.cfg.Override.Clock
}

// now is the time that a test turns; nil: what each part takes by itself.
func (a *App) now() func() time.Time {
	if a.cfg.Override.Clock == nil {
		return nil
	}
	return a.cfg.Override.Clock.Now
}
