// Package sqltest opens databases that work as long as a test does, and finds out who waits for
// whom there.
package sqltest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/sqldb"
)

// Open opens a database with these tables and lets it work until the test ends.
func Open(t testing.TB, where sqldb.Config, tables ...sqldb.Migration) *sqldb.DB {
	t.Helper()
	where.Migrations = tables
	if err := Prepare(where, tables); err != nil {
		t.Fatal(err)
	}
	db, err := sqldb.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	serve, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- db.Run(serve) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-served, db.Close()); err != nil {
			t.Error(err)
		}
	})
	return db
}

// Waits reports whether second, in a transaction of its own, has to wait for the end of a
// transaction that has run first. It is for locks on PostgreSQL; SQLite has one writer.
func Waits(t testing.TB, db *sqldb.DB, first, second func(ctx context.Context, tx *sqldb.Tx) error) (waits bool) {
	t.Helper()
	waits, err := During(t, db, first, func() error { return db.Write(t.Context(), sqldb.Other, second) })
	if err != nil {
		t.Error(err)
	}
	return waits
}

// During runs second while a transaction that has run first is open, until second is done or
// waits for it; then the transaction is committed. It gives whether second waited, and its error.
func During(
	t testing.TB, db *sqldb.DB, first func(ctx context.Context, tx *sqldb.Tx) error, second func() error,
) (waits bool, err error) {
	t.Helper()
	held, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	commit := sync.OnceFunc(func() { close(release) })
	defer commit() // also when the test ends here
	go func() {
		once := sync.OnceFunc(func() { close(held) })
		defer once()
		ended <- db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			if err := first(ctx, tx); err != nil {
				return err
			}
			once()
			<-release
			return nil
		})
	}()
	within(t, "the transaction that runs first", held)
	done := make(chan error, 1)
	go func() { done <- second() }()
	for late := time.Now().Add(patience); len(done) == 0 && !waits; waits = len(done) == 0 && somebodyWaits(t, db) {
		if time.Now().After(late) {
			t.Fatalf("what runs second neither ended nor waited for what runs first within %v", patience)
		}
	}
	commit()
	if err := within(t, "the commit of what ran first", ended); err != nil {
		t.Error(err)
	}
	return waits, within(t, "the end of what ran second", done)
}

// patience is how long it waits for what must come.
const patience = time.Minute

// within is what comes from a channel. It is stalltest.Within, which serves tests alone.
func within[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("%s: nothing came within %v", what, patience)
	}
	return v
}

func somebodyWaits(t testing.TB, db *sqldb.DB) (waits bool) {
	t.Helper()
	err := db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, `SELECT count(*) > 0 FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
			WHERE NOT l.granted AND a.datname = current_database()`).Scan(&waits)
	})
	if err != nil {
		t.Fatal(err)
	}
	return waits
}
