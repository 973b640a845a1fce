package records

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/sqldb/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tenantA, tenantB = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"

// rig is the service over a database of its own.
type rig struct {
	*testing.T
	db *sqldb.DB
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}))
	})
	t.Run("postgres", func(t *testing.T) { test(t, newRig(t, sqldb.Config{URL: pgtest.New(t)})) })
}

func newRig(t *testing.T, where sqldb.Config) *rig {
	t.Helper()
	where.Migrations = []sqldb.Migration{Migration()}
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
	return &rig{T: t, db: db}
}

// write runs SQL in one transaction.
func (r *rig) write(fn func(ctx context.Context, tx *sqldb.Tx) error) {
	r.Helper()
	if err := r.db.Write(r.Context(), sqldb.Other, fn); err != nil {
		r.Fatal(err)
	}
}

// read runs fn in a transaction that cannot write.
func (r *rig) read(fn func(ctx context.Context, tx *sqldb.Tx) error) {
	r.Helper()
	if err := r.db.Read(r.Context(), fn); err != nil {
		r.Fatal(err)
	}
}
