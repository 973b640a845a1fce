// Package jet is the connection to NATS JetStream: to a server inside this
// process, or to one that the operator runs. It is the only importer of NATS.
//
// It carries and is never the record: what must not be lost is in the database
// before it is published, since JetStream acknowledges before it syncs. Carrier fills
// the port of the bus with it; of events it knows subjects and headers, not contents.
//
// The server inside does not listen, unless it is told who may follow which tenant's
// events; otherwise only this process can reach it. Nothing is
// buffered for a server that is away; a publisher gets an error and tries again.
// Credentials of a URL appear in no error and no log line.
package jet

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"renga.dev/renga/internal/platform/fault"
)

// How long things may take.
const (
	connectTimeout = 3 * time.Second // to one address
	checkTimeout   = 3 * time.Second // of the first check; later ones have their caller's
	drainTimeout   = 5 * time.Second
	reconnectWait  = 500 * time.Millisecond // between two attempts; random up to twice that
)

// Config says which server to use.
type Config struct {
	Dir string       // folder of the server inside this process; not used with a URL
	URL string       // nats:// or tls://, several with commas between them; "": the server inside
	Log *slog.Logger // nil: nowhere

	Listen *Listen // lets followers reach the server inside; nil: nobody does
}

// Server is a JetStream server and the connection to it.
type Server struct {
	cfg    Config
	inside *server.Server // nil: somebody else's
	door   *door          // of the one inside
	place  string         // for errors and logs
	name   string         // of this process, unlike that of any other
	conn   *nats.Conn
	stream jetstream.JetStream
	acks   acks
	closed chan struct{} // the connection is gone for good
	log    *slog.Logger

	carrier *Carrier
}

// Open starts the server inside, or connects to the one that is named, and returns
// when JetStream has answered. A server that is lost later is looked for until Close.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	s := New(cfg)
	if err := s.Open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// New is a server that nothing was started for yet, and its carrier. It does no I/O.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, name: rand.Text(), log: cfg.Log, closed: make(chan struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.carrier = &Carrier{s: s, surely: surely}
	return s
}

// Open is the function Open for a server of New.
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

// connect opens the connection.
func (s *Server) connect(url string, more ...nats.Option) error {
	options := append([]nats.Option{
		nats.Name("renga"),
		nats.Timeout(connectTimeout),
		nats.DrainTimeout(drainTimeout),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // an operator may repair them
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.ReconnectBufSize(-1), // what is not sent stays in the database
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			s.acks.disconnected(unavailable("the connection to NATS at "+s.place+" was lost", err))
			if err != nil { // else we closed it
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

// Addr is where followers reach the server inside; nil when it does not listen.
func (s *Server) Addr() net.Addr {
	if s.inside == nil {
		return nil
	}
	return s.inside.Addr()
}

// Conn is the connection. It is the server's: do not close it.
func (s *Server) Conn() *nats.Conn { return s.conn }

// Check reports whether JetStream answers. It is of kind Unavailable when not.
func (s *Server) Check(ctx context.Context) error {
	if !s.conn.IsConnected() {
		return unavailable("there is no connection to NATS at "+s.place, s.conn.LastError())
	}
	if s.inside != nil && !s.inside.JetStreamEnabled() { // it would not answer
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

// Close lets subscriptions finish what they were given, then ends the connection
// and the server inside. A message that was published and not acknowledged before
// may be lost: JetStream takes messages from a queue that ends with the server.
func (s *Server) Close() {
	if s.conn == nil {
		return // it was never open
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
