// Package apptest starts the program for tests: the parts that cmd/renga runs, over a database that ends with the
// test, with a carrier of events in memory. What a test needs otherwise it says in the Config, such as a clock that
// it turns.
package apptest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/sim"
)

// Postgres says that the tests of this run are about PostgreSQL.
func Postgres() bool { return os.Getenv("RENGA_TEST_DB") == "postgres" }

// Start runs the program until the test ends. Where the Config names no place, the data is in a
// folder of the test, and with RENGA_TEST_DB=postgres in a database of its own. On PostgreSQL, too,
// the engine goes by the clock of the Config.
func Start(t testing.TB, cfg app.Config) *app.App {
	t.Helper()
	if cfg.DataDir == "" {
		cfg.DataDir = t.TempDir()
	}
	if cfg.DatabaseURL == "" && Postgres() {
		cfg.DatabaseURL = pgtest.CopyOf(t, prepare)
	}
	if cfg.Override.Clock != nil && cfg.DatabaseURL != "" {
		cfg.Override.Store = func(s engine.Store) engine.Store { return sim.Timed{Store: s} }
	}
	a, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the program: %v", err)
		}
	})
	return a
}

// Open makes the program in a data folder that may be new, for who runs and ends it by hand.
func Open(ctx context.Context, cfg app.Config) (*app.App, error) {
	if cfg.Override.Carrier == nil {
		cfg.Override.Carrier = memory.New()
	}
	if cfg.DatabaseURL == "" {
		file := sqldb.Config{Path: filepath.Join(cfg.DataDir, app.DatabaseFile)}
		if err := sqltest.Prepare(file, app.Migrations()); err != nil {
			return nil, err
		}
	}
	return app.New(ctx, cfg)
}

// prepare makes all tables in a database.
func prepare(url string) error {
	db, err := app.OpenDB(context.Background(), app.Place{DatabaseURL: url})
	if err != nil {
		return err
	}
	return db.Close()
}
