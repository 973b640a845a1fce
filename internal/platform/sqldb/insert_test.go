package sqldb

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	insertRows = NewInsert("test_row (a, b, body)", "ON CONFLICT (a, b) DO UPDATE SET body = excluded.body", "bigint",
		"bigint", "bytea")
	insertSames = NewInsertSelect("test_row (a, b, body)", "7, *", "", "bigint", "bytea")
)

// TestRowsAreInsertedInTheirOrder inserts as many rows as make statements of every size,
// and those that are there again.
func TestRowsAreInsertedInTheirOrder(t *testing.T) {
	both(t, func(t *testing.T, db *DB) {
		const most = 2*32 + 8 + 2 + 1
		for n := range most + 1 {
			if n > 12 && n < most-2 {
				continue
			}
			for _, text := range []string{"old", "new"} {
				in(t, db, func(ctx context.Context, tx *Tx) error {
					var values []any
					for i := range n {
						values = append(values, 1000+n, most-i, []byte(text))
					}
					stmts := insertRows.Stmts(tx, values)
					changed := make([]int64, len(stmts))
					for i := range stmts {
						stmts[i].Changed = &changed[i]
					}
					err := tx.Batch(ctx, stmts...)
					var all int64
					for _, c := range changed {
						all += c
					}
					if all != int64(n) || tx.Dialect() == Postgres && len(stmts) > 1 {
						t.Errorf("%d rows: %d were inserted, by %d statements", n, all, len(stmts))
					}
					return err
				})
			}
			var got, want []int64
			in(t, db, func(ctx context.Context, tx *Tx) error {
				for row, err := range tx.Query(ctx, "SELECT b, body FROM test_row WHERE a = $1 ORDER BY id", 1000+n) {
					var b int64
					var body string
					if err == nil {
						err = row.Scan(&b, &body)
					}
					if err != nil {
						return err
					}
					if got = append(got, b); body != "new" {
						t.Errorf("row %d has %q", b, body)
					}
				}
				return nil
			})
			for i := range n {
				want = append(want, int64(most-i))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d rows (-want +got):\n%s", n, diff)
			}
		}
	})
}

func TestPostgreSQLSelectsFromTheRows(t *testing.T) {
	both(t, func(t *testing.T, db *DB) {
		if db.Dialect() == SQLite {
			return
		}
		in(t, db, func(ctx context.Context, tx *Tx) error {
			return tx.Batch(ctx, insertSames.Stmts(tx, []any{1, []byte("x"), 2, []byte{}})...)
		})
		if got := rows(t, db, 7); got != 2 {
			t.Errorf("got %d rows", got)
		}
		err := db.Write(t.Context(), Other, func(ctx context.Context, tx *Tx) error {
			return tx.Batch(ctx, insertSames.Stmts(tx, []any{3, []byte("x"), "4", []byte("x")})...)
		})
		if err == nil || !strings.Contains(err.Error(), "string in a column") {
			t.Errorf("a text among numbers: got %v", err)
		}
		err = db.Write(t.Context(), Other, func(ctx context.Context, tx *Tx) error {
			return tx.Batch(ctx, insertSames.Stmts(tx, []any{3, nil})...)
		})
		if err == nil {
			t.Error("NULL was taken")
		}
	})
}
