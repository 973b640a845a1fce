package records

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

// tablesBefore are the tables of a package as they were before a file.
func tablesBefore(t *testing.T, m sqldb.Migration, file string) sqldb.Migration {
	t.Helper()
	kept := fstest.MapFS{}
	err := fs.WalkDir(m.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || path.Base(name) >= file {
			return err
		}
		text, err := fs.ReadFile(m.FS, name)
		kept[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	m.FS = kept
	return m
}

// TestTenantsFromBeforeKeepTheirStandard upgrades a database with a tenant that has defined
// something, one that has records only, and none of a third.
func TestTenantsFromBeforeKeepTheirStandard(t *testing.T) {
	onPlaces(t, func(t *testing.T, where sqldb.Config) {
		old := where
		old.Migrations = []sqldb.Migration{
			audit.Migration(), bus.Migration(), tablesBefore(t, metadata.Migration(), "00002"),
			tablesBefore(t, Migration(), "00005"),
		}
		db, err := sqldb.Open(t.Context(), old)
		if err != nil {
			t.Fatal(err)
		}
		run, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- db.Run(run) }()
		err = db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.Batch(ctx,
				sqldb.Stmt{
					Query: "INSERT INTO metadata_tenant (tenant_id, revision, stamp) VALUES ($1, 1, 's')",
					Args:  []any{tenantA},
				},
				sqldb.Stmt{Query: insertRecord, Args: []any{
					tenantB, "Lead", ann, ann, "n", "", "", "{}", 1, 1, ann, 1,
					ann,
				}})
		})
		stop()
		if e := <-served; err == nil {
			err = e
		}
		if e := db.Close(); err != nil || e != nil {
			t.Fatal(err, e)
		}
		now := sqltest.Open(t, where, audit.Migration(), bus.Migration(), metadata.Migration(), Migration(),
			idempotency.Migration())
		models := metadata.NewModels()
		for tenant, want := range map[string]bool{tenantA: false, tenantB: false, strings.ReplaceAll(tenantA, "a",
			"c"): true} {
			err := now.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				m, err := models.Model(ctx, tx, tenant)
				if err == nil && m.Sensitive("Lead", "Email") != want {
					t.Errorf("%s: the e-mail address is sensitive: %t, want %t", tenant, !want, want)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

func onPlaces(t *testing.T, test func(t *testing.T, where sqldb.Config)) {
	t.Run("sqlite", func(t *testing.T) { test(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}) })
	t.Run("postgres", func(t *testing.T) { test(t, sqldb.Config{URL: pgtest.New(t)}) })
}
