package bulk

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
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
		"items": selectItems, "items of an outcome": selectEnded, "waiting": selectWaiting, "old": selectOld,
		"gone": selectGone, "key": idempotency.Select,
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
