package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/test/stalltest"
)

// coded is a driver error with nothing but its code.
type coded int

func (c coded) Error() string { return "code " + strconv.Itoa(int(c)) }
func (c coded) Code() int     { return int(c) }

// faulty is a connection whose statements fail when the test says so.
type faulty struct {
	driver.Conn
	fail func(query string) error
	seen []string
}

func (f *faulty) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	st, err := f.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	return faultyStmt{st, f, query}, err
}

type faultyStmt struct {
	driver.Stmt
	conn  *faulty
	query string
}

func (s faultyStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.conn.seen = append(s.conn.seen, s.query)
	if err := s.conn.fail(s.query); err != nil {
		return nil, err
	}
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (s faultyStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.conn.fail(s.query); err != nil {
		return nil, err
	}
	return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}

// TestAFailedSyncEndsTheLoop fails the sync of a commit and expects that nothing
// is tried again: everybody is told, Run says why, and no statement follows.
func TestAFailedSyncEndsTheLoop(t *testing.T) {
	for _, code := range []int{sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC} {
		db := open(t, Config{})
		f := &faulty{Conn: db.lite().conn.raw, fail: func(query string) error {
			if query == "COMMIT" {
				return coded(code)
			}
			return nil
		}}
		db.lite().conn.raw = f
		first := enqueue(t.Context(), db, Engine, insert(1, 1))
		second := enqueue(t.Context(), db, Other, insert(1, 2))
		err := db.Run(t.Context())
		if err == nil || !errors.Is(err, coded(code)) {
			t.Errorf("Run: %v, want the failed sync", err)
		}
		for _, res := range []<-chan error{first, second} {
			if err := <-res; fault.KindOf(err) != fault.Unavailable {
				t.Errorf("a job of the commit: %v, want Unavailable", err)
			}
		}
		if err := db.Write(t.Context(), Engine, insert(1, 3)); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a later write: %v, want Unavailable", err)
		}
		if last := f.seen[len(f.seen)-1]; last != "COMMIT" {
			t.Errorf("%q was run after the failed commit", last)
		}
	}
}

// TestAFailedSyncBesideTheWritesEndsTheLoopToo fails the sync of a checkpoint.
func TestAFailedSyncBesideTheWritesEndsTheLoopToo(t *testing.T) {
	db := open(t, Config{})
	limits(db, 1, 1<<20, 1<<20)
	dial := db.lite().wal.dial
	db.lite().wal.dial = func() (*conn, error) {
		c, err := dial()
		if err == nil {
			c.raw = &faulty{Conn: c.raw, fail: func(string) error { return coded(sqlite3.SQLITE_IOERR_FSYNC) }}
		}
		return c, err
	}
	res := enqueue(t.Context(), db, Engine, insert(1, 1))
	if err := db.Run(t.Context()); !errors.Is(err, coded(sqlite3.SQLITE_IOERR_FSYNC)) {
		t.Errorf("Run: %v, want the failed sync", err)
	}
	if err := <-res; err != nil {
		t.Errorf("the job before it: %v", err)
	}
	if err := db.Write(t.Context(), Engine, insert(1, 2)); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a later write: %v, want Unavailable", err)
	}
}

// TestACheckpointThatFailsIsTriedAgain fails checkpoints in a way that passes.
func TestACheckpointThatFailsIsTriedAgain(t *testing.T) {
	db := open(t, Config{})
	limits(db, 1, 1<<20, 1<<20)
	fails := make(chan struct{})
	dial := db.lite().wal.dial
	db.lite().wal.dial = func() (*conn, error) {
		c, err := dial()
		if err == nil {
			left := 2
			c.raw = &faulty{Conn: c.raw, fail: func(string) error {
				if left == 0 {
					return nil
				}
				left--
				fails <- struct{}{}
				return coded(sqlite3.SQLITE_FULL)
			}}
		}
		return c, err
	}
	stop := run(t, db)
	for n := range 2 {
		if err := db.Write(t.Context(), Engine, insert(1, n)); err != nil {
			t.Fatal(err)
		}
		stalltest.Within(t, "a checkpoint that fails", fails)
	}
	for n := 2; db.Stats().Checkpoints == 0; n++ {
		if err := db.Write(t.Context(), Engine, insert(1, n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// TestACommitThatFailsIsUndone fails commits in ways that pass.
func TestACommitThatFailsIsUndone(t *testing.T) {
	for _, code := range []int{sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_BUSY} {
		db := open(t, Config{})
		broken := true
		db.lite().conn.raw = &faulty{Conn: db.lite().conn.raw, fail: func(query string) error {
			if query == "COMMIT" && broken {
				return coded(code)
			}
			return nil
		}}
		own := errors.New("saw what is undone now")
		results := []<-chan error{
			enqueue(t.Context(), db, Engine, insert(1, 1)),
			enqueue(t.Context(), db, Other, func(context.Context, *Tx) error { return own }),
		}
		run(t, db)
		for _, res := range results {
			f, ok := fault.As(<-res)
			if !ok || f.Kind != fault.Unavailable || f.RetryAfter != retryAfter {
				t.Errorf("code %d: %v, want Unavailable with advice", code, f)
			}
		}
		if err := db.Write(t.Context(), Engine, func(context.Context, *Tx) error {
			broken = false
			return nil
		}); err != nil {
			t.Errorf("code %d: the next commit: %v", code, err)
		}
		if err := db.Write(t.Context(), Engine, insert(1, 1)); err != nil {
			t.Errorf("code %d: the same row again: %v", code, err)
		}
		if got := rows(t, db, 1); got != 1 {
			t.Errorf("code %d: %d rows, want 1", code, got)
		}
	}
}

// TestAJobCannotHideThatTheTransactionIsGone swallows an error that may have ended
// the transaction. What the job writes after it must not stay.
func TestAJobCannotHideThatTheTransactionIsGone(t *testing.T) {
	db := open(t, Config{})
	db.lite().conn.raw = &faulty{Conn: db.lite().conn.raw, fail: func(query string) error {
		if query == "DELETE FROM test_row" {
			return coded(sqlite3.SQLITE_IOERR_READ)
		}
		return nil
	}}
	results := []<-chan error{
		enqueue(t.Context(), db, Engine, insert(1, 1)),
		enqueue(t.Context(), db, Engine, func(ctx context.Context, tx *Tx) error {
			_, _ = tx.Exec(ctx, "DELETE FROM test_row")
			_ = insert(2, 1)(ctx, tx)
			return nil
		}),
	}
	run(t, db)
	for _, res := range results {
		if err := <-res; fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%v, want Unavailable", err)
		}
	}
	if rows(t, db, 1)+rows(t, db, 2) != 0 {
		t.Error("something of the transaction stayed")
	}
}

func TestAFullDiskRefusesAndRecovers(t *testing.T) {
	dir := smallDisk(t, 4<<20)
	if dir == "" {
		t.Run("by page count", fullByPageCount)
		return
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	db := start(t, Config{Path: filepath.Join(dir, "test.db")})
	acked := fill(t, db)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	afterFull(t, db, acked)
}

func fullByPageCount(t *testing.T) {
	db := start(t, Config{})
	limit := func(pages int) {
		err := db.Write(t.Context(), Other, func(ctx context.Context, tx *Tx) error {
			return tx.Row(ctx, "PRAGMA max_page_count = "+strconv.Itoa(pages)).Scan(new(int))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(200)
	acked := fill(t, db)
	limit(2000)
	afterFull(t, db, acked)
}

// fill writes until the disk is full and gives the number of jobs that were acknowledged.
func fill(t *testing.T, db *DB) int {
	t.Helper()
	for n := 0; ; n++ {
		if n > 10_000 {
			t.Fatal("the disk never was full")
		}
		err := db.Write(t.Context(), Engine, bulk(n))
		if err == nil {
			continue
		}
		f, _ := fault.As(err)
		if f == nil || f.Kind != fault.Unavailable || f.Code != codeFull || f.RetryAfter != retryAfter {
			t.Fatalf("a full disk: %v", err)
		}
		return n
	}
}

// bulk is a job that writes ten rows of a kibibyte.
func bulk(a int) func(context.Context, *Tx) error {
	return func(ctx context.Context, tx *Tx) error {
		for b := range 10 {
			if _, err := tx.Exec(ctx, insertRow, a, b, make([]byte, 1<<10)); err != nil {
				return err
			}
		}
		return nil
	}
}

// afterFull checks that what was acknowledged is there, that what was refused is
// not, and that writing goes on.
func afterFull(t *testing.T, db *DB, acked int) {
	t.Helper()
	if got := rows(t, db, acked); got != 0 {
		t.Errorf("%d rows of the job that was refused", got)
	}
	if err := db.Write(t.Context(), Engine, bulk(acked)); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	for a := range acked + 1 {
		if got := rows(t, db, a); got != 10 {
			t.Errorf("job %d has %d rows, want 10", a, got)
		}
	}
	checkIntegrity(t, db)
}

func checkIntegrity(t *testing.T, db *DB) {
	t.Helper()
	var verdict string
	err := db.Read(t.Context(), func(ctx context.Context, tx *Tx) error {
		return tx.Row(ctx, "PRAGMA integrity_check").Scan(&verdict)
	})
	if err != nil || verdict != "ok" {
		t.Errorf("integrity: %q, %v", verdict, err)
	}
}

// smallDisk mounts a file system of so many bytes, where that is allowed; "" where not.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(size)); err != nil {
		t.Logf("no small disk (%v): bounding the number of pages instead", err)
		return ""
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}
