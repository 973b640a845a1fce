package sqldb

import (
	"context"
	"strings"
	"testing"
)

// TestAVacuumRemovesDeadRows deletes rows, and on PostgreSQL looks whether the index
// still leads to them.
func TestAVacuumRemovesDeadRows(t *testing.T) {
	both(t, func(t *testing.T, db *DB) {
		in(t, db, func(ctx context.Context, tx *Tx) error {
			var values []any
			for i := range 2000 {
				values = append(values, 1, i, []byte("x"))
			}
			return tx.Batch(ctx, insertRows.Stmts(tx, values)...)
		})
		in(t, db, func(ctx context.Context, tx *Tx) error {
			_, err := tx.Exec(ctx, "DELETE FROM test_row WHERE a = 1 AND b > 3")
			return err
		})
		if err := db.Vacuum(t.Context(), "test_row"); err != nil {
			t.Fatal(err)
		}
		if err := db.Vacuum(t.Context(), "no_such_table"); (err != nil) != (db.Dialect() == Postgres) {
			t.Errorf("of a table that is not there: %v", err)
		}
		if db.Dialect() == SQLite {
			return
		}
		var rows float64
		err := db.Read(t.Context(), func(ctx context.Context, tx *Tx) error {
			return tx.Row(ctx, "SELECT CAST(reltuples AS double precision) FROM pg_class WHERE relname = 'test_row'").
				Scan(&rows)
		})
		if err != nil || rows != 4 {
			t.Errorf("PostgreSQL counts %v rows (%v), want 4", rows, err)
		}
	})
}

// TestWhatCannotChangeIsAskedOnce asks twice in a transaction that reads, and in one that
// writes.
func TestWhatCannotChangeIsAskedOnce(t *testing.T) {
	type key string
	both(t, func(t *testing.T, db *DB) {
		asked := 0
		ask := func(_ context.Context, tx *Tx) error {
			for _, k := range []key{"a", "a", "b"} {
				got, err := Remember(tx, k, func() (string, error) { asked++; return strings.ToUpper(string(k)), nil })
				if err != nil || got != strings.ToUpper(string(k)) {
					t.Errorf("%s: got %q, %v", k, got, err)
				}
			}
			return nil
		}
		if err := db.Read(t.Context(), ask); err != nil || asked != 2 {
			t.Errorf("in a read: asked %d times (%v), want 2", asked, err)
		}
		asked = 0
		if in(t, db, ask); asked != 3 {
			t.Errorf("in a write: asked %d times, want 3", asked)
		}
	})
}
