package sqldb

import (
	"context"
	"errors"
	"slices"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"

	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

func TestCommitHooksRunAfterTheCommitAndBeforeItsCallerReturns(t *testing.T) {
	both(t, func(t *testing.T, db *DB) {
		var ran []int
		in(t, db, func(ctx context.Context, tx *Tx) error {
			if err := insert(1, 1)(ctx, tx); err != nil {
				return err
			}
			for n := range 3 {
				tx.OnCommit(func() { ran = append(ran, n, rows(t, db, 1)) }) // another connection sees the row
			}
			if len(ran) > 0 {
				t.Error("it ran before the commit")
			}
			return nil
		})
		if want := []int{0, 1, 1, 1, 2, 1}; !slices.Equal(ran, want) {
			t.Errorf("ran %v, want %v", ran, want)
		}
	})
}

func TestARollbackDropsItsCommitHooks(t *testing.T) {
	both(t, func(t *testing.T, db *DB) {
		no := errors.New("no")
		var ran []string
		note := func(tx *Tx, what string) { tx.OnCommit(func() { ran = append(ran, what) }) }
		job := func(name string, end error) func(context.Context, *Tx) error {
			return func(ctx context.Context, tx *Tx) error {
				note(tx, name)
				undone := func(ctx context.Context) error {
					note(tx, name+": undone")
					_ = tx.Savepoint(ctx, func(context.Context) error { note(tx, name+": inside"); return nil })
					return no
				}
				if err := tx.Savepoint(ctx, undone); err != no {
					return err
				}
				if err := tx.Savepoint(ctx, func(context.Context) error {
					note(tx, name+": kept")
					return nil
				}); err != nil {
					return err
				}
				func() {
					defer func() { _ = recover() }()
					_ = tx.Savepoint(ctx, func(context.Context) error { note(tx, name+": panicked"); panic("inside") })
				}()
				return end
			}
		}
		if err := db.Write(t.Context(), Other, job("failed", no)); err != no {
			t.Fatal(err)
		}
		in(t, db, job("done", nil))
		if want := []string{"done", "done: kept"}; !slices.Equal(ran, want) {
			t.Errorf("ran %q, want %q", ran, want)
		}
	})
}

// TestJobsOfOneCommitRunTheirOwnHooks has jobs wait so that they share a
// transaction, in which every second one fails.
func TestJobsOfOneCommitRunTheirOwnHooks(t *testing.T) {
	db := open(t, Config{})
	const jobs = 20
	ran := make([]int, jobs)
	var results []<-chan error
	for n := range jobs {
		results = append(results, enqueue(t.Context(), db, Other, func(ctx context.Context, tx *Tx) error {
			tx.OnCommit(func() { ran[n]++ })
			if n%2 == 1 {
				return errors.New("no")
			}
			return insert(1, n)(ctx, tx)
		}))
	}
	run(t, db)
	for n, res := range results {
		if err := <-res; (err != nil) != (n%2 == 1) {
			t.Errorf("job %d: %v", n, err)
		}
		if ran[n] != 1-n%2 {
			t.Errorf("the hooks of job %d ran %d times", n, ran[n])
		}
	}
	if s := db.Stats(); s.Commits > 2 {
		t.Errorf("%d commits: the jobs did not share one", s.Commits)
	}
}

func TestAFailedCommitRunsNoHook(t *testing.T) {
	db := open(t, Config{})
	db.lite().conn.raw = &faulty{Conn: db.lite().conn.raw, fail: func(query string) error {
		if query == "COMMIT" {
			return coded(sqlite3.SQLITE_FULL)
		}
		return nil
	}}
	run(t, db)
	err := db.Write(t.Context(), Other, func(ctx context.Context, tx *Tx) error {
		tx.OnCommit(func() { t.Error("it ran") })
		return insert(1, 1)(ctx, tx)
	})
	if err == nil {
		t.Error("the write succeeded")
	}
}

// TestAJobThatIsRetriedRunsItsHooksOnce cuts the connection before the COMMIT of its first
// run arrives.
func TestAJobThatIsRetriedRunsItsHooksOnce(t *testing.T) {
	proxy := pgtest.NewProxy(t, pgtest.New(t))
	db := start(t, Config{URL: proxy.URL()})
	cut := false
	proxy.Choose(func(int) pgtest.Cut {
		if cut = !cut; cut {
			return pgtest.Before
		}
		return pgtest.Whole
	})
	runs, ran := 0, 0
	in(t, db, func(ctx context.Context, tx *Tx) error {
		runs++
		tx.OnCommit(func() { ran++ })
		return insert(1, 1)(ctx, tx)
	})
	if runs != 2 || ran != 1 {
		t.Errorf("%d runs, %d hooks ran, want 2 and 1", runs, ran)
	}
}
