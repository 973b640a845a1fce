package sqldb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/stalltest"
)

// postgres is the database as one on a server.
func (db *DB) postgres() *postgres { return db.base.(*postgres) }

// foreign is a connection that is not the pool's.
func foreign(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func TestATransactionIsOneTripAndACommit(t *testing.T) {
	db := start(t, Config{URL: pgtest.New(t)})
	job := func(ctx context.Context, tx *Tx) error {
		return tx.Savepoint(ctx, func(ctx context.Context) error {
			var n, changed int64
			err := tx.Batch(ctx,
				Stmt{Query: insertRow, Args: []any{1, time.Now().UnixNano(), nil}, Changed: &changed},
				Stmt{Query: "SELECT count(*) FROM test_row", Row: func(r *Row) error { return r.Scan(&n) }})
			if err == nil && (n == 0 || changed != 1) {
				t.Errorf("%d rows, %d changed", n, changed)
			}
			return err
		})
	}
	in(t, db, job)
	before := db.Stats()
	in(t, db, job)
	in(t, db, func(context.Context, *Tx) error { return nil })
	after := db.Stats()
	if trips, commits := after.Trips-before.Trips, after.Commits-before.Commits; trips != 2 || commits != 1 {
		t.Errorf("%d trips and %d commits, want 2 and 1", trips, commits)
	}
}

func TestAStatementThatFailsEndsItsTransaction(t *testing.T) {
	db := start(t, Config{URL: pgtest.New(t)})
	in(t, db, insert(1, 1))
	err := db.Write(t.Context(), Engine, func(ctx context.Context, tx *Tx) error {
		if err := insert(1, 2)(ctx, tx); err != nil {
			return err
		}
		_ = insert(1, 1)(ctx, tx)
		return nil // as if all were well
	})
	if fault.KindOf(err) != fault.Conflict || rows(t, db, 1) != 1 {
		t.Errorf("got %v and %d rows, want a conflict and 1", err, rows(t, db, 1))
	}
	for _, first := range []int{0, 1} { // with and without a statement before the savepoint
		in(t, db, func(ctx context.Context, tx *Tx) error {
			for b := range first {
				if err := insert(2, b)(ctx, tx); err != nil {
					return err
				}
			}
			err := tx.Savepoint(ctx, func(ctx context.Context) error { return insert(1, 1)(ctx, tx) })
			if fault.KindOf(err) != fault.Conflict {
				return fmt.Errorf("got %w, want a conflict", err)
			}
			err = tx.Savepoint(ctx, func(ctx context.Context) error {
				_ = insert(1, 1)(ctx, tx)
				return nil
			})
			if fault.KindOf(err) != fault.Conflict {
				return fmt.Errorf("swallowed: got %w, want a conflict", err)
			}
			return insert(3, first)(ctx, tx)
		})
	}
	if rows(t, db, 1) != 1 || rows(t, db, 2) != 1 || rows(t, db, 3) != 2 {
		t.Error("what was around the savepoints is not as it should be")
	}
	if s := db.Stats(); s.Redone[0] != s.Jobs[Engine]+s.Jobs[Other] {
		t.Errorf("something was run again: %v", s.Redone)
	}
}

func TestAPanicUndoesItsTransaction(t *testing.T) {
	db := start(t, Config{URL: pgtest.New(t)})
	err := db.Write(t.Context(), Engine, func(ctx context.Context, tx *Tx) error {
		_ = insert(1, 1)(ctx, tx)
		panic("oh")
	})
	if err == nil || fault.KindOf(err) != fault.Internal || rows(t, db, 1) != 0 {
		t.Errorf("got %v and %d rows", err, rows(t, db, 1))
	}
}

// TestADeadlockIsRunAgain has two jobs wait for each other's row.
func TestADeadlockIsRunAgain(t *testing.T) {
	db := start(t, Config{URL: pgtest.New(t)})
	in(t, db, insert(1, 0))
	in(t, db, insert(2, 0))
	var meet, done sync.WaitGroup
	meet.Add(2)
	for _, order := range [][2]int{{1, 2}, {2, 1}} {
		done.Go(func() {
			runs := 0
			err := db.Write(t.Context(), Engine, func(ctx context.Context, tx *Tx) error {
				runs++
				const query = "UPDATE test_row SET b = b + 1 WHERE a = $1"
				if _, err := tx.Exec(ctx, query, order[0]); err != nil {
					return err
				}
				if runs == 1 {
					meet.Done()
					meet.Wait()
				}
				_, err := tx.Exec(ctx, query, order[1])
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	var sum int
	err := db.Read(t.Context(), func(ctx context.Context, tx *Tx) error {
		return tx.Row(ctx, "SELECT sum(b) FROM test_row").Scan(&sum)
	})
	if err != nil || sum != 4 {
		t.Errorf("sum %d, %v; want 4", sum, err)
	}
	if s := db.Stats(); s.Redone[0] == s.Jobs[Engine]+s.Jobs[Other] || s.Failed == 0 {
		t.Errorf("nothing was run again: %v, %d failed", s.Redone, s.Failed)
	}
}

func TestALockThatIsNotGivenIsTriedAgainAndThenUnavailable(t *testing.T) {
	url := pgtest.New(t)
	db := start(t, Config{URL: url})
	in(t, db, insert(1, 1))
	other := foreign(t, url)
	if _, err := other.Exec(t.Context(), "BEGIN; SELECT * FROM test_row FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	runs := 0
	job := func(ctx context.Context, tx *Tx) error {
		runs++
		return tx.Batch(ctx, Stmt{Query: "SET LOCAL lock_timeout = '20ms'"}, Stmt{Query: "DELETE FROM test_row"})
	}
	err := db.Write(t.Context(), Engine, job)
	if f, _ := fault.As(err); f == nil || f.Kind != fault.Unavailable || f.Code != codeBusy ||
		f.RetryAfter != retryAfter {
		t.Errorf("got %v, want %s", err, codeBusy)
	}
	if s := db.Stats(); runs != maxRedo+1 || s.Redone[maxRedo] != 1 {
		t.Errorf("%d runs, %v", runs, s.Redone)
	}
	runs = 0
	err = db.Write(t.Context(), Engine, func(ctx context.Context, tx *Tx) error {
		_ = tx.Savepoint(ctx, func(ctx context.Context) error { return job(ctx, tx) })
		return nil // as if it did not matter
	})
	if f, _ := fault.As(err); f == nil || f.Code != codeBusy || runs != maxRedo+1 {
		t.Errorf("in a savepoint: %v after %d runs, want %s", err, runs, codeBusy)
	}
	runs = maxRedo + 1
	err = db.Write(t.Context(), Engine, func(ctx context.Context, tx *Tx) error {
		if runs++; runs > maxRedo+3 {
			_, _ = other.Exec(ctx, "ROLLBACK")
		}
		return job(ctx, tx)
	})
	if err != nil || rows(t, db, 1) != 0 {
		t.Errorf("after the lock was free: %v", err)
	}
}

func TestReadsSeeOneStateAndCannotWrite(t *testing.T) {
	db := start(t, Config{URL: pgtest.New(t)})
	err := db.Read(t.Context(), func(ctx context.Context, tx *Tx) error {
		for range 2 {
			var n int
			if err := tx.Row(ctx, "SELECT count(*) FROM test_row").Scan(&n); err != nil || n != 0 {
				return fmt.Errorf("%d rows, %w", n, err)
			}
			in(t, db, insert(1, int(time.Now().UnixNano())))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := db.Read(t.Context(), insert(1, 1)); err == nil || rows(t, db, 1) != 2 {
		t.Errorf("a read wrote: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = db.Read(ctx, func(ctx context.Context, tx *Tx) error {
		time.AfterFunc(20*time.Millisecond, cancel)
		return tx.Row(ctx, "SELECT pg_sleep(10)").Scan(new(any))
	})
	if fault.KindOf(err) != fault.Unavailable || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the call ended", err)
	}
	if n := rows(t, db, 1); n != 2 {
		t.Errorf("%d rows after a read that was left", n)
	}
}

// TestReadsAndOthersLeaveConnectionsToTheEngine takes all that they may have.
func TestReadsAndOthersLeaveConnectionsToTheEngine(t *testing.T) {
	db := start(t, Config{URL: pgtest.New(t), Conns: minConns})
	release := make(chan struct{})
	var held, done sync.WaitGroup
	hold := func(ctx context.Context, tx *Tx) error {
		err := tx.Row(ctx, "SELECT 1").Scan(new(int))
		held.Done()
		<-release
		return err
	}
	for i := range minConns / 2 { // those of readers
		held.Add(1)
		done.Go(func() {
			if err := db.Read(For(t.Context(), fmt.Sprint("tenant ", i)), hold); err != nil {
				t.Error(err)
			}
		})
	}
	for range minConns / 4 { // those of other writers
		held.Add(1)
		done.Go(func() {
			if err := db.Write(t.Context(), Other, hold); err != nil {
				t.Error(err)
			}
		})
	}
	held.Wait()
	if err := db.Write(t.Context(), Engine, insert(1, 1)); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := db.Write(ctx, Other, insert(1, 2)); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("another write: %v, want that it waits", err)
	}
	if err := db.Read(ctx, hold); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("another read: %v, want that it waits", err)
	}
	close(release)
	done.Wait()
	if n := rows(t, db, 1); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func TestTheEndOfRunFinishesWritesAndRefusesNewOnes(t *testing.T) {
	db := open(t, Config{URL: pgtest.New(t)})
	stop := run(t, db)
	begun, release := make(chan struct{}), make(chan struct{})
	res := make(chan error, 1)
	go func() {
		res <- db.Write(t.Context(), Engine, func(ctx context.Context, tx *Tx) error {
			close(begun)
			<-release
			return insert(1, 1)(ctx, tx)
		})
	}()
	stalltest.Within(t, "a job that has begun", begun)
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	for db.Write(t.Context(), Engine, func(context.Context, *Tx) error { return nil }) == nil {
	}
	select {
	case <-ended:
		t.Error("Run ended before a write that was under way")
	default:
	}
	close(release)
	if err := <-res; err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if rows(t, db, 1) != 1 {
		t.Error("what was under way is not stored")
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if err := db.Read(t.Context(), insert(1, 1)); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a read after the end: %v", err)
	}
}
