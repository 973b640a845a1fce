package jet

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"renga.dev/renga/internal/platform/bus/jet/jettest"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/test/stalltest"
)

// TestMain is, as a child, a NATS server.
func TestMain(m *testing.M) {
	jettest.Main()
	goleak.VerifyTestMain(m)
}

// maxWait is for anything that should come soon.
const maxWait = time.Minute

// notes is a log that a test can read and wait for.
type notes struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wrote chan struct{}
}

func newNotes() *notes { return &notes{wrote: make(chan struct{}, 100)} }

func (n *notes) Write(line []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case n.wrote <- struct{}{}:
	default:
	}
	return n.text.Write(line)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

func (n *notes) logger() *slog.Logger { return slog.New(slog.NewTextHandler(n, nil)) }

// wait returns when the log says something.
func (n *notes) wait(t *testing.T, words string) {
	t.Helper()
	late := time.After(maxWait)
	for !strings.Contains(n.String(), words) {
		select {
		case <-n.wrote:
		case <-late:
			t.Fatalf("the log does not say %q:\n%s", words, n)
		}
	}
}

// open opens a server that is closed with the test.
func open(t *testing.T, cfg Config) *Server {
	t.Helper()
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// stream makes a stream on files.
func stream(t *testing.T, s *Server) jetstream.Stream {
	t.Helper()
	made, err := s.stream.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{
		Name: "EVENTS", Subjects: []string{"events.>"}, Storage: jetstream.FileStorage,
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestTheServerInsideKeepsItsMessages(t *testing.T) {
	dir, log := filepath.Join(t.TempDir(), "nats"), newNotes()
	texts := []string{"one", "two", "three"}
	for i, text := range texts {
		s, err := Open(t.Context(), Config{Dir: dir, Log: log.logger()})
		if err != nil {
			t.Fatal(err)
		}
		kept := stream(t, s)
		if _, err := s.stream.Publish(t.Context(), "events.a", []byte(text)); err != nil {
			t.Fatal(err)
		}
		for j, want := range texts[:i+1] {
			got, err := kept.GetMsg(t.Context(), uint64(j+1))
			if err != nil || string(got.Data) != want {
				t.Errorf("start %d: message %d is %v (%v), want %s", i+1, j+1, got, err, want)
			}
		}
		s.Close()
	}
	if got := log.String(); got != "" {
		t.Errorf("the log is not empty:\n%s", got)
	}
}

func TestTheServerInsideDoesNotListen(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	if addr := s.inside.Addr(); addr != nil {
		t.Errorf("it listens on %v", addr)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A server that cannot write its files does this to itself.
func TestJetStreamThatWasSwitchedOffFailsTheCheck(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	if err := s.inside.ShutdownJetStream(); err != nil {
		t.Fatal(err)
	}
	err := s.Check(t.Context())
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "switched itself off") {
		t.Errorf("the check says %v", err)
	}
}

func TestCloseWaitsForSubscriptionsAndKeepsWhatWasAcknowledged(t *testing.T) {
	const n = 1000
	dir := t.TempDir()
	s, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	stream(t, s)
	handled, closing := atomic.Int64{}, make(chan struct{})
	if _, err := s.Conn().Subscribe("events.>", func(*nats.Msg) { <-closing; handled.Add(1) }); err != nil {
		t.Fatal(err)
	}
	for range n {
		if _, err := s.stream.PublishAsync("events.a", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-s.stream.PublishAsyncComplete():
	case <-time.After(maxWait):
		t.Fatal("not everything was acknowledged")
	}
	close(closing)
	s.Close()
	s.Close() // again does nothing
	if got := handled.Load(); got != n {
		t.Errorf("%d messages were handled, want %d", got, n)
	}
	info, err := stream(t, open(t, Config{Dir: dir})).Info(t.Context())
	if err != nil || info.State.Msgs != n {
		t.Errorf("there are %+v (%v), want %d messages", info, err, n)
	}
}

func TestAFolderThatCannotBeUsedIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stalls, began := stalltest.New(t), time.Now()
	_, err := Open(t.Context(), Config{Dir: file})
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want an error that names %s", err, file)
	}
	if took := stalls.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// outside starts a server that listens on loopback, as an operator would run it.
func outside(t *testing.T, opts server.Options) *server.Server {
	t.Helper()
	opts.Host, opts.NoSigs, opts.NoLog, opts.StoreDir = "127.0.0.1", true, true, t.TempDir()
	if opts.Port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	s, err := server.NewServer(&opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	s.Start()
	if !s.ReadyForConnections(maxWait) {
		t.Fatal("the server outside does not start")
	}
	return s
}

// at is the URL of a server with credentials.
func at(s *server.Server, credentials string) string {
	return "nats://" + credentials + s.Addr().String()
}

func TestAServerOutsideIsUsedAndFoundAgain(t *testing.T) {
	secured := server.Options{JetStream: true, Username: "renga", Password: "hush-hush"}
	first, log := outside(t, secured), newNotes()
	s := open(t, Config{URL: at(first, "renga:hush-hush@"), Log: log.logger()})
	stream(t, s)
	if first.NumClients() != 1 {
		t.Errorf("the server has %d clients, want 1", first.NumClients())
	}
	secured.Port = first.Addr().(*net.TCPAddr).Port
	first.Shutdown()
	first.WaitForShutdown()
	log.wait(t, "connection to NATS lost")
	stalls, began := stalltest.New(t), time.Now()
	err := s.Check(t.Context())
	if fault.KindOf(err) != fault.Unavailable ||
		!strings.Contains(err.Error(), "no connection to NATS at nats://127.0.0.1") {
		t.Errorf("without a server the check says %v", err)
	}
	if _, err := s.stream.Publish(t.Context(), "events.a", nil); err == nil {
		t.Error("a message was taken without a server")
	}
	if took := stalls.Since(began); took > 5*time.Second {
		t.Errorf("check and publish took %v without a server", took)
	}
	outside(t, secured)
	log.wait(t, "connected to NATS again")
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("with the server again the check says %v", err)
	}
	if strings.Contains(log.String(), "hush") {
		t.Errorf("the log has the password:\n%s", log)
	}
}

func TestAServerThatIsAwayDoesNotHoldUpTheEnd(t *testing.T) {
	outer, log := outside(t, server.Options{JetStream: true}), newNotes()
	s := open(t, Config{URL: at(outer, ""), Log: log.logger()})
	outer.Shutdown()
	log.wait(t, "connection to NATS lost")
	stalls, began := stalltest.New(t), time.Now()
	s.Close()
	if took := stalls.Since(began); took > time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestAServerOutsideThatCannotBeUsedIsRefused(t *testing.T) {
	plain := outside(t, server.Options{})
	locked := outside(t, server.Options{JetStream: true, Username: "renga", Password: "hush-hush"})
	gone := outside(t, server.Options{})
	away := at(gone, "")
	gone.Shutdown()
	for _, tt := range []struct{ name, url, want string }{
		{"nobody listens", strings.Replace(away, "//", "//renga:s3cret@", 1), "NATS cannot be reached at " + away},
		{"a token, and nobody listens", strings.Replace(away, "//", "//s3cret@", 1), "NATS cannot be reached at " +
			away},
		{"all of several are away", strings.Replace(away, "//", "//s3cret@", 1) + "," + away, away + "," + away},
		{"without JetStream", at(plain, ""), "JetStream is not enabled on NATS at " + at(plain, "")},
		{"with a wrong password", at(locked, "renga:s3cret@"), "Authorization Violation"},
		{
			"without TLS", strings.Replace(at(plain, "renga:s3cret@"), "nats:", "tls:", 1),
			"secure connection not available",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := newNotes()
			_, err := Open(t.Context(), Config{URL: tt.url, Log: log.logger()})
			if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if said := err.Error() + log.String(); strings.Contains(said, "s3cret") {
				t.Errorf("it gives the credentials away: %s", said)
			}
		})
	}
}

func TestAnAddressIsShownWithoutCredentials(t *testing.T) {
	for _, tt := range []struct{ list, want string }{
		{"nats://localhost:4222", "nats://localhost:4222"},
		{"nats://localhost", "nats://localhost"},
		{"nats://localhost:4222/", "nats://localhost:4222"},
		{"tls://renga:s3cret@[::1]:4222", "tls://[::1]:4222"},
		{"nats://s3cret@a:1, nats://renga:s3cret%2F@b:2", "nats://a:1,nats://b:2"},
		{"nats://renga:s3%2Fcret@a:1", "nats://a:1"},
		{"s3cret", ""},
		{"s3cret:4222", ""},
		{"ws://s3cret@a:1", ""},
		{"http://s3cret@a:1", ""},
		{"nats://", ""},
		{"nats://s3cret@", ""},
		{"nats:s3cret", ""},
		{"nats://a:s3cret", ""},
		{"nats://renga:s3cret/x@a:1", ""},
		{"nats://renga:12#s3cret@a:1", ""},
		{"nats://renga:12?s3cret@a:1", ""},
		{"nats://renga:%s3cret@a:1", ""},
		{"nats://a:1,", ""},
		{"nats://a:1/s3cret", ""},
	} {
		got, err := address(tt.list)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: got %q, %v; want %q", tt.list, got, err, tt.want)
		}
		if err != nil && (strings.Contains(err.Error(), "s3cret") || fault.KindOf(err) != fault.Invalid) {
			t.Errorf("%s: the error is %v", tt.list, err)
		}
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, Config{Dir: t.TempDir()}); err == nil {
		t.Error("it opened")
	}
}

// BenchmarkOpen is the time that a start takes, from nothing to an answer.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		s, err := Open(b.Context(), Config{Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		s.Close()
		b.StartTimer()
	}
}
