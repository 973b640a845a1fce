package automation_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/svc/automation"
)

// TestRowsAreFoundByIndexes asks SQLite how it would find rows.
func TestRowsAreFoundByIndexes(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	for query, want := range automation.Plans() {
		var plan strings.Builder
		err := r.db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			for row, err := range tx.Query(ctx, "EXPLAIN QUERY PLAN "+query, []any{"t", "a", "b", 1}[:strings.Count(query, "$")]...) {
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
		if got := plan.String(); !strings.Contains(got, want) || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("%s\n%swant %s", query, got, want)
		}
	}
}
