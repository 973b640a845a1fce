// Package jet is the connection to NATS JetStream, inside this process or run by the operator. It is the only
// importer of NATS.
//
// It is never the record: JetStream acknowledges before it syncs, so events are in the database before they are
// published. Carrier implements the bus's port; it knows subjects and headers, not contents.
//
// The server inside listens only for followers of tenants' events, if there are any. Nothing is buffered while a
// server is away; publishers get errors and retry. Credentials of a URL appear in no error or log line.
package jet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"renga.dev/renga/internal/platform/fault"
)

const (
	connectTimeout = 3 * time.Second // to one address
	checkTimeout   = 3 * time.Second // of Open
	drainTimeout   = 5 * time.Second
	reconnectWait  = 500 * time.Millisecond // between attempts, plus as much jitter
)

type Config struct {
	Dir string       // of the server inside
	URL string       // nats:// or tls://, separated by commas; "": the server inside
	Log *slog.Logger // nil: none

	Listen *Listen // for followers; nil: the server inside does not listen
}

// Server is a JetStream server and a connection to it.
type Server struct {
	cfg    Config
	inside *server.Server // nil: run by somebody else
	door   *door          // of inside
	place  string         // in errors and logs
	name   string         // unique
	conn   *nats.Conn
	stream jetstream.JetStream
	acks   acks
	closed chan struct{} // by the connection's end
	log    *slog.Logger

	carrier *Carrier
}

// Open starts or connects to the server and returns when JetStream has answered. A lost connection is retried until
// Close.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	s := New(cfg)
	if err := s.Open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// New does no I/O.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, name: rand.Text(), log: cfg.Log, closed: make(chan struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.carrier = &Carrier{s: s, surely: surely}
	return s
}

// Open opens a server of New.
func (s *Server) Open(ctx context.Context) (err error) {
	cfg := s.cfg
	switch {
	case cfg.URL != "" && cfg.Listen != nil:
		err = fault.New(fault.Invalid, "NATS_LISTEN_INVALID",
			"only the NATS server inside can be made to listen; one outside has users of its own")
	case cfg.URL != "":
		err = s.openOutside(cfg.URL)
	default:
		err = s.openInside(ctx, cfg)
	}
	if err != nil {
		return fault.Wrap("jet.open", err)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := s.Check(ctx); err != nil {
		s.Close()
		return fault.Wrap("jet.open", err)
	}
	return nil
}

func (s *Server) connect(url string, more ...nats.Option) error {
	options := append([]nats.Option{
		nats.Name("renga"),
		nats.Timeout(connectTimeout),
		nats.DrainTimeout(drainTimeout),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // may be repaired
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.ReconnectBufSize(-1), // the database buffers
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			s.acks.disconnected(unavailable("the connection to NATS at "+s.place+" was lost", err))
			if err != nil { // else closed by us
				s.log.Warn("connection to NATS lost", "address", s.place, "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { s.log.Info("connected to NATS again", "address", s.place) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			s.log.Warn("NATS reports an error", "address", s.place, "error", err)
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(s.closed) }),
	}, more...)
	conn, err := nats.Connect(url, options...)
	if err != nil {
		return err
	}
	stream, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return err
	}
	s.conn, s.stream = conn, stream
	return nil
}

// Addr is where followers connect; nil: nowhere.
func (s *Server) Addr() net.Addr {
	if s.inside == nil {
		return nil
	}
	return s.inside.Addr()
}

// Conn is the connection, which callers must not close.
func (s *Server) Conn() *nats.Conn { return s.conn }

// Check fails as Unavailable when JetStream does not answer.
func (s *Server) Check(ctx context.Context) error {
	if !s.conn.IsConnected() {
		return unavailable("there is no connection to NATS at "+s.place, s.conn.LastError())
	}
	if s.inside != nil && !s.inside.JetStreamEnabled() { // no answer would come
		return unavailable("JetStream in this process has switched itself off, since it could not write its files; "+
			"start the process again when the disk is well", nil)
	}
	_, err := s.stream.AccountInfo(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return unavailable("JetStream is not enabled on NATS at "+s.place, err)
	}
	return unavailable("JetStream does not answer on NATS at "+s.place, err)
}

func unavailable(message string, cause error) error {
	return &fault.Error{Kind: fault.Unavailable, Code: "NATS_UNAVAILABLE", Message: message, Err: cause}
}

// Close drains subscriptions, then ends the connection and the server inside. A message without acknowledgement may
// be lost: JetStream's queue ends with the server.
func (s *Server) Close() {
	if s.conn == nil {
		return // never open
	}
	if err := s.conn.Drain(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		s.log.Warn("connection to NATS could not be drained", "address", s.place, "error", err)
	}
	<-s.closed
	if s.inside != nil {
		s.inside.Shutdown()
		s.inside.WaitForShutdown()
	}
}

// Limits of the server inside. Streams are in files; memory is for consumers.
const (
	MaxMemory = 16 << 20
	MaxStore  = 8 << 30
)

func (s *Server) openInside(ctx context.Context, cfg Config) error {
	s.place = "this process"
	opts := &server.Options{
		ServerName: "renga",
		DontListen: true,
		NoSigs:     true, // left to the program

		JetStream:              true,
		StoreDir:               cfg.Dir,
		JetStreamMaxMemory:     MaxMemory,
		JetStreamMaxStore:      MaxStore,
		DisableJetStreamBanner: true,
	}
	s.door = newDoor()
	if cfg.Listen != nil {
		if err := cfg.Listen.check(ctx); err != nil {
			return err
		}
		cfg.Listen.apply(opts, s.door)
	}
	inside, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	log := &bridge{log: s.log}
	inside.SetLoggerV2(log, false, false, false)
	inside.Start() // returns when it is up or has failed
	err = log.fatal
	if err == nil {
		err = s.connect("", nats.InProcessServer(inside), nats.UserInfo(selfName, s.door.self))
	}
	if err == nil && cfg.Listen != nil {
		err = s.door.open(s, inside, cfg.Listen.Followers)
	}
	if err != nil {
		if s.conn != nil {
			s.conn.Close()
			<-s.closed
		}
		inside.Shutdown()
		inside.WaitForShutdown()
		return fmt.Errorf("the NATS server inside does not start in %s: %w", cfg.Dir, err)
	}
	s.inside = inside
	return nil
}

func (s *Server) openOutside(list string) error {
	place, err := address(list)
	if err != nil {
		return err
	}
	s.place = place
	if err := s.connect(list); err != nil {
		return unavailable("NATS cannot be reached at "+place, err)
	}
	return nil
}

// address is a list of URLs without credentials. Its errors quote nothing, since any part could be an unescaped
// password.
func address(list string) (string, error) {
	var shown []string
	for one := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil {
			return "", fault.New(fault.Invalid, "NATS_URL_INVALID",
				"the address of NATS is not a URL; special characters in its credentials must be percent-encoded")
		}
		plain := url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host}
		if !slices.Contains([]string{"nats", "tls"}, u.Scheme) || u.Hostname() == "" ||
			plain.String() != strings.TrimSuffix(u.String(), "/") {
			return "", fault.New(fault.Invalid, "NATS_URL_INVALID",
				"the address of NATS must be nats://HOST:PORT or tls://HOST:PORT, "+
					"with credentials as USER:PASSWORD@ or TOKEN@ before the host and nothing after the port")
		}
		shown = append(shown, u.Scheme+"://"+u.Host)
	}
	return strings.Join(shown, ","), nil
}

// wakeSubject prefixes the subjects, one per tenant, where processes announce ready tasks: plain messages, not
// stored. Polling finds tasks whose message was lost.
const wakeSubject = "renga.ready."

// Wake tells other processes, without waiting, that n tasks of a queue are ready.
func (s *Server) Wake(tenant, queue string, n int) {
	_ = s.conn.Publish(wakeSubject+tenant, fmt.Appendf(nil, "%s %s %d", s.name, queue, n))
}

// OnWake calls fn for each Wake of other processes, one at a time.
func (s *Server) OnWake(fn func(tenant, queue string, n int)) error {
	_, err := s.conn.Subscribe(wakeSubject+"*", func(m *nats.Msg) {
		var from, queue string
		var n int
		if _, err := fmt.Sscanf(string(m.Data), "%s %s %d", &from, &queue, &n); err != nil || from == s.name || n < 1 {
			return
		}
		fn(m.Subject[len(wakeSubject):], queue, n)
	})
	return fault.Wrap("jet.wake", err)
}
