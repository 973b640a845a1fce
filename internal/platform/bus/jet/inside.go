package jet

import (
	"context"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

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
