package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"renga.dev/renga/internal/bulk"
	"renga.dev/renga/internal/bulk/cancel"
	"renga.dev/renga/internal/engine"
	"renga.dev/renga/internal/flow"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/store"
)

// databaseFile is the database inside the data folder.
const databaseFile = "renga.db"

// core is the engine over its database, without a door.
type core struct {
	db     *sqldb.DB
	store  *store.Store
	engine *engine.Engine
	bulks  *bulk.Bulks
	keep   time.Duration // of keys
	log    *slog.Logger
}

// coreConfig is what an operator chooses of it.
type coreConfig struct {
	dataDir      string
	keyRetention time.Duration // zero: the default
	log          *slog.Logger
}

// openCore opens the database of a data folder and puts the engine over it.
func openCore(ctx context.Context, cfg coreConfig) (*core, error) {
	db, err := sqldb.Open(ctx, sqldb.Config{
		Path: filepath.Join(cfg.dataDir, databaseFile), Migrations: []sqldb.Migration{store.Migration(), bulk.Migration()}, Log: cfg.log,
	})
	if err != nil {
		return nil, err
	}
	kept := store.New(db, store.Config{KeyRetention: cfg.keyRetention})
	decides := engine.New(kept, systemClock{}, engine.Config{Exclusive: true, KeyRetention: cfg.keyRetention, Log: cfg.log})
	bulks := bulk.New(db, bulk.Config{
		Kinds: map[string]bulk.Kind{cancel.Name: cancel.New(decides, cfg.log)}, Exclusive: true, KeyRetention: cfg.keyRetention, Log: cfg.log,
	})
	return &core{db: db, store: kept, engine: decides, bulks: bulks, keep: cfg.keyRetention, log: cfg.log}, nil
}

// Keys that have expired are deleted, some at a time.
const (
	forgetEvery = 10 * time.Minute
	forgetMost  = 100_000
)

// forget deletes expired keys now and then, until ctx ends.
func (c *core) forget(ctx context.Context) {
	tick := time.NewTicker(forgetEvery)
	defer tick.Stop()
	for {
		n, err := c.store.Retain(ctx, flow.At(time.Now().Add(-c.keep)), forgetMost)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.log.Warn("expired keys could not be deleted", "error", err)
		case n > 0:
			c.log.Info("expired keys deleted", "keys", n)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// systemClock is the time of the machine.
type systemClock struct{}

// Now is the time.
func (systemClock) Now() time.Time { return time.Now() }

// run serves commands until ctx ends, then finishes what was accepted: first the
// engine, bulks and what deletes keys, then the database. An error means that the data cannot be trusted to
// be durable any more; it comes at once, whatever is still waiting.
func (c *core) run(ctx context.Context) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	database, deciding := make(chan error, 1), make(chan error, 1)
	go func() { database <- c.db.Run(serving) }()
	go func() { deciding <- c.engine.Run(ctx) }()
	var beside sync.WaitGroup
	beside.Go(func() { c.forget(ctx) })
	beside.Go(func() { c.bulks.Run(ctx) })
	select {
	case err := <-database:
		return err // the engine's loop ends with the process
	case err := <-deciding:
		beside.Wait()
		stop()
		if broken := <-database; broken != nil {
			return broken
		}
		return err
	}
}
