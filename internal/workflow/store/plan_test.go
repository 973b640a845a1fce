package store

import (
	"context"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// TestStatementsUseAnIndex asks the database how it would run what must stay fast
// on large tables: nothing walks a table, nothing is sorted.
func TestStatementsUseAnIndex(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqldb.Config{
		Path:       filepath.Join(t.TempDir(), "test.db"),
		Migrations: []sqldb.Migration{Migration()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	statements := map[string]string{
		"by id": selectByID, "by number": selectByNum, "due": dueBegin + dueEnd, "due in a shard": dueBegin + inShard +
			dueEnd,
		"due after one": dueBegin + inShard + dueAfter + dueEnd, "newest row": selectNewest, "snapshot": selectSnapshot,
		"history": selectHistory, "rows": selectRows, "rows after": selectAfter,
		"row": selectRow, "commit of": selectCommitOf,
		"key": selectKey, "ready": selectReady, "newest graph": selectNewestGraph,
		"news": selectPublications, "instant of news": selectInstant, "last news": selectLastNumber,
		"unpublished": selectUnpublished, "waits of": selectWaitsOf, "assignees of": selectAssigneesOf,
	}
	for name, q := range listQueries {
		l := newList(sqldb.SQLite, q)
		statements[name+", total"] = l.counted().Query
		statements[name+", archived"] = l.archived().Query
		for driver, query := range listStatements(l) {
			if driver != "ended_at" || !strings.Contains(query, "ORDER BY") { // what is sorted is few
				statements[name+" by "+driver+": "+query] = query
			}
		}
	}
	for name, query := range statements {
		steps, err := plan(t, db, query)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, step := range steps {
			walks := strings.HasPrefix(step, "SCAN engine_") || strings.HasPrefix(step, "SEARCH engine_") &&
				!strings.Contains(step, " USING ")
			if walks || strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("%s: %s\n\t%s", name, query, strings.Join(steps, "\n\t"))
				break
			}
		}
	}
}

// listQueries are filters of lists that are as slow as others.
var listQueries = map[string]engine.ListQuery{
	"list": {}, "list of a graph": {GraphID: "g"}, "list of a status": {Status: []flow.Status{flow.Failed}},
	"list of two statuses of a graph": {GraphID: "g", Status: []flow.Status{flow.Failed, flow.Canceled}},
	"list of a label":                 {Labels: []flow.Label{{Name: "a", Value: "1"}}},
	"list of what waits":              {Waiting: true},
	"list of what waits in a graph":   {Waiting: true, GraphID: "g", Labels: []flow.Label{{Name: "a", Value: "1"}}},
	"list of a node that waits":       {NodeID: "a"},
	"list of what is archived":        {Archived: true},
	"list of what is archived of one": {Archived: true, GraphID: "g", Status: []flow.Status{flow.Failed}},
	"list by everything": {
		GraphID: "g", Status: []flow.Status{flow.Failed, flow.Active}, CorrelationID: "c",
		BusinessKey: "k", Outcome: "o",
		ErrorCode: "E",
		Labels:    []flow.Label{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}, EndedFrom: 7, NodeID: "a",
	},
}

// listStatements are the statements of a list with each of the filters that can drive it.
func listStatements(l *list) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		place := engine.Head{CreatedAt: 1, Num: 1}
		one := func(driver string, stmts ...sqldb.Stmt) {
			for _, st := range append(stmts, l.page("DESC", 1, 1), l.page("ASC", 1, 1), l.before(&place, 1),
				l.walk(&place, 1), l.count()) {
				yield(driver, st.Query)
			}
		}
		one("status")
		for i := range l.filters {
			l.driver = &l.filters[i]
			one(l.driver.column, l.some(l.driver), l.passing(l.driver))
		}
	}
}

// plan gives the steps by which the database would run a statement.
func plan(t *testing.T, db *sqldb.DB, query string) (steps []string, err error) {
	var args []any
	for range strings.Count(query, "$") {
		args = append(args, 1)
	}
	err = db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
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
	})
	return steps, err
}
