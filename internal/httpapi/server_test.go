package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/api"
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
	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/bulk/dlq"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/bustest"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
	"renga.dev/renga/internal/recheck"
	"renga.dev/renga/internal/workflow/cancel"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/sim"
	"renga.dev/renga/internal/workflow/store"
)

// server is the whole system over a database of its own, as cmd/renga wires it,
// with a clock that tests can turn.
type server struct {
	t        testing.TB
	url      string
	client   *http.Client
	engine   decider
	bulks    *bulk.Bulks
	db       *sqldb.DB
	store    *store.Store
	bus      *bus.Bus
	mail     *bustest.Events // what goes over the bus
	trigger  *inbound.Trigger
	rechecks *recheck.Rechecks
	outputs  atomic.Int64 // that re-checks have read from logs
	metadata *metadata.Metadata
	records  *records.Records
	sharing  *sharing.Sharing
	search   *search.Search
	reports  *reporting.Reporting
	approval *approval.Approvals
	pass     *gate.EventToken
	work     func() // lets bulks work, where that does not go by itself
	gate     *gate.Gate
	clock    *clock
	tenant   string // that requests act as when they name none; "": the default one
	keys     atomic.Int64

	automation *automation.Automation
}

// options change how a server is made.
type options struct {
	auth      gate.AuthConfig
	heartbeat time.Duration
	idle      bool // bulks do not work until the test says so
	consumers []bus.Consumer
	token     string         // of workflow events; "": everybody is let in
	owner     string         // tenant of workflow events, in mode jwt
	trigger   inbound.Config // retention and actions
	down      func() bool    // whether those who check cannot be reached; nil: never
	log       *slog.Logger   // of the gate and of workflow events; nil: nowhere

	rates map[string]gate.Rate // by rate class; nil: nothing is limited
	open  map[string]gate.Open // by open class; nil: the defaults
	heavy int                  // heavy requests at a time; 0: the default

	reads   func(httpapi.Reads) httpapi.Reads // in place of the engine's; nil: they are as they are
	stalled func()                            // called for a frame that was held up
	watched [2]int                            // executions that task watches of one caller, and of all, look at
}

func newServer(t testing.TB) *server { return newServerWith(t, options{}) }

func newServerWith(t testing.TB, o options) *server {
	t.Helper()
	beside(t)
	ctx, stop := context.WithCancel(context.Background())
	s := &server{
		t:     t,
		clock: &clock{},
	}
	db := s.open(ctx)
	s.db = db
	quiet := slog.New(slog.DiscardHandler)
	s.openBus(o)
	if o.log == nil {
		o.log = quiet
	}
	s.openTrigger(o)
	s.rechecks = recheck.NewRechecks(recheck.NewStrategies(db), recheck.RecheckConfig{Engine: counted{s.engine, &s.outputs}, Down: o.down, Now: s.clock.Now, Log: o.log})
	kinds := dlq.Kinds(s.bus)
	kinds[cancel.Name] = cancel.New(s.engine, quiet)
	s.bulks = bulk.New(db, bulk.Config{Kinds: kinds, Exclusive: !postgres(), Clock: s.clock})
	auth, err := gate.OpenAuth(o.auth)
	if err != nil {
		t.Fatal(err)
	}
	telemetry, err := gate.NewTelemetry(ctx, "renga", "test")
	if err != nil {
		t.Fatal(err)
	}
	var reads httpapi.Reads = s.engine
	if o.reads != nil {
		reads = o.reads(reads)
	}
	routes := s.routes(httpapi.Config{
		Commands: s.engine, Reads: reads, Graphs: s.engine, Bulks: s.bulks, Log: quiet, Heartbeat: o.heartbeat, Watched: o.watched, Stalled: o.stalled,
		Events: s.bus, DeadLetters: s.bus, Replays: s.bus, Settings: settings{s.store}, Audit: audit.New(db),
		Reserved: s.ownQueue,
		Seals:    seal.Fixed([]byte(sealSecret)),
	})
	s.gate, err = gate.New(gate.Config{Auth: auth, Telemetry: telemetry, Log: o.log, Rates: o.rates, Open: o.open, Heavy: o.heavy}, table(telemetry, routes))
	if err != nil {
		t.Fatal(err)
	}
	stopDB, endDB := context.WithCancel(context.Background())
	database, deciding := make(chan error, 1), make(chan error, 1)
	go func() { database <- db.Run(stopDB) }()
	go func() { deciding <- s.engine.Run(ctx) }()
	var working sync.WaitGroup
	s.work = sync.OnceFunc(func() { working.Go(func() { s.bulks.Run(ctx) }) })
	if !o.idle {
		s.work()
	}
	working.Go(func() { s.rechecks.Run(ctx) })
	working.Go(func() { s.approval.Run(ctx) })
	if len(o.consumers) > 0 {
		working.Go(func() { _ = s.bus.Run(ctx) })
	}
	web := httptest.NewServer(s.gate)
	s.url = web.URL
	s.client = &http.Client{Transport: checked{t, web.Client().Transport}}
	t.Cleanup(func() {
		s.gate.Drain()
		web.Close()
		s.verify()
		stop()
		if err := <-deciding; err != nil {
			t.Errorf("engine: %v", err)
		}
		working.Wait()
		endDB()
		if err := <-database; err != nil {
			t.Errorf("database: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		_ = telemetry.Shutdown(context.Background())
	})
	return s
}

// parted are the tests that run beside others.
var parted sync.Map

// beside lets a test that has a server run beside others of its kind: most of its time
// it waits for a disk.
func beside(t testing.TB) {
	one, is := t.(*testing.T)
	if _, again := parted.LoadOrStore(t, true); !is || again || strings.Contains(t.Name(), "/") {
		return
	}
	one.Parallel()
}

// postgres says that the tests of this run are about PostgreSQL. make test runs both.
func postgres() bool { return os.Getenv("RENGA_TEST_DB") == "postgres" }

// decider is one engine, or several that share a database.
type decider interface {
	httpapi.Commands
	httpapi.Reads
	httpapi.Graphs
	cancel.Engine
	inbound.Starter
	recheck.Engine
	Verify(ctx context.Context, progress func(done int)) (engine.Report, error)
	Run(ctx context.Context) error
}

// open makes a database and puts the engine over it. On PostgreSQL that is several
// engines, which go by the test's clock and not by the server's.
func (s *server) open(ctx context.Context) *sqldb.DB {
	s.t.Helper()
	cfg := sqldb.Config{Migrations: migrations(), Watch: s.committed}
	if postgres() {
		cfg.URL = pgtest.CopyOf(s.t, func(url string) error { return prepare(sqldb.Config{URL: url}) })
	} else {
		cfg.Path = filepath.Join(s.t.TempDir(), "renga.db")
		if err := sqltest.Prepare(cfg, cfg.Migrations); err != nil {
			s.t.Fatal(err)
		}
	}
	db, err := sqldb.Open(ctx, cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	kept := store.New(db, store.Config{Ended: s.ended})
	s.store = kept
	if postgres() {
		s.engine = engine.NewShards(sim.Timed{Store: kept}, s.clock, engine.Config{Reserved: s.ownQueue}, 3)
	} else {
		s.engine = engine.New(kept, s.clock, engine.Config{Exclusive: true, Reserved: s.ownQueue})
	}
	return db
}

func migrations() []sqldb.Migration {
	return []sqldb.Migration{
		store.Migration(), bulk.Migration(), audit.Migration(), bus.Migration(), inbound.Migration(), recheck.Migration(),
		metadata.Migration(), records.Migration(), sharing.Migration(), search.Migration(), reporting.Migration(),
		approval.Migration(), automation.Migration(), idempotency.Migration(),
	}
}

// prepare makes all tables in a database.
func prepare(cfg sqldb.Config) error {
	cfg.Migrations = migrations()
	db, err := sqldb.Open(context.Background(), cfg)
	if err != nil {
		return err
	}
	return db.Close()
}

// ownQueue says which queues are the server's own, as in a process without Airflow.
func (s *server) ownQueue(queue string) bool { return rebuild.Reserved(queue) }

// verify lets the log prove itself (EVT-6), after every test.
func (s *server) verify() {
	report, err := s.engine.Verify(context.Background(), nil)
	if err != nil {
		s.t.Errorf("verify: %v", err)
	}
	for _, problem := range report.Problems {
		s.t.Errorf("verify: execution %v: %s", problem.Execution, problem.What)
	}
}

// routes are the routes of all services.
func (s *server) routes(cfg httpapi.Config) []gate.Route {
	var pass gate.Pass
	if s.pass != nil {
		pass = s.pass
	}
	return slices.Concat(
		httpapi.New(cfg).Routes(), s.metadata.Routes(), s.sharing.Routes(),
		s.trigger.Routes(pass, cfg.Reserved), s.rechecks.Routes(""), s.records.Routes(cfg.Log),
		s.reports.Routes(), s.approval.Routes(), s.automation.Routes(), s.search.Routes(cfg.Seals),
	)
}

// allRoutes are those routes with nothing behind them.
func allRoutes() []gate.Route {
	s := &server{metadata: new(metadata.Metadata), sharing: new(sharing.Sharing), trigger: new(inbound.Trigger), rechecks: new(recheck.Rechecks), records: new(records.Records), reports: new(reporting.Reporting), approval: new(approval.Approvals), automation: new(automation.Automation), search: new(search.Search)}
	return s.routes(httpapi.Config{})
}

// table is the route table of the process.
func table(telemetry *gate.Telemetry, routes []gate.Route) []gate.Route {
	ready := func(context.Context) error { return nil }
	checks := []gate.Check{{Name: "database", Probe: ready}, {Name: "nats", Probe: ready}}
	pages := gate.Pages{Checks: checks, Metrics: telemetry.Metrics, OpenAPI: api.OpenAPI}
	return append(pages.Routes(), routes...)
}

// clock is the machine's clock, put forward by tests, or made to stand still.
type clock struct{ ahead, still atomic.Int64 }

func (c *clock) Now() time.Time {
	if at := c.still.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Now().Add(time.Duration(c.ahead.Load()))
}

// advance puts the clock forward and makes the engine look at it.
func (s *server) advance(d time.Duration) {
	s.t.Helper()
	s.clock.ahead.Add(int64(d))
	s.post("/tasks/claim", `{"workerId":"nobody","queues":["nothing"]}`).is(200)
}

// key makes an idempotency key that no other request has.
func (s *server) key() string { return fmt.Sprintf("key-%d", s.keys.Add(1)) }

// get reads a path.
func (s *server) get(path string, header ...string) reply {
	s.t.Helper()
	return s.do("GET", path, "", header...)
}

// post sends a command under a key of its own.
func (s *server) post(path, body string, header ...string) reply {
	s.t.Helper()
	return s.postOnce(s.key(), path, body, header...)
}

// postOnce sends a command under a key.
func (s *server) postOnce(key, path, body string, header ...string) reply {
	s.t.Helper()
	return s.do("POST", path, body, append([]string{"X-Idempotency-Key", key}, header...)...)
}

// do sends a request; header is names and values in turn. It is sent again while the database
// is busy: every command is safe to repeat, and machines that run tests stand still at times.
func (s *server) do(method, path, body string, header ...string) reply {
	s.t.Helper()
	for tries := 0; ; tries++ {
		r := s.once(method, path, body, header...)
		busy := r.status == http.StatusServiceUnavailable &&
			(bytes.Contains(r.body, []byte("before the database answered")) || bytes.Contains(r.body, []byte("the database is busy")))
		if !busy || tries == 20 {
			return r
		}
	}
}

// once sends a request one time.
func (s *server) once(method, path, body string, header ...string) reply {
	s.t.Helper()
	req := s.request(context.Background(), method, path, body, header...)
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return reply{s.t, method + " " + path, resp.StatusCode, resp.Header, raw}
}

func (s *server) request(ctx context.Context, method, path, body string, header ...string) *http.Request {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.tenant != "" {
		req.Header.Set("X-Tenant-Id", s.tenant)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

// committed tells those who follow what is committed; nobody does while the database is
// opened.
func (s *server) committed(sqldb.Commit) {
	if s.rechecks != nil {
		s.rechecks.Committed()
	}
	if s.approval != nil {
		s.approval.Committed()
	}
}
