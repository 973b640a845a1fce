package bulk

import (
	"context"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/sqldb"
)

// rows counts the rows of a table.
func (r *rig) rows(table string) (n int) {
	r.Helper()
	r.must(r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	}))
	return n
}

// TestStatementsUseAnIndex asks SQLite how it would run what must stay fast when
// bulks are large: nothing walks a table, nothing is sorted.
func TestStatementsUseAnIndex(t *testing.T) {
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	for name, query := range map[string]string{
		"items": selectItems, "items of an outcome": selectEnded, "waiting": selectWaiting, "old": selectOld, "gone": selectGone, "key": r.Bulks.keys().Select(),
	} {
		var steps []string
		r.must(r.db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			args := make([]any, strings.Count(query, "$"))
			for row, err := range tx.Query(ctx, "EXPLAIN QUERY PLAN "+query, args...) {
				var id, parent, unused int
				var detail string
				if err == nil {
					err = row.Scan(&id, &parent, &unused, &detail)
				}
				if err != nil {
					return err
				}
				steps = append(steps, detail)
			}
			return nil
		}))
		if plan := strings.Join(steps, "\n\t"); strings.Contains(plan, "TEMP B-TREE") ||
			strings.Contains(plan, "SCAN") && !strings.Contains(plan, "USING INDEX") || plan == "" {
			t.Errorf("%s: %s\n\t%s", name, query, plan)
		}
	}
}

// TestEveryDatabaseHasTheSameColumns compares the migrations of the dialects.
func TestEveryDatabaseHasTheSameColumns(t *testing.T) {
	tables := func(dialect string) map[string][]string {
		found := map[string][]string{}
		names, err := fs.Glob(files, "migrations/"+dialect+"/*.sql")
		if err != nil || len(names) == 0 {
			t.Fatalf("%s has no migrations: %v", dialect, err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range regexp.MustCompile(`(?s)CREATE TABLE (\w+) \((.*?)\n\)`).FindAllStringSubmatch(string(text), -1) {
				for _, column := range regexp.MustCompile(`(?m)^\t(\w+) +\w+`).FindAllStringSubmatch(table[2], -1) {
					found[table[1]] = append(found[table[1]], column[1])
				}
			}
			for _, index := range regexp.MustCompile(`CREATE .*INDEX (\w+) ON (.*);`).FindAllStringSubmatch(string(text), -1) {
				found[index[1]] = []string{index[2]}
			}
		}
		return found
	}
	sqlite, postgres := tables("sqlite"), tables("postgres")
	if len(sqlite["bulk"]) < 10 || len(sqlite) < 6 {
		t.Fatalf("the test reads too little: %v", sqlite)
	}
	if diff := cmp.Diff(sqlite, postgres); diff != "" {
		t.Errorf("tables (-sqlite +postgres):\n%s", diff)
	}
}
