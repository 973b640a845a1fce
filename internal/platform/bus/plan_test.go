package bus

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/sqldb"
)

// TestStatementsOnDeadLettersUseTheRightIndex asks SQLite how it would run what must
// stay fast when there are many dead letters.
func TestStatementsOnDeadLettersUseTheRightIndex(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqldb.Config{
		Path:       filepath.Join(t.TempDir(), "test.db"),
		Migrations: []sqldb.Migration{Migration()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	open := (&DeadFilter{}).where(&sqldb.Binds{}, "t")
	some := (&DeadFilter{Consumer: "c", EventType: "t", Key: "k", ReasonClass: "r", DeadFrom: 1, DeadTo: 2}).where(
		&sqldb.Binds{}, "t")
	for query, index := range map[string]string{
		selectSame: "bus_dead_key",
		selectDead: "bus_dead_id",
		"SELECT count(*) FROM bus_dead WHERE " +
			open: "COVERING INDEX bus_dead_list",
		"SELECT " + deadColumns + " FROM bus_dead WHERE " + open + " ORDER BY num DESC LIMIT 50": "bus_dead_list",
		"SELECT " + deadColumns + " FROM bus_dead WHERE " + some + " ORDER BY num DESC LIMIT 50": "bus_dead",
		selectProcessed: "PRIMARY KEY",
	} {
		if got := planOf(t, db, query); !strings.Contains(got, "USING "+index) &&
			!strings.Contains(got, "USING INDEX "+index) || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("%s:\n\t%s", query, got)
		}
	}
}

// TestAPageOfARefillIsReadByID asks the same of what a replay reads again and again while
// its reader waits: a page may not cost what the whole outbox does.
func TestAPageOfARefillIsReadByID(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqldb.Config{
		Path:       filepath.Join(t.TempDir(), "test.db"),
		Migrations: []sqldb.Migration{Migration()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := planOf(t, db, queriesSQLite.backfill); got != "SEARCH outbox_events USING INTEGER PRIMARY KEY (rowid>? "+
		"AND rowid<?)" {
		t.Errorf("got %s", got)
	}
}

// TestTheEndsOfTheOutboxAreLookedUp asks the same of what every list of events begins with.
func TestTheEndsOfTheOutboxAreLookedUp(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqldb.Config{
		Path:       filepath.Join(t.TempDir(), "test.db"),
		Migrations: []sqldb.Migration{Migration()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := planOf(t, db, selectEnds); strings.Contains(got, "SCAN outbox_events") {
		t.Errorf("got %s", got)
	}
}

// planOf is how SQLite would run a query.
func planOf(t *testing.T, db *sqldb.DB, query string) string {
	t.Helper()
	var plan []string
	err := db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
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
			plan = append(plan, detail)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "; ")
}
