package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/api"
	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/app/apptest"
	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/reporting"
	"renga.dev/renga/internal/crm/search"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/inbound"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/bustest"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/platform/session"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/recheck"
	"renga.dev/renga/internal/webhooks"
)

// server is the program over a database of its own, with a clock that tests can turn.
type server struct {
	t        testing.TB
	url      string
	client   *http.Client
	engine   app.Engine
	db       *sqldb.DB
	bus      *bus.Bus
	mail     *bustest.Events // what goes over the bus
	rechecks *recheck.Rechecks
	outputs  atomic.Int64 // that re-checks have read from logs
	records  *records.Records
	sharing  *sharing.Sharing
	search   *search.Search
	reports  *reporting.Reporting
	approval *approval.Approvals
	work     func() // lets bulks work, where that does not go by itself
	gate     *gate.Gate
	clock    *clock
	tenant   string // that requests act as when they name none; "": the default one
	keys     atomic.Int64

	automation *automation.Automation
	webhooks   *webhooks.Webhooks
}

// options change how a server is made.
type options struct {
	auth       gate.AuthConfig
	oidc       *session.OIDC
	public     string // the URL at which callers reach it; "": not known
	heartbeat  time.Duration
	idle       bool // bulks do not work until the test says so
	consumers  []bus.Consumer
	token      string         // of workflow events; "": everybody is let in
	owner      string         // tenant of workflow events, in mode jwt
	openEvents bool           // without a token, also in mode jwt
	trigger    inbound.Config // retention and actions
	down       func() bool    // whether those who check cannot be reached; nil: never
	log        *slog.Logger   // of the gate and of workflow events; nil: nowhere

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
	s := &server{t: t, clock: &clock{}}
	a := apptest.Start(t, s.config(o))
	s.engine, s.db, s.bus, s.rechecks, s.gate = a.Engine, a.DB, a.Bus, a.Rechecks, a.Gate
	s.records, s.sharing, s.search, s.reports, s.approval = a.Records, a.Sharing, a.Search, a.Reports, a.Approvals
	s.automation, s.webhooks = a.Automation, a.Webhooks
	s.mail.Bus, s.mail.DB = s.bus, s.db
	ctx, stop := context.WithCancel(context.Background())
	var working sync.WaitGroup
	s.work = sync.OnceFunc(func() { working.Go(func() { a.Bulks.Run(ctx) }) })
	if !o.idle {
		s.work()
	}
	web := httptest.NewServer(s.gate)
	s.url = web.URL
	s.client = &http.Client{Transport: checked{t, web.Client().Transport}}
	t.Cleanup(func() {
		s.gate.Drain()
		web.Close()
		s.verify()
		stop()
		working.Wait()
	})
	return s
}

// config is the program with a clock that tests turn. Services follow events and work only where a
// test lets them: what they would do by themselves is for their own tests.
func (s *server) config(o options) app.Config {
	s.t.Helper()
	s.mail = bustest.NewEvents(s.t, s.clock.Now)
	idle := []string{
		"audit", "inbound", "records", "sharing", "automation", "search", "reporting", "gate", "bulk",
		"webhooks",
	}
	if len(o.consumers) == 0 {
		idle = append(idle, "bus")
	}
	consumers := append([]bus.Consumer{}, o.consumers...)
	for i := range consumers {
		consumers[i].Handle = s.mail.Handle
	}
	pass, err := gate.NewEventToken(o.token, o.owner, o.openEvents)
	if err != nil {
		s.t.Fatal(err)
	}
	return app.Config{
		Shards: 3, Log: o.log, Auth: o.auth, OIDC: o.oidc, PublicURL: o.public,
		Rates: o.rates, Open: o.open, Heavy: o.heavy,
		EventPass: pass, Inbound: o.trigger, Recheck: recheck.RecheckConfig{Down: o.down},
		Override: app.Override{
			Name: "p1", Exclusive: true, Clock: s.clock, Consumers: consumers, Idle: idle, Reads: o.reads,
			Seals:     seal.Fixed([]byte(sealSecret)),
			Checks:    func(e recheck.Engine) recheck.Engine { return counted{e, &s.outputs} },
			Heartbeat: o.heartbeat, Watched: o.watched, Stalled: o.stalled,
		},
	}
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
			(bytes.Contains(r.body, []byte("before the database answered")) ||
				bytes.Contains(r.body, []byte("the database is busy")))
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
