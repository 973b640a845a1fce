package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"renga.dev/renga/internal/inbound"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/flow"
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
	defer a.shutdown(ctx)
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	core, web := make(chan error, 1), make(chan error, 1)
	go func() { core <- a.work(working) }()
	if a.server != nil {
		go func() { web <- a.server.Serve(a.listener) }()
	}
	select {
	case err := <-core:
		if a.server != nil {
			_ = a.server.Close()
		}
		return fmt.Errorf("the database is lost, and with it this process; start it again when the disk is well: %w", err)
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

// Close ends the connection to NATS, then the database, whose loop has ended or never ran.
func (a *App) Close() error {
	if a.nats != nil {
		a.nats.Close()
	}
	if a.DB == nil {
		return nil
	}
	return a.DB.Close()
}

// shutdown lets the last traces go out.
func (a *App) shutdown(ctx context.Context) { _ = a.telemetry.Shutdown(context.WithoutCancel(ctx)) }

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

// work serves commands until ctx ends, then finishes what was accepted: first the
// engine, bulks and what deletes keys, then the files that tell of it, then the
// database. An error means that the data cannot be trusted to be durable any more; it
// comes at once, whatever is still waiting.
func (a *App) work(ctx context.Context) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	database, deciding := make(chan error, 1), make(chan error, 1)
	go func() { database <- a.DB.Run(serving) }()
	go func() { deciding <- a.Engine.Run(ctx) }()
	var beside sync.WaitGroup
	beside.Go(func() { a.health.Run(ctx) })
	beside.Go(func() { a.forget(ctx) })
	beside.Go(func() { a.fold(ctx) })
	beside.Go(func() { a.clear(ctx) })
	beside.Go(func() { a.Bulks.Run(ctx) })
	beside.Go(func() { a.Rechecks.Run(ctx) })
	for _, run := range a.beside {
		beside.Go(func() { run(ctx) })
	}
	if !a.cfg.Silent {
		beside.Go(func() { _ = a.Bus.Run(ctx) })
	}
	reporting, reported := context.WithCancel(serving)
	var report sync.WaitGroup
	report.Go(func() { a.report.Run(reporting) })
	receipts := filepath.Join(a.cfg.DataDir, filepath.FromSlash(inbound.ReceiptsFile))
	report.Go(func() { _ = a.Inbound.Export(reporting, receipts) }) // it says itself what fails
	report.Go(func() { a.Inbound.RunBacklog(reporting) })
	defer reported()
	select {
	case err := <-database:
		return err // the engine's loop ends with the process
	case err := <-deciding:
		beside.Wait()
		reported()
		report.Wait()
		stop()
		if broken := <-database; broken != nil {
			return broken
		}
		return err
	}
}

// What is done beside, now and then. Keys that have expired are deleted, some at a
// time; counts that PostgreSQL keeps as deltas are folded; what goes with deleted records
// and was too much for one transaction is removed.
const (
	forgetEvery = 10 * time.Minute
	forgetMost  = 100_000
	foldEvery   = 5 * time.Second
	clearEvery  = 5 * time.Second
)

// forget deletes expired keys now and then, until ctx ends.
func (a *App) forget(ctx context.Context) {
	often(ctx, forgetEvery, func() {
		n, err := a.Store.Retain(ctx, flow.At(time.Now().Add(-a.cfg.KeyRetention)), forgetMost)
		if err == nil {
			var more int64
			more, err = a.Records.Retain(ctx, forgetMost)
			n += int(more)
		}
		switch {
		case ctx.Err() != nil:
		case err != nil:
			a.log.Warn("expired keys could not be deleted", "error", err)
		case n > 0:
			a.log.Info("expired keys deleted", "keys", n)
		}
	})
}

// fold folds counts now and then, until ctx ends. On SQLite there is nothing to fold.
func (a *App) fold(ctx context.Context) {
	if a.DB.Dialect() == sqldb.SQLite {
		return
	}
	often(ctx, foldEvery, func() {
		_, err := a.Store.Fold(ctx)
		if err == nil {
			_, err = a.Records.Fold(ctx)
		}
		if err != nil && ctx.Err() == nil {
			a.log.Warn("counts could not be folded", "error", err)
		}
	})
}

// clear removes the members of deleted records that had many, until ctx ends.
func (a *App) clear(ctx context.Context) {
	often(ctx, clearEvery, func() {
		if err := a.Records.Clear(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("members of deleted records could not be removed", "error", err)
		}
	})
}

// often does something at once and then every so often, until ctx ends.
func often(ctx context.Context, every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		do()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}
