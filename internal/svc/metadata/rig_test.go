package metadata

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/sqldb/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tenantA, tenantB = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"

// rig is the service over a database of its own.
type rig struct {
	*testing.T
	db     *sqldb.DB
	models *Models
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
	return &rig{T: t, db: db, models: NewModels()}
}

// model is the model of a tenant as some models see it now.
func (r *rig) model(models *Models, tenant string) (m *crm.Model) {
	r.Helper()
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) (err error) {
		m, err = models.Model(ctx, tx, tenant)
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return m
}

// write runs SQL in one transaction.
func (r *rig) write(fn func(ctx context.Context, tx *sqldb.Tx) error) error {
	return r.db.Write(r.Context(), sqldb.Other, fn)
}
