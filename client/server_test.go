package client_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/reporting"
	"renga.dev/renga/internal/crm/search"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/inbound"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
	"renga.dev/renga/internal/recheck"
	"renga.dev/renga/internal/workflow/cancel"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/store"
)

// The tests talk to the real thing: a server as the program wires it, over a
// database of its own, on a port of its own.

// asServer makes the test binary a server on the data folder that it names, at
// asAddress, so that tests can kill one.
const (
	asServer  = "RENGA_TEST_CLIENT_SERVER"
	asAddress = "RENGA_TEST_CLIENT_ADDRESS"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(asServer); dir != "" {
		serveChild(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// eventToken is what senders of workflow events show.
const eventToken = "s3cret"

var quiet = slog.New(slog.DiscardHandler)

// patience is how long a test waits for what must come.
const patience = time.Minute

// server is a server inside the test's process.
type server struct {
	url   string
	gate  *gate.Gate
	close func() error
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// decider is the engine, or several that share a database.
type decider interface {
	httpapi.Commands
	httpapi.Reads
	httpapi.Graphs
	cancel.Engine
	inbound.Starter
	recheck.Engine
	Run(ctx context.Context) error
}

// open starts a server on a data folder.
func open(dir, address string) (*server, error) {
	return serve(sqldb.Config{Path: filepath.Join(dir, "renga.db")}, address)
}

// later publishes over a bus that has its consumers before it is there.
type later struct{ *bus.Bus }

// serve starts a server on a database, which on PostgreSQL others may use too.
func serve(cfg sqldb.Config, address string) (*server, error) { return serveWith(cfg, address, false) }

// serveWith is serve; with told, records are told of approvals, and take their outcomes.
func serveWith(cfg sqldb.Config, address string, told bool) (*server, error) {
	ctx, stop := context.WithCancel(context.Background())
	cfg.Migrations = []sqldb.Migration{
		store.Migration(), bulk.Migration(), audit.Migration(), inbound.Migration(), recheck.Migration(), bus.Migration(),
		metadata.Migration(), records.Migration(), sharing.Migration(), search.Migration(), reporting.Migration(),
		approval.Migration(), automation.Migration(), idempotency.Migration(),
	}
	if err := sqltest.Prepare(cfg, cfg.Migrations); err != nil {
		stop()
		return nil, err
	}
	db, err := sqldb.Open(ctx, cfg)
	if err != nil {
		stop()
		return nil, err
	}
	alone := db.Dialect() == sqldb.SQLite
	var decides decider
	var checks *recheck.Rechecks
	ended := func(h *engine.Head) (sqldb.Stmt, bool) { return checks.Ended(h) }
	if kept := store.New(db, store.Config{Ended: ended}); alone {
		decides = engine.New(kept, systemClock{}, engine.Config{Exclusive: true})
	} else {
		decides = engine.NewShards(kept, systemClock{}, engine.Config{}, 2)
	}
	auth, err := gate.OpenAuth(gate.AuthConfig{})
	if err != nil {
		stop()
		return nil, err
	}
	bulks := bulk.New(db, bulk.Config{Kinds: map[string]bulk.Kind{cancel.Name: cancel.New(decides, quiet)}, Exclusive: alone, Clock: systemClock{}})
	pass, err := gate.NewEventToken(eventToken, "")
	if err != nil {
		stop()
		return nil, err
	}
	events := inbound.New(db, inbound.Config{Engine: decides, Active: store.Active})
	checks = recheck.NewRechecks(recheck.NewStrategies(db), recheck.RecheckConfig{Engine: decides})
	models, news := metadata.NewModels(), &later{}
	shared := sharing.New(db, sharing.Config{Models: models, Records: records.Reads{}})
	var approves *approval.Approvals
	kept := records.New(db, records.Config{
		Models: models, Visible: shared, Publisher: news,
		Open: func(ctx context.Context, tx *sqldb.Tx, tenant, id string) (bool, error) {
			return approves.Open(ctx, tx, tenant, id)
		},
		Outcome: func(ctx context.Context, tx *sqldb.Tx, tenant, id string) (model.Outcome, error) {
			return approves.Outcome(ctx, tx, tenant, id)
		},
	})
	approves = approval.New(db, approval.Config{
		Models: models, Core: kept, Records: records.Reads{}, Locks: records.Locks{}, Publisher: news, Engine: decides,
	})
	news.Bus = bus.New(db, memory.New(), bus.Config{Instance: "p1", Exclusive: alone, Consumers: []bus.Consumer{kept.Consumer()}})
	shared.Announce(news)
	surface := httpapi.New(httpapi.Config{
		Commands: decides, Reads: decides, Graphs: decides, Bulks: bulks, Log: quiet,
	})
	routes := slices.Concat(
		surface.Routes(),
		metadata.New(db, metadata.Config{Models: models, Bus: news.Bus}).Routes(),
		shared.Routes(), approves.Routes(), kept.Routes(quiet), events.Routes(pass, nil), checks.Routes(""),
		automation.New(db, automation.Config{Models: models, Records: records.Reads{}, Writer: kept}).Routes(),
		reporting.New(db, reporting.Config{Models: models, Visible: shared, Records: records.Reads{}}).Routes(),
		search.New(db, search.Config{Models: models, Records: records.Reads{}, Visible: shared}).Routes(nil),
	)
	door, err := gate.New(gate.Config{Auth: auth, Log: quiet}, routes)
	if err != nil {
		stop()
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		stop()
		return nil, err
	}
	serving, endDB := context.WithCancel(context.Background())
	database, deciding, web := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { database <- db.Run(serving) }()
	go func() { deciding <- decides.Run(ctx) }()
	var working sync.WaitGroup
	working.Go(func() { bulks.Run(ctx) })
	working.Go(func() { checks.Run(ctx) })
	if told {
		working.Go(func() { _ = news.Run(ctx) })
	}
	answering := &http.Server{Handler: door}
	go func() { web <- answering.Serve(listener) }()
	end := func() error {
		door.Drain()
		_ = answering.Shutdown(context.Background())
		<-web
		stop()
		err := <-deciding
		working.Wait()
		endDB()
		if broken := <-database; broken != nil {
			err = broken
		}
		if broken := db.Close(); broken != nil {
			err = broken
		}
		return err
	}
	return &server{url: "http://" + listener.Addr().String(), gate: door, close: end}, nil
}

// serveChild is a server in a process of its own, until its standard input ends.
func serveChild(dir string) {
	s, err := open(dir, os.Getenv(asAddress))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.url)
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// newServer starts a server that ends with the test.
func newServer(t testing.TB) *server {
	t.Helper()
	s, err := open(t.TempDir(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// dial makes a client of a server that ends with the test.
func dial(t testing.TB, url string) *client.Client {
	t.Helper()
	c := client.New(client.Config{URL: url})
	t.Cleanup(c.Close)
	return c
}

// rig is a server and a client of it.
func rig(t testing.TB) *client.Client {
	t.Helper()
	return dial(t, newServer(t).url)
}

// soon is a context that ends a test which waits in vain.
func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	t.Cleanup(cancel)
	return ctx
}

// must is a value that could be had.
func must[T any](t testing.TB) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// line is a graph of Tasks in a row, all of one queue.
func line(queue string, tasks ...string) []byte {
	nodes, edges, last := `{"nodeId":"start","type":"Start"}`, "", "start"
	for _, task := range tasks {
		nodes += fmt.Sprintf(`,{"nodeId":%q,"type":"Task","queue":%q}`, task, queue)
		edges += fmt.Sprintf(`{"from":%q,"to":%q},`, last, task)
		last = task
	}
	return fmt.Appendf(nil, `{"nodes":[%s,{"nodeId":"done","type":"Success"}],"edges":[%s{"from":%q,"to":"done"}]}`, nodes, edges, last)
}

// started registers a graph, creates an execution of it and starts it.
func started(t testing.TB, c *client.Client, graph []byte, input any) string {
	t.Helper()
	ctx := soon(t)
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", graph))
	return must[client.Answer](t)(c.Send(ctx, client.CreateExecution{GraphID: "g", Input: input, Start: true})).ExecutionID
}
