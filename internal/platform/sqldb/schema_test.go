package sqldb

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// TestAnOlderProgramRefusesAPackageThatItDoesNotKnow opens a database to which a newer program
// has added a package: the tables that the older one knows are as it left them.
func TestAnOlderProgramRefusesAPackageThatItDoesNotKnow(t *testing.T) {
	added := Migration{Name: "added", FS: fstest.MapFS{
		"sqlite/00001_a.sql":   {Data: []byte("-- +goose Up\nCREATE TABLE added_a (x INTEGER);")},
		"postgres/00001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE added_a (x bigint);")},
	}}
	for name, cfg := range map[string]Config{
		"sqlite": {Path: filepath.Join(t.TempDir(), "test.db")}, "postgres": {URL: pgtest.New(t)},
	} {
		t.Run(name, func(t *testing.T) {
			try := func(program string, asIs bool, all ...Migration) error {
				cfg.Program, cfg.AsIs, cfg.Migrations = program, asIs, append([]Migration{SchemaTables()}, all...)
				db, err := Open(t.Context(), cfg)
				if err == nil {
					err = db.Close()
				}
				return err
			}
			for _, step := range []struct {
				program string
				asIs    bool
				all     []Migration
				want    string
			}{
				{"1.0.0", false, []Migration{rowTable}, ""},
				{"1.1.0", true, []Migration{rowTable, added}, ""}, // who only looks changes nothing
				{"1.0.0", false, []Migration{rowTable}, ""},
				{"1.1.0", false, []Migration{rowTable, added}, ""},
				{
					"1.0.0", false,
					[]Migration{rowTable},
					"schema 3 of version 1.1.0, and this program, version 1.0.0, knows schema 2",
				},
				{"1.0.0", true, []Migration{rowTable}, "start version 1.1.0"},
				{"1.2.0", false, []Migration{rowTable, added}, ""}, // the same schema: the way back is open
				{"1.1.0", false, []Migration{rowTable, added}, ""},
			} {
				err := try(step.program, step.asIs, step.all...)
				if (err == nil) != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) {
					t.Errorf("version %s with %d packages: got %v, want %q", step.program, len(step.all), err,
						step.want)
				}
			}
		})
	}
}
