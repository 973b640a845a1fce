package sqldb

import (
	"context"
	"path/filepath"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if child() {
		return
	}
	goleak.VerifyTestMain(m)
}

// rowTable is a table for tests: what the engine's log looks like.
var rowTable = Migration{Name: "test", FS: fstest.MapFS{
	"sqlite/00001_row.sql": {Data: []byte(`-- +goose Up
CREATE TABLE test_row (id INTEGER PRIMARY KEY, a INTEGER NOT NULL, b INTEGER NOT NULL, body BLOB);
CREATE UNIQUE INDEX test_row_ab ON test_row (a, b);
`)},
}}

const insertRow = "INSERT INTO test_row (a, b, body) VALUES ($1, $2, $3)"

// start opens a database with the table of the tests and runs its loop until the test ends.
func start(t testing.TB, cfg Config) *DB {
	t.Helper()
	db := open(t, cfg)
	run(t, db)
	return db
}

func open(t testing.TB, cfg Config) *DB {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = filepath.Join(t.TempDir(), "test.db")
	}
	cfg.Migrations = []Migration{rowTable}
	db, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// run runs the loop and gives a function that ends it and waits for it; the end of
// the test calls it too.
func run(t testing.TB, db *DB) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = db.Run(ctx)
	}()
	stop = func() error {
		cancel()
		<-done
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// insert is a job that writes one row.
func insert(a, b int) func(context.Context, *Tx) error {
	return func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, insertRow, a, b, nil)
		return err
	}
}

// rows counts the committed rows whose a is the one given.
func rows(t testing.TB, db *DB, a int) int {
	t.Helper()
	var n int
	err := db.Read(t.Context(), func(ctx context.Context, tx *Tx) error {
		return tx.Row(ctx, "SELECT count(*) FROM test_row WHERE a = $1", a).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
