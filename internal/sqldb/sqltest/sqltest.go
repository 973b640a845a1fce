// Package sqltest opens databases that work as long as a test does.
package sqltest

import (
	"context"
	"errors"
	"testing"

	"renga.dev/renga/internal/sqldb"
)

// Open opens a database with these tables and lets it work until the test ends.
func Open(t testing.TB, where sqldb.Config, tables ...sqldb.Migration) *sqldb.DB {
	t.Helper()
	where.Migrations = tables
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
