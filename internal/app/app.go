package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/console"
	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/reporting"
	"renga.dev/renga/internal/crm/search"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/inbound"
	"renga.dev/renga/internal/messages"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/audit/export"
	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/bulk/dlq"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/jet"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/platform/session"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/recheck"
	"renga.dev/renga/internal/recheck/airflow"
	"renga.dev/renga/internal/schedules"
	"renga.dev/renga/internal/webhooks"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/execbulk"
	"renga.dev/renga/internal/workflow/store"
	"renga.dev/renga/web"
)

// Engine is one that has SQLite to itself, or several that share PostgreSQL with other processes.
type Engine interface {
	httpapi.Commands
	httpapi.Reads
	httpapi.Graphs
	execbulk.Engine
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
	Inbound    *inbound.Deliveries
	Rechecks   *recheck.Rechecks
	Schedules  *schedules.Schedules
	Messages   *messages.Messages
	Webhooks   *webhooks.Webhooks
	Metadata   *metadata.Metadata
	models     *metadata.Models
	Records    *records.Records
	Sharing    *sharing.Sharing
	Search     *search.Search
	Reports    *reporting.Reporting
	Approvals  *approval.Approvals
	Automation *automation.Automation
	Sessions   *session.Sessions
	Gate       *gate.Gate

	cfg       Config
	parts     parts
	door      *Part  // the gate's
	name      string // tells this process from others
	log       *slog.Logger
	telemetry *gate.Telemetry
	health    *sqldb.Health
	seals     *seal.Seals      // of cursors and positions
	airflow   *airflow.Adapter // nil: others do the checks
	nats      *jet.Server      // nil: something else carries events
	frames    atomic.Int64     // of streams that were held up

	wakeClaims func(tenant, queue string, n int) // lets claims look for tasks; nil: no other process makes any ready

	server   *http.Server
	listener net.Listener
}

// Migrations are the tables of all parts.
func Migrations() []sqldb.Migration {
	a, err := assemble(Config{}, &gate.Telemetry{})
	if err != nil {
		panic(err) // nothing was chosen that could be wrong
	}
	return a.parts.tables()
}

// New makes the parts of the program and opens its database. Run lets it work, Close ends one that never ran.
func New(ctx context.Context, cfg Config) (_ *App, err error) {
	telemetry, err := gate.NewTelemetry(ctx, service, Version)
	if err != nil {
		return nil, err
	}
	a, err := assemble(cfg, telemetry)
	if err == nil {
		err = a.open(ctx)
	}
	if err != nil {
		if a != nil {
			err = errors.Join(err, a.Close())
		}
		_ = telemetry.Shutdown(context.WithoutCancel(ctx))
		return nil, err
	}
	return a, nil
}

// assemble makes the parts in their order. It does no I/O.
func assemble(cfg Config, telemetry *gate.Telemetry) (a *App, err error) {
	cfg.KeyRetention = cmp.Or(cfg.KeyRetention, defaultRetention)
	if cfg.EventPass == nil {
		if cfg.EventPass, err = gate.NewEventToken("", "", false); err != nil {
			return nil, err
		}
	}
	a = &App{
		cfg: cfg, name: cmp.Or(cfg.Override.Name, uuid.NewString()), telemetry: telemetry,
		log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)),
	}
	a.DB = sqldb.New(cfg.database(sqldb.Config{
		Watch: func(sqldb.Commit) { a.parts.committed() }, Trace: newTracer(telemetry, cfg.DatabaseURL), Log: a.log,
	}))
	if cfg.Override.Carrier == nil {
		a.nats = jet.New(jet.Config{
			Dir: filepath.Join(cfg.DataDir, NATSFolder), URL: cfg.NATSURL, Listen: cfg.NATSListen, Log: a.log,
		})
	}
	a.health = sqldb.NewHealth(a.DB, a.name, a.log)
	if a.seals = cfg.Override.Seals; a.seals == nil {
		a.seals = seal.New(a.DB)
	}
	models := metadata.NewModels()
	a.models = models
	a.parts = parts{
		a.newEngine(), a.newAudit(), a.newBus(models), a.newBulks(), a.newInbound(), a.newRechecks(), a.newSchedules(),
		a.newMessages(), newWebhooks(a, models), a.newConsole(),
	}
	a.parts = append(a.parts, a.newServices(models)...)
	if cfg.Airflow != nil {
		checks, err := a.newAirflow()
		if err != nil {
			return nil, err
		}
		a.parts = append(a.parts, checks)
	}
	sessions, part := newSessions(a)
	a.Sessions = sessions
	a.parts = append(a.parts, part, a.newDoor(), a.newIdempotency())
	consumers := cfg.Override.Consumers
	if consumers == nil {
		consumers = a.parts.consumers()
	}
	consumers, err = bus.Configure(consumers, cfg.Consumers)
	if err != nil {
		return nil, fmt.Errorf("--consumer: %w", err)
	}
	a.Bus.Subscribe(consumers...)
	return a, nil
}

// open opens the database with the tables of all parts, then what carries events, then the door.
func (a *App) open(ctx context.Context) error {
	if err := a.DB.Open(ctx, a.parts.tables()...); err != nil {
		return err
	}
	if a.DB.Dialect() != sqldb.SQLite {
		if err := a.Store.Check(ctx); err != nil {
			return err
		}
	}
	if err := a.openNATS(ctx); err != nil {
		return err
	}
	if err := a.compare(ctx); err != nil {
		return err
	}
	if err := a.openGate(); err != nil {
		return err
	}
	return a.listen(ctx)
}

// defaultRetention is how long a key is remembered.
const defaultRetention = 30 * 24 * time.Hour

// service names this program in the events that it publishes.
const service = "renga"

// alone says that no other process has this database.
func (a *App) alone() bool { return a.DB.Dialect() == sqldb.SQLite }

// newAudit is the audit log, which is exported to a file. Without a data folder it is not.
func (a *App) newAudit() *Part {
	p := &Part{Name: "audit", Tables: tablesOf(audit.Migration)}
	if a.cfg.DataDir != "" {
		report := export.New(a.DB, export.Config{Dir: filepath.Join(a.cfg.DataDir, ReportsFolder), Log: a.log})
		p.Follow, p.Committed = loops(report.Run), report.Wake
	}
	return p
}

// newBus is the bus between the log and the outbox and everybody who follows them.
func (a *App) newBus(models *metadata.Models) *Part {
	alone := a.alone() || a.cfg.Override.Exclusive
	source := store.NewSource(a.Store, store.SourceConfig{Service: service, Instance: a.name, Log: a.log})
	a.Bus = bus.New(a.DB, a.carrier(), bus.Config{
		Sensitive: models.Sensitive, Hidden: models.Hidden, Log: source, Service: service, Instance: a.name,
		Exclusive: alone, Apart: !alone && a.cfg.NATSURL == "", KeyRetention: a.cfg.KeyRetention,
		Clock: a.cfg.Override.Clock, Logger: a.log,
	})
	source.OnCommit(a.Bus.WakeLog)
	p := &Part{Name: "bus", Tables: tablesOf(bus.Migration)}
	if !a.cfg.Silent {
		p.Run = loops(func(ctx context.Context) { _ = a.Bus.Run(ctx) })
	}
	return p
}

// newBulks are the bulks about executions, and those that decide about dead letters.
func (a *App) newBulks() *Part {
	kinds := dlq.Kinds(a.Bus)
	maps.Copy(kinds, execbulk.Kinds(a.Engine, a.log))
	a.Bulks = bulk.New(a.DB, bulk.Config{
		Kinds: kinds, Exclusive: a.alone(), KeyRetention: a.cfg.KeyRetention, Clock: a.cfg.Override.Clock, Log: a.log,
	})
	return &Part{Name: "bulk", Tables: tablesOf(bulk.Migration), Run: loops(a.Bulks.Run)}
}

// newInbound lets workflow events start executions. Receipts, and entries that wait for the
// database, are in files of the data folder.
func (a *App) newInbound() *Part {
	p := &Part{Name: "inbound", Tables: tablesOf(inbound.Migration), Routes: func() []gate.Route {
		return a.Inbound.Routes(a.cfg.EventPass, a.ownQueue)
	}}
	cfg, dir := a.cfg.Inbound, a.cfg.DataDir
	cfg.Engine, cfg.Active, cfg.HasGraph, cfg.Now, cfg.Log = a.Engine, store.Active, a.hasGraph, a.now(), a.log
	if dir != "" {
		cfg.Backlog = filepath.Join(dir, inbound.BacklogFile)
		receipts := filepath.Join(dir, filepath.FromSlash(inbound.ReceiptsFile))
		p.Follow = loops(
			func(ctx context.Context) { _ = a.Inbound.Export(ctx, receipts) }, // it says itself what fails
			func(ctx context.Context) { a.Inbound.RunBacklog(ctx) },
		)
	}
	a.Inbound = inbound.New(a.DB, cfg)
	return p
}

// newRechecks are strategies and the requests to check them again.
func (a *App) newRechecks() *Part {
	cfg := a.cfg.Recheck
	cfg.Engine, cfg.KeyRetention, cfg.Now, cfg.Log = a.Engine, a.cfg.KeyRetention, a.now(), a.log
	if cfg.Down == nil {
		cfg.Down = a.checksWait
	}
	if wrap := a.cfg.Override.Checks; wrap != nil {
		cfg.Engine = wrap(a.Engine)
	}
	a.Rechecks = recheck.NewRechecks(recheck.NewStrategies(a.DB), cfg)
	return &Part{
		Name: "recheck", Tables: tablesOf(recheck.Migration), Run: loops(a.Rechecks.Run),
		Routes:    func() []gate.Route { return a.Rechecks.Routes(strings.TrimSuffix(a.cfg.PublicURL, "/")) },
		Committed: a.Rechecks.Committed, Ended: a.Rechecks.Ended,
	}
}

// newSchedules starts graphs at the times of schedules.
func (a *App) newSchedules() *Part {
	a.Schedules = schedules.New(a.DB, schedules.Config{
		Engine: a.Engine, HasGraph: a.hasGraph, Active: store.Active, KeyRetention: a.cfg.KeyRetention, Now: a.now(),
		Log: a.log,
	})
	return &Part{
		Name: "schedules", Tables: tablesOf(schedules.Migration), Routes: a.Schedules.Routes,
		Run: loops(a.Schedules.Run),
	}
}

// newMessages delivers messages to the nodes that wait for them.
func (a *App) newMessages() *Part {
	a.Messages = messages.New(a.DB, messages.Config{
		Engine: a.Engine, Awaiting: store.Awaiting, IsAwaited: store.IsAwaited, Subscribed: store.Subscribed,
		KeyRetention: a.cfg.KeyRetention, Now: a.now(), Log: a.log,
	})
	return &Part{
		Name: "messages", Tables: tablesOf(messages.Migration), Routes: a.Messages.Routes, Run: loops(a.Messages.Run),
	}
}

// newConsole is the web console.
func (a *App) newConsole() *Part {
	return &Part{Name: "console", Routes: func() []gate.Route {
		c, err := web.Open(Version)
		if err != nil {
			a.log.Warn("the web console is a plain page", "error", err)
		}
		return console.New(c, a.cfg.PublicURL).Routes()
	}}
}

// newIdempotency deletes the idempotency keys of all services when they have expired. Its tables come
// last: they take over those of the services.
func (a *App) newIdempotency() *Part {
	retention := &idempotency.Retention{DB: a.DB, For: a.cfg.KeyRetention, Log: a.log}
	return &Part{Name: "idempotency", Tables: tablesOf(idempotency.Migration), Run: loops(retention.Run)}
}

// loops and tablesOf are lists, for the literals of parts.
func loops(all ...func(context.Context)) []func(context.Context) { return all }

func tablesOf(migration func() sqldb.Migration) []sqldb.Migration {
	return []sqldb.Migration{migration()}
}
