package inbound

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/sqldb"
)

// TestStatementsReadWhatTheyAreAbout asks SQLite how it would run what is asked for
// every delivery: it looks up the rows that it needs, and does not walk those of a
// tenant. Nothing is sorted.
func TestStatementsReadWhatTheyAreAbout(t *testing.T) {
	const (
		byKey      = "SEARCH trigger_receipt USING PRIMARY KEY (tenant_id=? AND idempotency_key=?)"
		byTemplate = "SEARCH trigger_template USING PRIMARY KEY (tenant_id=? AND id=?)"
		inOrder    = "SEARCH trigger_receipt USING INDEX trigger_receipt_n (tenant_id=?)" // up to a limit
	)
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	save := r.save(tenantA, "k", &receipt{n: 1})
	for _, tt := range []struct {
		st   sqldb.Stmt
		want []string // the tables that are searched, and by what
	}{
		{save[0], []string{"SEARCH trigger_tenant USING PRIMARY KEY (tenant_id=?)"}},
		{save[2], []string{byKey, inOrder}},
		{sqldb.Stmt{Query: selectReceipt, Args: []any{tenantA, "k"}}, []string{byKey}},
		{sqldb.Stmt{Query: selectTemplate, Args: []any{tenantA, "t"}}, []string{byTemplate}},
		{
			sqldb.Stmt{Query: selectTemplates, Args: []any{tenantA, 10, 0}},
			[]string{"SEARCH trigger_template USING PRIMARY KEY (tenant_id=?)"},
		},
		{sqldb.Stmt{Query: selectByAction, Args: []any{tenantA, "a"}}, []string{
			byTemplate, "SEARCH trigger_template USING COVERING INDEX trigger_template_first (tenant_id=? AND " +
				"first_kind=? AND first_action=?)",
		}},
		{sqldb.Stmt{Query: selectExternal, Args: []any{tenantA}}, []string{
			byTemplate, "SEARCH trigger_template USING COVERING INDEX trigger_template_first (tenant_id=? AND " +
				"first_kind=?)",
		}},
		{
			sqldb.Stmt{Query: selectMonth, Args: []any{tenantA, "t", 2026, 1}},
			[]string{"SEARCH trigger_month USING PRIMARY KEY (tenant_id=? AND template_id=? AND year=? AND month=?)"},
		},
		{
			sqldb.Stmt{Query: selectTally, Args: []any{tenantA, "2026-02"}},
			[]string{"SEARCH trigger_tally USING PRIMARY KEY (tenant_id=? AND month=?)"},
		},
		{
			sqldb.Stmt{Query: selectReceipts, Args: []any{tenantA, 7, 10}},
			[]string{"SEARCH trigger_receipt USING INDEX trigger_receipt_n ((tenant_id,n)>(?,?))"},
		},
	} {
		var got []string
		for _, step := range r.plan(tt.st) {
			if strings.Contains(step, " trigger_") || strings.Contains(step, "TEMP B-TREE") {
				got = append(got, step)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.st.Query, diff)
		}
	}
}

func (r *rig) plan(st sqldb.Stmt) []string {
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
	return steps
}
