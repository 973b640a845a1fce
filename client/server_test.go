package client_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/app/apptest"
	"renga.dev/renga/internal/platform/gate"
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

// idle are the parts whose background work is for their own tests.
var idle = []string{"audit", "inbound", "records", "sharing", "automation", "search", "reporting", "approval", "gate"}

var quiet = slog.New(slog.DiscardHandler)

// patience is how long a test waits for what must come.
const patience = time.Minute

// server is a server inside the test's process.
type server struct {
	url   string
	gate  *gate.Gate
	close func() error
}

// open starts a server on a data folder.
func open(dir, address string) (*server, error) {
	return serve(app.Place{DataDir: dir}, address)
}

// serve starts a server on a database, which on PostgreSQL others may use too.
func serve(at app.Place, address string) (*server, error) { return serveWith(at, address, false) }

// serveWith is serve; withBus delivers events to the services.
func serveWith(at app.Place, address string, withBus bool) (*server, error) {
	pass, err := gate.NewEventToken(eventToken, "", false)
	if err != nil {
		return nil, err
	}
	idle := idle
	if !withBus {
		idle = append(slices.Clip(idle), "bus")
	}
	return serveApp(app.Config{
		Place: at, Addr: address, Shards: 2, EventPass: pass, Override: app.Override{Idle: idle},
	})
}

// serveApp starts a server of a program.
func serveApp(cfg app.Config) (*server, error) {
	a, err := apptest.Open(context.Background(), cfg)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	end := func() error {
		stop()
		return <-ended
	}
	return &server{url: "http://" + a.Addr().String(), gate: a.Gate, close: end}, nil
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
	return fmt.Appendf(nil, `{"nodes":[%s,{"nodeId":"done","type":"Success"}],"edges":[%s{"from":%q,"to":"done"}]}`,
		nodes, edges, last)
}

// started registers a graph, creates an execution of it and starts it.
func started(t testing.TB, c *client.Client, graph []byte, input any) string {
	t.Helper()
	ctx := soon(t)
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", graph))
	return must[client.Answer](t)(c.Send(ctx, client.CreateExecution{
		GraphID: "g", Input: input,
		Start: true,
	})).ExecutionID
}
