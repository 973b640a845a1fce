package store

import (
	"context"
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
		"history": selectHistory, "rows": selectRows, "row": selectRow, "commit of": selectCommitOf,
		"key": selectKey, "ready": selectReady, "newest graph": selectNewestGraph,
		"news": selectPublications, "instant of news": selectInstant, "last news": selectLastNumber,
		"unpublished": selectUnpublished,
	}
	for name, q := range map[string]engine.ListQuery{
		"list": {}, "list of a graph": {GraphID: "g"}, "list of a status": {Status: []flow.Status{flow.Failed}},
		"list of two statuses of a graph": {GraphID: "g", Status: []flow.Status{flow.Failed, flow.Canceled}},
	} {
		l := newList(sqldb.SQLite, q)
		statements[name+", newest first"], statements[name+", oldest first"] = l.page("DESC"), l.page("ASC")
		statements[name+", walk"] = l.walk()
		statements[name+", total"], statements[name+", total of a range"] = l.counted(), l.count()
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
