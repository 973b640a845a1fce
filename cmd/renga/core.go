package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"runtime"
	"sync"
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
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/recheck"
	"renga.dev/renga/internal/recheck/airflow"
	"renga.dev/renga/internal/workflow/cancel"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
)

// The database and the folder of reports inside the data folder.
const (
	databaseFile  = "renga.db"
	reportsFolder = "reports"
)

// decider is the engine: one that has SQLite to itself, or several that share
// PostgreSQL with other processes.
type decider interface {
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

// core is the engine over its database, without a door.
type core struct {
	db       *sqldb.DB
	health   *sqldb.Health
	store    *store.Store
	engine   decider
	bulks    *bulk.Bulks
	kinds    map[string]bulk.Kind // of bulks; complete before they are worked on
	bus      *bus.Bus             // nil until announce
	metadata *metadata.Metadata   // with bus
	sharing  *sharing.Sharing     // with bus
	reports  *reporting.Reporting // with bus
	report   *export.Export       // nil: the audit log is not exported
	trigger  *inbound.Trigger     // nil until receive
	rechecks *recheck.Rechecks
	airflow  *airflow.Adapter    // nil: others do the checks
	records  *records.Records    // with bus
	search   *search.Search      // with bus
	approval *approval.Approvals // with bus
	receipts string              // the file of receipts, with trigger
	silent   bool                // nothing is published
	name     string              // tells this process from others
	keep     time.Duration       // of keys
	log      *slog.Logger

	automation *automation.Automation // with bus

	frames atomic.Int64 // of streams that were held up

	beside []func(ctx context.Context) // what else runs until it drains; complete before run

	nudge func(tenant, queue string, n int) // lets claims look for tasks; nil: no other process makes any ready
	wake  func(tenant, queue string, n int) // tells other processes; nil: nobody is told. Set before run
}

// coreConfig is what an operator chooses of it.
type coreConfig struct {
	dataDir      string
	databaseURL  string                // "": SQLite in dataDir
	asIs         bool                  // the tables are there already, and none is made
	reading      time.Duration         // how long a read may last; 0: as long as in a server
	silent       bool                  // nobody will be told of what is written
	reports      bool                  // the audit log is exported to dataDir
	unnoted      bool                  // cancels are not in the audit log, to measure what that costs
	shards       int                   // engines over PostgreSQL; 0: the default
	keyRetention time.Duration         // zero: the default
	recheck      recheck.RecheckConfig // without what it works on
	watch        func(sqldb.Commit)
	trace        tracer // nil: transactions are not traced
	log          *slog.Logger
}

// defaultShards is how many engines share PostgreSQL in one process: one per core, but
// with one alone it would idle while the database works, and more than four gain nothing.
func defaultShards() int { return min(max(runtime.GOMAXPROCS(0), 2), 4) }

// openDB opens the database that a configuration names.
func openDB(ctx context.Context, cfg coreConfig) (*sqldb.DB, error) {
	c := sqldb.Config{
		Migrations: migrations(), Program: version, AsIs: cfg.asIs,
		Log: cfg.log, Watch: cfg.watch, Trace: cfg.trace, Reading: cfg.reading,
	}
	if cfg.databaseURL != "" {
		c.URL = cfg.databaseURL
	} else {
		c.Path = filepath.Join(cfg.dataDir, databaseFile)
	}
	return sqldb.Open(ctx, c)
}

// migrations are the tables of every package that has some.
func migrations() []sqldb.Migration {
	return []sqldb.Migration{
		sqldb.SchemaTables(),
		store.Migration(), bulk.Migration(), audit.Migration(), bus.Migration(), inbound.Migration(), recheck.Migration(),
		gate.Migration(), seal.Migration(),
		metadata.Migration(), records.Migration(), sharing.Migration(), automation.Migration(), search.Migration(), reporting.Migration(), approval.Migration(),
		idempotency.Migration(), // it takes over tables of those above
	}
}

// openCore opens the database and puts the engine over it.
func openCore(ctx context.Context, cfg coreConfig) (*core, error) {
	c := &core{silent: cfg.silent, name: uuid.NewString(), keep: cfg.keyRetention, log: cfg.log}
	cfg.watch = c.committed
	db, err := openDB(ctx, cfg)
	if err != nil {
		return nil, err
	}
	stored := store.Config{
		KeyRetention: cfg.keyRetention, Silent: cfg.silent, Canceled: noteCancels,
		Ended: c.executionEnded,
	}
	if cfg.unnoted {
		stored.Canceled = nil
	}
	c.db, c.store = db, store.New(db, stored)
	c.health = sqldb.NewHealth(db, c.name, cfg.log)
	if cfg.reports {
		c.report = export.New(db, export.Config{Dir: filepath.Join(cfg.dataDir, reportsFolder), Log: cfg.log})
	}
	alone := db.Dialect() == sqldb.SQLite
	if !alone {
		if err := c.store.Check(ctx); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	c.decide(engine.Config{Exclusive: alone, Reserved: c.ownQueue, KeyRetention: cfg.keyRetention, Log: cfg.log},
		cmp.Or(cfg.shards, defaultShards()))
	if cfg.trace != nil {
		c.engine = tracedEngine{c.engine, cfg.trace}
	}
	cfg.recheck.Engine, cfg.recheck.KeyRetention, cfg.recheck.Log = c.engine, cfg.keyRetention, cfg.log
	cfg.recheck.Down = c.checksWait
	c.rechecks = recheck.NewRechecks(recheck.NewStrategies(db), cfg.recheck)
	c.kinds = map[string]bulk.Kind{cancel.Name: cancel.New(c.engine, cfg.log)}
	c.bulks = bulk.New(db, bulk.Config{
		Kinds: c.kinds, Exclusive: alone, KeyRetention: cfg.keyRetention, Log: cfg.log,
	})
	return c, nil
}

// decide makes the engine: one that has its database to itself, or several.
func (c *core) decide(cfg engine.Config, n int) {
	if cfg.Exclusive {
		c.engine = engine.New(c.store, systemClock{}, cfg)
		return
	}
	cfg.Announce = func(tenant, queue string, n int) {
		if c.wake != nil {
			c.wake(tenant, queue, n)
		}
	}
	shards := engine.NewShards(c.store, systemClock{}, cfg, n)
	c.engine, c.nudge = shards, shards.WakeClaims
}

// committed tells those who follow what is committed.
func (c *core) committed(sqldb.Commit) {
	if c.report != nil {
		c.report.Wake()
	}
	if c.rechecks != nil {
		c.rechecks.Committed()
	}
	if c.approval != nil {
		c.approval.Committed()
	}
}

// announce puts the bus over the database and a carrier. apart says that other
// processes have the database too, but not the carrier; choices is what an operator asks of
// consumers.
func (c *core) announce(carrier bus.Carrier, apart bool, choices []string) error {
	models := metadata.NewModels()
	c.sharing = sharing.New(c.db, sharing.Config{Models: models, Records: records.Reads{}, Engine: c.engine, Worker: c.name, KeyRetention: c.keep, Log: c.log})
	c.records = records.New(c.db, records.Config{
		Models: models, Visible: c.sharing, Publisher: outbox{c}, Rules: automation.Rules{}, KeyRetention: c.keep, Open: c.isOpen, Outcome: c.outcome, Refused: c.outcomeRefused, Regrouped: c.regrouped,
	})
	c.automate(models)
	c.openSearch(models)
	c.reports = reporting.New(c.db, reporting.Config{
		Models: models, Visible: c.sharing, Records: records.Reads{}, Approvals: approval.Reads{}, Engine: c.engine, Worker: c.name, KeyRetention: c.keep, Log: c.log,
	})
	c.approve(models)
	consumers, err := bus.Configure([]bus.Consumer{
		c.records.Consumer(), c.sharing.Consumer(), c.automation.Consumer(), c.search.Consumer(), c.reports.Consumer(), c.approval.Consumer(),
	}, choices)
	if err != nil {
		return fmt.Errorf("--consumer: %w", err)
	}
	c.bus = bus.New(c.db, carrier, bus.Config{
		Consumers: consumers,
		Sensitive: models.Sensitive, Hidden: models.Hidden, Log: c.source(), Service: service, Instance: c.name, Exclusive: c.db.Dialect() == sqldb.SQLite, Apart: apart,
		KeyRetention: c.keep, Logger: c.log,
	})
	maps.Copy(c.kinds, dlq.Kinds(c.bus))
	c.metadata = metadata.New(c.db, metadata.Config{Models: models, Bus: c.bus, Graph: c.hasGraph, InUse: c.records.InUse})
	c.sharing.Announce(c.bus)
	c.beside = append(c.beside, c.sharing.Run, c.reports.Run)
	return nil
}

// ownQueue reports whether a queue is the server's own: that of rebuilds, and that of the
// checks of strategies when Airflow does them.
func (c *core) ownQueue(queue string) bool {
	return rebuild.Reserved(queue) || c.airflow != nil && queue == recheck.Queue
}

// hasGraph reports whether a tenant has a graph.
func (c *core) hasGraph(ctx context.Context, tenant, id string) (bool, error) {
	_, err := c.engine.Graph(ctx, tenant, id, 0)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil, err
}

// outbox publishes over the bus of a core, which has its consumers before it is there.
type outbox struct{ *core }

// Publish announces events in the transaction of the change that they tell of.
func (o outbox) Publish(ctx context.Context, tx *sqldb.Tx, events ...wire.Event) error {
	return o.bus.Publish(ctx, tx, events...)
}

// service names this program in the events that it publishes.
const service = "renga"

// source is the engine's log as the bus reads it.
func (c *core) source() bus.Source {
	return store.NewSource(c.store, store.SourceConfig{Service: service, Instance: c.name, Wake: func() { c.bus.WakeLog() }, Log: c.log})
}

// What is done beside, now and then. Keys of the engine that have expired are deleted, some at a
// time; counts that PostgreSQL keeps as deltas are folded; what goes with deleted records
// and was too much for one transaction is removed.
const (
	forgetEvery = 10 * time.Minute
	forgetMost  = 100_000
	foldEvery   = 5 * time.Second
	clearEvery  = 5 * time.Second
)

// forget deletes expired keys of the engine now and then, until ctx ends.
func (c *core) forget(ctx context.Context) {
	often(ctx, forgetEvery, func() {
		n, err := c.store.Retain(ctx, flow.At(time.Now().Add(-c.keep)), forgetMost)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			c.log.Warn("expired keys could not be deleted", "error", err)
		case n > 0:
			c.log.Info("expired keys deleted", "keys", n)
		}
	})
}

// fold folds counts now and then, until ctx ends. On SQLite there is nothing to fold.
func (c *core) fold(ctx context.Context) {
	if c.db.Dialect() == sqldb.SQLite {
		return
	}
	often(ctx, foldEvery, func() {
		_, err := c.store.CompactCounts(ctx)
		if err == nil && c.records != nil {
			_, err = c.records.Fold(ctx)
		}
		if err != nil && ctx.Err() == nil {
			c.log.Warn("counts could not be folded", "error", err)
		}
	})
}

// clear removes the members of deleted records that had many, until ctx ends.
func (c *core) clear(ctx context.Context) {
	if c.records == nil {
		return
	}
	often(ctx, clearEvery, func() {
		if err := c.records.Clear(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("members of deleted records could not be removed", "error", err)
		}
	})
}

// often does something at once and then every so often, until ctx ends.
func often(ctx context.Context, every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		do()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// systemClock is the time of the machine.
type systemClock struct{}

// Now is the time.
func (systemClock) Now() time.Time { return time.Now() }

// run serves commands until ctx ends, then finishes what was accepted: first the
// engine, bulks and what deletes keys, then the files that tell of it, then the
// database. An error means that the data cannot be trusted to be durable any more; it
// comes at once, whatever is still waiting.
func (c *core) run(ctx context.Context) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	database, deciding := make(chan error, 1), make(chan error, 1)
	go func() { database <- c.db.Run(serving) }()
	go func() { deciding <- c.engine.Run(ctx) }()
	var beside sync.WaitGroup
	beside.Go(func() { c.health.Run(ctx) })
	beside.Go(func() { c.forget(ctx) })
	beside.Go(func() { (&idempotency.Retention{DB: c.db, For: c.keep, Log: c.log}).Run(ctx) })
	beside.Go(func() { c.fold(ctx) })
	beside.Go(func() { c.clear(ctx) })
	beside.Go(func() { c.bulks.Run(ctx) })
	beside.Go(func() { c.rechecks.Run(ctx) })
	for _, run := range c.beside {
		beside.Go(func() { run(ctx) })
	}
	if c.bus != nil && !c.silent {
		beside.Go(func() { _ = c.bus.Run(ctx) })
	}
	reporting, reported := context.WithCancel(serving)
	var report sync.WaitGroup
	if c.report != nil {
		report.Go(func() { c.report.Run(reporting) })
	}
	if c.trigger != nil {
		report.Go(func() { _ = c.trigger.Export(reporting, c.receipts) }) // it says itself what fails
		report.Go(func() { c.trigger.RunBacklog(reporting) })
	}
	defer reported()
	select {
	case err := <-database:
		return err // the engine's loop ends with the process
	case err := <-deciding:
		beside.Wait()
		reported()
		report.Wait()
		stop()
		if broken := <-database; broken != nil {
			return broken
		}
		return err
	}
}
