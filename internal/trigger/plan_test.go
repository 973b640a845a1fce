package trigger

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"renga.dev/renga/internal/sqldb"
)

// TestStatementsUseAnIndex asks SQLite how it would run what is asked for every
// delivery: nothing walks a table, nothing is sorted.
func TestStatementsUseAnIndex(t *testing.T) {
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	save := r.save(tenantA, "k", &receipt{n: 1})
	for _, st := range append(save[:1:1], []sqldb.Stmt{
		save[2],
		{Query: selectReceipt, Args: []any{tenantA, "k"}},
		{Query: selectTemplate, Args: []any{tenantA, "t"}},
		{Query: selectTemplates, Args: []any{tenantA, 10, 0}},
		{Query: selectByAction, Args: []any{tenantA, "a"}},
		{Query: selectExternal, Args: []any{tenantA}},
		{Query: selectMonth, Args: []any{tenantA, "t", 2026, 1}},
		{Query: selectTally, Args: []any{tenantA, "2026-02"}},
		{Query: selectReceipts, Args: []any{tenantA, 7, 10}},
	}...) {
		plan := r.plan(st)
		if !strings.Contains(plan, "SEARCH trigger_") || strings.Contains(plan, "SCAN trigger_") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\n\t%s", st.Query, plan)
		}
	}
}

func (r *rig) plan(st sqldb.Stmt) string {
	r.Helper()
	var steps []string
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "EXPLAIN QUERY PLAN "+st.Query, st.Args...) {
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
	})
	if err != nil {
		r.Fatal(err)
	}
	return strings.Join(steps, "\n\t")
}
