package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"renga.dev/renga/internal/platform/gate"
)

// DrainTimeout is how long requests may take to finish once the process is asked
// to end. It is longer than a request may take at all.
const DrainTimeout = gate.DefaultTimeout + 5*time.Second

// listen opens the address that requests come to.
func (a *App) listen(ctx context.Context) error {
	if a.cfg.Addr == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.cfg.Addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", a.cfg.Addr, err)
	}
	a.listener, a.server = listener, gate.Server(a.cfg.Addr, a.Gate, a.log)
	a.server.TLSConfig = a.cfg.TLS
	return nil
}

// Addr is where requests come to; nil: nowhere, since Config.Addr names none.
func (a *App) Addr() net.Addr {
	if a.listener == nil {
		return nil
	}
	return a.listener.Addr()
}

// FollowAddr is where events can be followed over NATS; nil: nowhere.
func (a *App) FollowAddr() net.Addr {
	if a.nats == nil {
		return nil
	}
	return a.nats.Addr()
}

// Run serves until ctx ends. Then nothing new is let in, requests under way are
// finished, what the engine accepted is made durable, and NATS and the database are
// closed.
// When the database cannot be trusted any more it returns at once: to wait for
// requests then would be to answer them from memory.
func (a *App) Run(ctx context.Context) error {
	defer func() { _ = a.telemetry.Shutdown(context.WithoutCancel(ctx)) }() // the last traces
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	core, web := make(chan error, 1), make(chan error, 1)
	go func() { core <- a.work(working) }()
	if a.server != nil {
		go func() { web <- serve(a.server, a.listener) }()
	}
	select {
	case err := <-core:
		if a.server != nil {
			_ = a.server.Close()
		}
		return fmt.Errorf("the database is lost, and with it this process; start it again when the disk is well: %w",
			err)
	case err := <-web:
		stop()
		return errors.Join(err, <-core, a.Close())
	case <-ctx.Done():
	}
	a.log.Info("draining")
	err := a.drain()
	stop()
	if lost := <-core; lost != nil {
		return lost // a failed sync: the files are not touched again
	}
	if err := errors.Join(err, a.Close()); err != nil {
		return err
	}
	a.log.Info("drained")
	return nil
}

// serve answers requests until the server is shut down: over TLS as HTTP/2 to who speaks it.
func serve(s *http.Server, listener net.Listener) error {
	if s.TLSConfig != nil {
		return s.ServeTLS(listener, "", "")
	}
	return s.Serve(listener)
}

// Close ends the connection to NATS, then the database, whose loop has ended or never ran.
func (a *App) Close() error {
	if a.nats != nil {
		a.nats.Close()
	}
	return a.DB.Close()
}

// drain ends streams and long polls and waits for all other requests.
func (a *App) drain() error {
	a.Gate.Drain()
	if a.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), DrainTimeout)
	defer cancel()
	if err := a.server.Shutdown(ctx); err != nil {
		_ = a.server.Close()
		return fmt.Errorf("some requests did not finish within %v and were cut off: %w", DrainTimeout, err)
	}
	return nil
}

// work serves commands until ctx ends, then finishes what was accepted: first the engine and the
// parts, then what follows them, then the database. An error means that the data cannot be trusted to
// be durable any more; it comes at once, whatever is still waiting.
func (a *App) work(ctx context.Context) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	database, deciding := make(chan error, 1), make(chan error, 1)
	go func() { database <- a.DB.Run(serving) }()
	go func() { deciding <- a.Engine.Run(ctx) }()
	var running sync.WaitGroup
	running.Go(func() { a.health.Run(ctx) })
	running.Go(func() { a.parts.retain(ctx, a.log) })
	if !a.alone() { // SQLite keeps no deltas
		running.Go(func() { a.parts.compact(ctx, a.log) })
	}
	following, followed := context.WithCancel(serving)
	var followers sync.WaitGroup
	for _, p := range a.parts {
		if slices.Contains(a.cfg.Override.Idle, p.Name) {
			continue
		}
		for _, run := range p.Run {
			running.Go(func() { run(ctx) })
		}
		for _, follow := range p.Follow {
			followers.Go(func() { follow(following) })
		}
	}
	defer followed()
	select {
	case err := <-database:
		return err // the engine's loop ends with the process
	case err := <-deciding:
		running.Wait()
		followed()
		followers.Wait()
		stop()
		if broken := <-database; broken != nil {
			return broken
		}
		return err
	}
}

// every does something at once and then after each interval, until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		do()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}
