package sqldb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/test/stalltest"
)

func TestCodesHaveKinds(t *testing.T) {
	for _, tt := range []struct {
		code  int
		kind  fault.Kind
		scope scope
	}{
		{sqlite3.SQLITE_FULL, fault.Unavailable, transaction},
		{sqlite3.SQLITE_IOERR_WRITE, fault.Unavailable, transaction},
		{sqlite3.SQLITE_IOERR_READ, fault.Unavailable, transaction},
		{sqlite3.SQLITE_IOERR_SHMSIZE, fault.Unavailable, transaction},
		{sqlite3.SQLITE_IOERR_FSYNC, fault.Internal, process},
		{sqlite3.SQLITE_IOERR_DIR_FSYNC, fault.Internal, process},
		{sqlite3.SQLITE_BUSY, fault.Unavailable, transaction},
		{sqlite3.SQLITE_BUSY_SNAPSHOT, fault.Unavailable, transaction},
		{sqlite3.SQLITE_LOCKED, fault.Unavailable, transaction},
		{sqlite3.SQLITE_INTERRUPT, fault.Unavailable, transaction},
		{sqlite3.SQLITE_NOMEM, fault.Unavailable, transaction},
		{sqlite3.SQLITE_CONSTRAINT_UNIQUE, fault.Conflict, statement},
		{sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, fault.Conflict, statement},
		{sqlite3.SQLITE_CONSTRAINT_ROWID, fault.Conflict, statement},
		{sqlite3.SQLITE_CONSTRAINT_NOTNULL, fault.Internal, statement},
		{sqlite3.SQLITE_CONSTRAINT_CHECK, fault.Internal, statement},
		{sqlite3.SQLITE_TOOBIG, fault.TooLarge, statement},
		{sqlite3.SQLITE_CORRUPT, fault.Internal, transaction},
		{sqlite3.SQLITE_IOERR_DATA, fault.Internal, transaction},
		{sqlite3.SQLITE_IOERR_CORRUPTFS, fault.Internal, transaction},
		{sqlite3.SQLITE_ERROR, fault.Internal, statement},
		{sqlite3.SQLITE_READONLY, fault.Internal, statement},
	} {
		// The code is found however deep it is wrapped, and whatever the text says.
		err := fmt.Errorf("database is locked: %w", coded(tt.code))
		v, ok := judgeSQLite(err)
		if !ok || v.kind != tt.kind || v.scope != tt.scope {
			t.Errorf("code %d: kind %v, scope %d; want %v, %d", tt.code, v.kind, v.scope, tt.kind, tt.scope)
		}
		wrapped := sqliteDialect.wrap("test", err)
		if fault.KindOf(wrapped) != tt.kind || !errors.Is(wrapped, coded(tt.code)) {
			t.Errorf("code %d: wrapped as %v", tt.code, wrapped)
		}
		if f, _ := fault.As(wrapped); (f.RetryAfter > 0) != (tt.kind == fault.Unavailable) {
			t.Errorf("code %d: advice %v with %v", tt.code, f.RetryAfter, tt.kind)
		}
	}
}

func TestAnErrorOfSomebodyElseKeepsItsKind(t *testing.T) {
	own := fault.New(fault.TooLarge, "TOO_LARGE", "too large")
	if got := sqliteDialect.wrap("test", own); got != own {
		t.Errorf("got %v", got)
	}
	if got := sqliteDialect.wrap("test", errors.New("database is full")); fault.KindOf(got) != fault.Internal {
		t.Errorf("a text was taken for a code: %v", got)
	}
	if got := sqliteDialect.wrap("test", nil); got != nil {
		t.Errorf("nil became %v", got)
	}
}

// TestErrorsOfTheRealDriver makes the database itself fail.
func TestErrorsOfTheRealDriver(t *testing.T) {
	db := start(t, Config{})
	for _, tt := range []struct {
		name  string
		query string
		want  fault.Kind
	}{
		{"a second row with the same key", "INSERT INTO test_row (a, b) VALUES (1, 1), (1, 1)", fault.Conflict},
		{"a row without a column", "INSERT INTO test_row (a) VALUES (1)", fault.Internal},
		{"no such table", "INSERT INTO nowhere VALUES (1)", fault.Internal},
		{
			"a value that is too large", "INSERT INTO test_row (a, b, body) VALUES (1, 2, zeroblob(2000000000))",
			fault.TooLarge,
		},
	} {
		err := db.Write(t.Context(), Other, func(ctx context.Context, tx *Tx) error {
			_, err := tx.Exec(ctx, tt.query)
			return err
		})
		if err == nil || fault.KindOf(err) != tt.want {
			t.Errorf("%s: %v, want kind %v", tt.name, err, tt.want)
		}
	}
	err := db.Read(t.Context(), func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, insertRow, 1, 1, nil)
		return err
	})
	if err == nil || fault.KindOf(err) != fault.Internal {
		t.Errorf("a write in a read: %v", err)
	}
}

// TestAForeignWriterMakesUsWaitThenRefuse holds the write lock as a tool beside
// the server would.
func TestAForeignWriterMakesUsWaitThenRefuse(t *testing.T) {
	db := open(t, Config{})
	foreign, err := db.lite().wal.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.close()
	if _, err := foreign.exec(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.lite().conn.exec(t.Context(), "PRAGMA busy_timeout = 20"); err != nil {
		t.Fatal(err)
	}
	results := []<-chan error{
		enqueue(t.Context(), db, Engine, insert(1, 1)),
		enqueue(t.Context(), db, Other, insert(1, 2)),
	}
	run(t, db)
	for _, res := range results {
		err := stalltest.Within(t, "the answer to a job", res)
		if f, _ := fault.As(err); f == nil || f.Kind != fault.Unavailable || f.Code != codeBusy {
			t.Errorf("while the lock is held: %v", err)
		}
	}
	if _, err := foreign.exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), Engine, insert(1, 1)); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestHowLongAReadMayLastIsConfigured(t *testing.T) {
	for _, most := range []time.Duration{0, 20 * time.Minute} {
		db := open(t, Config{Reading: most})
		var left time.Duration
		if err := db.Read(t.Context(), func(ctx context.Context, _ *Tx) error {
			at, _ := ctx.Deadline()
			left = time.Until(at)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if want := cmp.Or(most, maxRead); left > want || left < want-2*time.Minute {
			t.Errorf("a read has %v left, want %v", left, want)
		}
	}
}

func TestAReadEndsWithItsTime(t *testing.T) {
	db := open(t, Config{Readers: 1})
	const endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
	for name, query := range map[string]string{
		"inside one step":    endless + "SELECT count(*) FROM n",
		"between many steps": endless + "SELECT x FROM n",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		err := db.Read(ctx, func(ctx context.Context, tx *Tx) error {
			for _, err := range tx.Query(ctx, query) {
				if err != nil {
					return err
				}
			}
			return nil
		})
		cancel()
		if fault.KindOf(err) != fault.Unavailable || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want Unavailable because time is over", name, err)
		}
		if got := rows(t, db, 1); got != 0 { // the only connection serves on
			t.Errorf("%d rows", got)
		}
	}
}
