package sqldb

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/test/stalltest"
)

// idle runs a database whose statements fail as the test says, and returns when
// its loop has nothing to do: the next caller does its turn itself.
func idle(t *testing.T, db *DB, fail func(query string) error) (stop func() error) {
	t.Helper()
	db.lite().conn.raw = &faulty{Conn: db.lite().conn.raw, fail: fail}
	stop = run(t, db)
	if err := db.Write(t.Context(), Engine, insert(0, 0)); err != nil {
		t.Fatal(err)
	}
	db.lite().loop.baton.Lock() // when whoever had it is done
	defer db.lite().loop.baton.Unlock()
	if n := len(db.lite().loop.jobs); n > 0 {
		t.Fatalf("%d jobs are left", n)
	}
	return stop
}

// TestAFailedSyncOfACallersTurnEndsTheLoop fails the sync of a turn that a caller
// does while the loop sleeps.
func TestAFailedSyncOfACallersTurnEndsTheLoop(t *testing.T) {
	db := open(t, Config{})
	var fails atomic.Bool
	stop := idle(t, db, func(query string) error {
		if query == "COMMIT" && fails.Load() {
			return coded(sqlite3.SQLITE_IOERR_FSYNC)
		}
		return nil
	})
	fails.Store(true)
	for n := range 2 {
		err := db.Write(t.Context(), Engine, insert(1, n))
		if f, _ := fault.As(err); f == nil || f.Kind != fault.Unavailable || f.Code != codeIO {
			t.Errorf("write %d: %v, want %s", n, err, codeIO)
		}
	}
	if err := stop(); !errors.Is(err, coded(sqlite3.SQLITE_IOERR_FSYNC)) {
		t.Errorf("Run: %v, want the failed sync", err)
	}
}

// TestAFailedSyncWhileStoppingIsReportedAsSuch stops the loop while a caller is in the
// commit that fails.
func TestAFailedSyncWhileStoppingIsReportedAsSuch(t *testing.T) {
	db := open(t, Config{})
	committing, stopping := make(chan struct{}), make(chan struct{})
	var fails atomic.Bool
	stop := idle(t, db, func(query string) error {
		if query == "COMMIT" && fails.Load() {
			close(committing)
			<-stopping
			return coded(sqlite3.SQLITE_IOERR_FSYNC)
		}
		return nil
	})
	fails.Store(true)
	res := make(chan error, 1)
	go func() { res <- db.Write(t.Context(), Engine, insert(1, 1)) }()
	stalltest.Within(t, "the commit of a caller that helps", committing)
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	for db.lite().queue.isOpen() { // until the loop has begun to stop
		runtime.Gosched()
	}
	close(stopping)
	if err := <-ended; !errors.Is(err, coded(sqlite3.SQLITE_IOERR_FSYNC)) {
		t.Errorf("Run: %v, want the failed sync", err)
	}
	if f, _ := fault.As(<-res); f == nil || f.Code != codeIO {
		t.Errorf("the job of that commit: %v, want %s", f, codeIO)
	}
}

func (q *queue) isOpen() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed == nil
}

// TestACallerDoesNotWaitForTheLogToBeShortened holds up the checkpoint that a
// commit made necessary: whoever committed has its answer.
func TestACallerDoesNotWaitForTheLogToBeShortened(t *testing.T) {
	db := open(t, Config{})
	held, release := make(chan struct{}), make(chan struct{})
	var waits atomic.Bool
	idle(t, db, func(query string) error {
		if query == "PRAGMA wal_checkpoint(PASSIVE)" && waits.CompareAndSwap(true, false) {
			close(held)
			<-release
		}
		return nil
	})
	db.lite().loop.baton.Lock()
	db.lite().wal.reset.Store(true)
	waits.Store(true)
	db.lite().loop.baton.Unlock()
	if err := db.Write(t.Context(), Engine, insert(1, 1)); err != nil {
		t.Error(err)
	}
	stalltest.Within(t, "the job that holds the loop", held)
	close(release)
	if err := db.Write(t.Context(), Engine, insert(1, 2)); err != nil {
		t.Error(err)
	}
}
