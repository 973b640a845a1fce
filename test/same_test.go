package test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/sim"
	"renga.dev/renga/internal/workflow/store"
	"renga.dev/renga/test/tier"
)

// TestBothDatabasesGiveTheSameEvents plays random logs of commands on SQLite and on
// PostgreSQL, with the same clock and the same seed. Every answer, every event and
// everything that can be read must be the same.
func TestBothDatabasesGiveTheSameEvents(t *testing.T) {
	tier.System(t)
	onPostgres(t)
	logs, commands := uint64(50), 40
	if long() {
		logs = 2_000
	}
	lite := openStore(t, sqldb.Config{Path: filepath.Join(t.TempDir(), app.DatabaseFile)})
	post := openStore(t, sqldb.Config{URL: pgtest.New(t)})
	lines := 0
	var took [2]time.Duration
	for seed := range logs {
		var got [2][]string
		for i, s := range []engine.Store{lite, post} {
			began := time.Now()
			var err error
			if got[i], err = sim.Play(t.Context(), seed, commands, s, i == 0); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			took[i] += time.Since(began)
		}
		if n := firstDifference(got[0], got[1]); n >= 0 {
			t.Fatalf("seed %d, line %d:\nSQLite:     %s\nPostgreSQL: %s\nbefore that:\n%s", seed, n, got[0][n],
				got[1][n], strings.Join(got[0][max(0, n-10):n], "\n"))
		}
		lines += len(got[0])
	}
	t.Logf("%d logs of %d commands, %d lines to compare; SQLite took %v, PostgreSQL %v", logs, commands, lines,
		round(took[0]), round(took[1]))
}

// firstDifference is the first line in which two texts differ, -1 if there is none.
func firstDifference(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b)) - 1
	}
	return -1
}

// openStore opens a store that is served until the test ends.
func openStore(t *testing.T, cfg sqldb.Config) *store.Store {
	t.Helper()
	cfg.Migrations = app.Migrations()
	db, err := sqldb.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return store.New(db, store.Config{})
}
