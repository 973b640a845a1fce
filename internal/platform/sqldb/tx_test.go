package sqldb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
)

// in runs fn as a job that must succeed.
func in(t *testing.T, db *DB, fn func(ctx context.Context, tx *Tx) error) {
	t.Helper()
	if err := db.Write(t.Context(), Other, fn); err != nil {
		t.Fatal(err)
	}
}

func TestSavepointsNest(t *testing.T) {
	both(t, savepointsNest)
}

func savepointsNest(t *testing.T, db *DB) {
	no := errors.New("no")
	in(t, db, func(ctx context.Context, tx *Tx) error {
		inside := func(b int, want error) func(context.Context) error {
			return func(ctx context.Context) error {
				if err := insert(1, b)(ctx, tx); err != nil {
					return err
				}
				return want
			}
		}
		if err := tx.Savepoint(ctx, inside(1, nil)); err != nil {
			return err
		}
		if err := tx.Savepoint(ctx, inside(2, no)); err != no {
			return fmt.Errorf("got %w", err)
		}
		err := tx.Savepoint(ctx, func(ctx context.Context) error {
			if err := tx.Savepoint(ctx, inside(3, no)); err != no {
				return fmt.Errorf("got %w", err)
			}
			return tx.Savepoint(ctx, inside(4, nil))
		})
		if err != nil {
			return err
		}
		err = tx.Savepoint(ctx, func(ctx context.Context) error {
			if err := tx.Savepoint(ctx, inside(5, nil)); err != nil {
				return err
			}
			return no
		})
		if err != no {
			return fmt.Errorf("got %w", err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = tx.Savepoint(ctx, func(ctx context.Context) error {
				_ = insert(1, 6)(ctx, tx)
				panic("inside")
			})
		}()
		return insert(1, 7)(ctx, tx)
	})
	var got []int
	err := db.Read(t.Context(), func(ctx context.Context, tx *Tx) error {
		for row, err := range tx.Query(ctx, "SELECT b FROM test_row ORDER BY b") {
			var b int
			if err == nil {
				err = row.Scan(&b)
			}
			if err != nil {
				return err
			}
			got = append(got, b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 4, 7}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAQueryInsideTheSameQuery(t *testing.T) {
	both(t, aQueryInsideTheSameQuery)
}

func aQueryInsideTheSameQuery(t *testing.T, db *DB) {
	in(t, db, func(ctx context.Context, tx *Tx) error {
		for b := range 3 {
			if err := insert(1, b)(ctx, tx); err != nil {
				return err
			}
		}
		const query = "SELECT b FROM test_row WHERE a = $1 ORDER BY b"
		pairs := 0
		for _, err := range tx.Query(ctx, query, 1) {
			if err != nil {
				return err
			}
			for _, err := range tx.Query(ctx, query, 1) {
				if err != nil {
					return err
				}
				pairs++
			}
		}
		if pairs != 9 {
			return fmt.Errorf("%d pairs, want 9", pairs)
		}
		return nil
	})
}

func TestALoopThatIsLeftFreesItsStatement(t *testing.T) {
	db := start(t, Config{})
	in(t, db, func(ctx context.Context, tx *Tx) error {
		_ = insert(1, 1)(ctx, tx)
		_ = insert(1, 2)(ctx, tx)
		for range maxStatements * 2 {
			for _, err := range tx.Query(ctx, "SELECT b FROM test_row") {
				if err != nil {
					return err
				}
				break
			}
		}
		for i := range maxStatements * 2 { // more texts than are kept
			if err := tx.Row(ctx, fmt.Sprintf("SELECT %d", i)).Scan(new(int)); err != nil {
				return err
			}
		}
		if n := len(tx.conn.stmts); n > maxStatements {
			return fmt.Errorf("%d statements are kept", n)
		}
		return nil
	})
}

type (
	named  int64
	text   string
	digest [3]byte
	raw    []byte
)

func TestValuesComeBackAsTheyWent(t *testing.T) {
	db := start(t, Config{})
	in(t, db, func(ctx context.Context, tx *Tx) error {
		trip := func(arg, dest, want any) error {
			if err := tx.Row(ctx, "SELECT $1", arg).Scan(dest); err != nil {
				return fmt.Errorf("%T(%v): %w", arg, arg, err)
			}
			if diff := cmp.Diff(want, dest); diff != "" {
				t.Errorf("%T(%v):\n%s", arg, arg, diff)
			}
			return nil
		}
		ptr := func(v any) any { return &v }
		return errors.Join(
			trip(int64(math.MinInt64), new(int64), ref(int64(math.MinInt64))),
			trip(7, new(int), ref(7)),
			trip(uint64(math.MaxInt64), new(uint64), ref(uint64(math.MaxInt64))),
			trip(named(-3), new(named), ref(named(-3))),
			trip(uint8(3), new(uint8), ref(uint8(3))),
			trip("a\x00b", new(string), ref("a\x00b")),
			trip(text("é"), new(text), ref(text("é"))),
			trip([]byte{0, 1}, new([]byte), ref([]byte{0, 1})),
			trip(raw("x"), new(raw), ref(raw("x"))),
			trip(digest{1, 2, 3}, new(digest), ref(digest{1, 2, 3})),
			trip(true, new(bool), ref(true)),
			trip(1.5, new(float64), ref(1.5)),
			trip(nil, ref(5), ref(0)),
			trip(nil, ref("x"), ref("")),
			trip(int64(4), ptr(nil), ptr(int64(4))),
		)
	})
}

func ref[T any](v T) *T { return &v }

func TestValuesThatDoNotFitAreRefused(t *testing.T) {
	db := start(t, Config{})
	in(t, db, func(ctx context.Context, tx *Tx) error {
		for _, tt := range []struct{ arg, dest any }{
			{int64(300), new(uint8)},
			{int64(-1), new(uint64)},
			{"x", new(int)},
			{[]byte("ab"), new(digest)},
			{uint64(math.MaxInt64 + 1), new(uint64)},
			{struct{}{}, new(int)},
			{int64(1), 5},
			{1.5, new(int)},
		} {
			if err := tx.Row(ctx, "SELECT $1", tt.arg).Scan(tt.dest); err == nil ||
				fault.KindOf(err) != fault.Internal {
				t.Errorf("%T(%v) into %T: %v", tt.arg, tt.arg, tt.dest, err)
			}
		}
		if err := tx.Row(ctx, "SELECT 1, 2").Scan(new(int)); err == nil {
			t.Error("two columns went into one place")
		}
		if err := tx.Row(ctx, "SELECT 1 WHERE 1 = 0").Scan(new(int)); !errors.Is(err, ErrNoRow) ||
			fault.KindOf(err) != fault.NotFound {
			t.Errorf("no row: %v", err)
		}
		return nil
	})
}

func TestCollectGivesAllRowsOrTheFirstError(t *testing.T) {
	both(t, func(t *testing.T, db *DB) {
		type name string
		no := errors.New("no")
		in(t, db, func(ctx context.Context, tx *Tx) error {
			const query = "SELECT 'a' AS s UNION ALL SELECT 'b' ORDER BY s"
			got, err := Collect(ctx, tx, Column[name], query)
			if diff := cmp.Diff([]name{"a", "b"}, got); diff != "" || err != nil {
				t.Errorf("%v, (-want +got):\n%s", err, diff)
			}
			if got, err = Collect(ctx, tx, Column[name], query+" LIMIT $1", 0); got != nil || err != nil {
				t.Errorf("of no rows: %q, %v", got, err)
			}
			_, err = Collect(ctx, tx, func(*Row) (name, error) { return "", no }, query)
			if err != no {
				t.Errorf("got %v, want the error of the scan", err)
			}
			return tx.Savepoint(ctx, func(ctx context.Context) error {
				if _, err := Collect(ctx, tx, Column[int64], "SELECT 'text'"); err == nil {
					t.Error("a text was read as a number")
				}
				return nil
			})
		})
	})
}
