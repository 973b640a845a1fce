package automation_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// TestRowsAreFoundByIndexes asks SQLite how it would find rows.
func TestRowsAreFoundByIndexes(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	for query, want := range automation.Plans() {
		var plan strings.Builder
		err := r.db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			for row, err := range tx.Query(ctx, "EXPLAIN QUERY PLAN "+query,
				[]any{"t", "a", "b", 1}[:strings.Count(query, "$")]...) {
				var id, parent, unused int64
				var detail string
				if err == nil {
					err = row.Scan(&id, &parent, &unused, &detail)
				}
				if err != nil {
					return err
				}
				plan.WriteString(detail + "\n")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		turns := strings.Contains(query, "PARTITION BY") // what it finds is put in another order
		if got := plan.String(); !strings.Contains(got, want) || !turns && strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("%s\n%swant %s", query, got, want)
		}
	}
}

// TestARecountJoinsNothingThatItGroups asks PostgreSQL how it would recount. What it groups
// it takes for a row or two while it knows little of the tables, and a join with that goes
// through all of it for each row: with some thousands it does not end.
func TestARecountJoinsNothingThatItGroups(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	for _, query := range automation.Recounts() {
		var plan strings.Builder
		err := r.db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			for row, err := range tx.Query(ctx, "EXPLAIN "+strings.ReplaceAll(query, "$1", "'t'")) {
				var line string
				if err == nil {
					err = row.Scan(&line)
				}
				if err != nil {
					return err
				}
				plan.WriteString(line + "\n")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.String(); strings.Contains(got, "Aggregate") && (strings.Contains(got, "Join") ||
			strings.Contains(got, "Nested Loop")) {
			t.Errorf("%s\n%s", query, got)
		}
	}
}
