package store

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/sqldb/pgtest"
)

// TestBothDatabasesHaveTheSameTables compares tables and columns, apart from what
// is named here.
func TestBothDatabasesHaveTheSameTables(t *testing.T) {
	onlySQLite := []string{"engine_log.id"} // the order of insertion is that of the rows
	onlyPostgres := []string{
		"engine_execution.commit_no",
		"engine_count_delta.id", "engine_count_delta.tenant", "engine_count_delta.graph_id", "engine_count_delta.status", "engine_count_delta.n",
	}
	lite := columns(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}, `SELECT m.name || '.' || c.name, c.type, c."notnull" OR c.pk > 0
		FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table' AND m.name LIKE 'engine_%'`)
	postgres := columns(t, sqldb.Config{URL: pgtest.New(t)}, `SELECT table_name || '.' || column_name, data_type || coalesce(' ' || collation_name, ''), is_nullable = 'NO'
		FROM information_schema.columns WHERE table_schema = 'public' AND table_name LIKE 'engine\_%'`)
	for table, names := range map[string][]string{"SQLite": onlySQLite, "PostgreSQL": onlyPostgres} {
		has, lacks := lite, postgres
		if table == "PostgreSQL" {
			has, lacks = postgres, lite
		}
		for _, name := range names {
			if _, ok := lacks[name]; ok || has[name] == "" {
				t.Errorf("%s is not in %s alone", name, table)
			}
			delete(has, name)
		}
	}
	if len(lite) < 30 {
		t.Errorf("only %d columns: the test reads too little", len(lite))
	}
	if diff := cmp.Diff(lite, postgres); diff != "" {
		t.Errorf("(-SQLite +PostgreSQL):\n%s", diff)
	}
}

// columns lists the columns of the engine's tables and what they hold.
func columns(t *testing.T, cfg sqldb.Config, query string) map[string]string {
	t.Helper()
	cfg.Migrations = []sqldb.Migration{Migration()}
	db, err := sqldb.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	out := map[string]string{}
	err = db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Batch(ctx, sqldb.Stmt{Query: query, Row: func(r *sqldb.Row) error {
			var name, typ string
			var required bool
			if err := r.Scan(&name, &typ, &required); err != nil {
				return err
			}
			kind, ok := kinds[strings.ToLower(typ)]
			if !ok {
				t.Errorf("%s has the type %s", name, typ)
			}
			if !required {
				kind += " or nothing"
			}
			out[name] = kind
			return nil
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// kinds are the types that mean the same. A text in another order than that of its
// bytes is not among them.
var kinds = map[string]string{
	"integer": "number", "bigint": "number", "smallint": "number",
	"text": "text", "text c": "text",
	"blob": "bytes", "bytea": "bytes", "uuid": "bytes",
}
