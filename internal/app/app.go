package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/rebuild"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/reporting"
	"renga.dev/renga/internal/crm/search"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/inbound"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/audit/export"
	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/bulk/dlq"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/jet"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/recheck"
	"renga.dev/renga/internal/recheck/airflow"
	"renga.dev/renga/internal/workflow/cancel"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/store"
)

// Engine is one that has SQLite to itself, or several that share PostgreSQL with other processes.
type Engine interface {
	httpapi.Commands
	httpapi.Reads
	httpapi.Graphs
	cancel.Engine
	inbound.Starter
	recheck.Engine
	Verify(ctx context.Context, progress func(done int)) (engine.Report, error)
	Metrics() engine.Metrics
	Run(ctx context.Context) error
}

// App is the program: everything that New has made.
type App struct {
	DB         *sqldb.DB
	Store      *store.Store
	Engine     Engine
	Bus        *bus.Bus
	Bulks      *bulk.Bulks
	Inbound    *inbound.Trigger
	Rechecks   *recheck.Rechecks
	Metadata   *metadata.Metadata
	Records    *records.Records
	Sharing    *sharing.Sharing
	Search     *search.Search
	Reports    *reporting.Reporting
	Approvals  *approval.Approvals
	Automation *automation.Automation
	Gate       *gate.Gate

	cfg       Config
	name      string // tells this process from others
	log       *slog.Logger
	telemetry *gate.Telemetry
	health    *sqldb.Health
	report    *export.Export
	airflow   *airflow.Adapter // nil: others do the checks
	nats      *jet.Server      // nil: a test has put another carrier in its place
	frames    atomic.Int64     // of streams that were held up

	beside []func(ctx context.Context) // what else runs until it drains

	nudge func(tenant, queue string, n int) // lets claims look for tasks; nil: no other process makes any ready
	wake  func(tenant, queue string, n int) // tells other processes; nil: nobody is told

	server   *http.Server
	listener net.Listener
}

// Migrations are the tables of every package that has some.
func Migrations() []sqldb.Migration {
	return []sqldb.Migration{
		sqldb.SchemaTables(),
		store.Migration(), bulk.Migration(), audit.Migration(), bus.Migration(), inbound.Migration(), recheck.Migration(),
		gate.Migration(), seal.Migration(),
		metadata.Migration(), records.Migration(), sharing.Migration(), automation.Migration(), search.Migration(),
		reporting.Migration(), approval.Migration(),
	}
}

// New opens the database and makes the program over it. Run lets it work, Close ends one that never ran.
func New(ctx context.Context, cfg Config) (_ *App, err error) {
	cfg.KeyRetention = cmp.Or(cfg.KeyRetention, defaultRetention)
	a := &App{cfg: cfg, name: uuid.NewString(), log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))}
	if a.telemetry, err = gate.NewTelemetry(ctx, service, Version); err != nil {
		return nil, err
	}
	if cfg.EventPass == nil {
		if a.cfg.EventPass, err = gate.NewEventToken("", ""); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
			a.shutdown(ctx)
		}
	}()
	if err := a.openEngine(ctx); err != nil {
		return nil, err
	}
	carrier, err := a.openCarrier(ctx)
	if err != nil {
		return nil, err
	}
	a.openInbound()
	if err := a.openBus(carrier); err != nil {
		return nil, err
	}
	if err := a.compare(ctx); err != nil {
		return nil, err
	}
	if err := a.connect(); err != nil {
		return nil, err
	}
	if err := a.openAirflow(); err != nil {
		return nil, err
	}
	if a.Gate, err = a.openGate(); err != nil {
		return nil, err
	}
	return a, a.listen(ctx)
}

// defaultRetention is how long a key is remembered.
const defaultRetention = 30 * 24 * time.Hour

// defaultShards is how many engines share PostgreSQL in one process: one per core, but
// with one alone it would idle while the database works, and more than four gain nothing.
func defaultShards() int { return min(max(runtime.GOMAXPROCS(0), 2), 4) }

// openEngine opens the database and puts the engine over it, and what needs nothing else.
func (a *App) openEngine(ctx context.Context) (err error) {
	trace := newTracer(a.telemetry, a.cfg.DatabaseURL)
	a.DB, err = openDB(ctx, a.cfg.Place, sqldb.Config{Watch: a.committed, Trace: trace, Log: a.log})
	if err != nil {
		return err
	}
	stored := store.Config{
		KeyRetention: a.cfg.KeyRetention, Silent: a.cfg.Silent, Canceled: noteCancels, Ended: a.executionEnded,
	}
	if a.cfg.Unaudited {
		stored.Canceled = nil
	}
	a.Store = store.New(a.DB, stored)
	a.health = sqldb.NewHealth(a.DB, a.name, a.log)
	a.report = export.New(a.DB, export.Config{Dir: filepath.Join(a.cfg.DataDir, ReportsFolder), Log: a.log})
	alone := a.DB.Dialect() == sqldb.SQLite
	if !alone {
		if err := a.Store.Check(ctx); err != nil {
			return err
		}
	}
	a.newEngine(engine.Config{Exclusive: alone, Reserved: a.ownQueue, KeyRetention: a.cfg.KeyRetention, Log: a.log})
	if trace != nil {
		a.Engine = tracedEngine{a.Engine, trace}
	}
	checks := a.cfg.Recheck
	checks.Engine, checks.KeyRetention, checks.Log, checks.Down = a.Engine, a.cfg.KeyRetention, a.log, a.checksWait
	a.Rechecks = recheck.NewRechecks(recheck.NewStrategies(a.DB), checks)
	return nil
}

// newEngine makes the engine: one that has its database to itself, or several.
func (a *App) newEngine(cfg engine.Config) {
	if cfg.Exclusive {
		a.Engine = engine.New(a.Store, systemClock{}, cfg)
		return
	}
	cfg.Announce = func(tenant, queue string, n int) {
		if a.wake != nil {
			a.wake(tenant, queue, n)
		}
	}
	shards := engine.NewShards(a.Store, systemClock{}, cfg, cmp.Or(a.cfg.Shards, defaultShards()))
	a.Engine, a.nudge = shards, shards.Nudge
}

// committed tells those who follow what is committed.
func (a *App) committed(sqldb.Commit) {
	if a.report != nil {
		a.report.Wake()
	}
	if a.Rechecks != nil {
		a.Rechecks.Committed()
	}
	if a.Approvals != nil {
		a.Approvals.Committed()
	}
}

// openBus puts the bus over the database and a carrier, and the services that follow it.
func (a *App) openBus(carrier bus.Carrier) error {
	models := metadata.NewModels()
	a.newServices(models)
	consumers, err := bus.Configure([]bus.Consumer{
		a.Records.Consumer(), a.Sharing.Consumer(), a.Automation.Consumer(), a.Search.Consumer(), a.Reports.Consumer(),
		a.Approvals.Consumer(),
	}, a.cfg.Consumers)
	if err != nil {
		return fmt.Errorf("--consumer: %w", err)
	}
	alone := a.DB.Dialect() == sqldb.SQLite
	a.Bus = bus.New(a.DB, carrier, bus.Config{
		Consumers: consumers,
		Sensitive: models.Sensitive, Hidden: models.Hidden, Log: a.source(), Service: service, Instance: a.name,
		Exclusive: alone, Apart: !alone && a.cfg.NATSURL == "", KeyRetention: a.cfg.KeyRetention, Logger: a.log,
	})
	kinds := dlq.Kinds(a.Bus)
	kinds[cancel.Name] = cancel.New(a.Engine, a.log)
	a.Bulks = bulk.New(a.DB, bulk.Config{Kinds: kinds, Exclusive: alone, KeyRetention: a.cfg.KeyRetention, Log: a.log})
	a.Metadata = metadata.New(a.DB, metadata.Config{
		Models: models, Bus: a.Bus, Graph: a.hasGraph, InUse: a.Records.InUse,
	})
	a.Sharing.Announce(a.Bus)
	return nil
}

// service names this program in the events that it publishes.
const service = "renga"

// source is the engine's log as the bus reads it.
func (a *App) source() bus.Source {
	return store.NewSource(a.Store, store.SourceConfig{
		Service: service, Instance: a.name, Wake: func() { a.Bus.WakeLog() }, Log: a.log,
	})
}

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
