package jet

import (
	"fmt"
	"log/slog"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// What the server inside may use. Streams are kept in files; memory is for what
// consumers hold.
const (
	MaxMemory = 16 << 20
	MaxStore  = 8 << 30
)

// openInside starts a server in this process and connects to it.
func (s *Server) openInside(dir string) error {
	s.place = "this process"
	inside, err := server.NewServer(&server.Options{
		ServerName: "renga",
		DontListen: true,
		NoSigs:     true, // they are for the program to act on

		JetStream:              true,
		StoreDir:               dir,
		JetStreamMaxMemory:     MaxMemory,
		JetStreamMaxStore:      MaxStore,
		DisableJetStreamBanner: true,
	})
	if err != nil {
		return err
	}
	log := &bridge{log: s.log}
	inside.SetLoggerV2(log, false, false, false)
	inside.Start() // returns when it is up, since it does not listen
	err = log.fatal
	if err == nil {
		err = s.connect("", nats.InProcessServer(inside))
	}
	if err != nil {
		inside.Shutdown()
		inside.WaitForShutdown()
		return fmt.Errorf("the NATS server inside does not start in %s: %w", dir, err)
	}
	s.inside = inside
	return nil
}

// bridge passes on what the server inside warns of, and drops the rest.
type bridge struct {
	log   *slog.Logger
	fatal error // why it did not start; read after Start
}

func (b *bridge) Warnf(format string, v ...any) {
	b.log.Warn("NATS server warns", "error", fmt.Sprintf(format, v...))
}

func (b *bridge) Errorf(format string, v ...any) {
	b.log.Error("NATS server failed", "error", fmt.Sprintf(format, v...))
}

// Fatalf is called only by Start, which gives up then.
func (b *bridge) Fatalf(format string, v ...any) { b.fatal = fmt.Errorf(format, v...) }

func (b *bridge) Noticef(string, ...any) {}
func (b *bridge) Debugf(string, ...any)  {}
func (b *bridge) Tracef(string, ...any)  {}
