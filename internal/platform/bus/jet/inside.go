package jet

import (
	"context"
	"fmt"

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
func (s *Server) openInside(ctx context.Context, cfg Config) error {
	s.place = "this process"
	opts := &server.Options{
		ServerName: "renga",
		DontListen: true,
		NoSigs:     true, // they are for the program to act on

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
	inside.Start() // returns when it is up, or has failed
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
