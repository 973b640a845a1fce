package sqldb

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modernc.org/sqlite"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/test/tier"
)

// limits makes the log of a database that does not run yet small.
func limits(db *DB, step, start, limit int64) {
	w := db.lite().wal
	w.step, w.start, w.limit = step, start, limit
	w.pause = func(time.Duration) time.Duration { return time.Millisecond }
	w.every = time.Millisecond
}

// load writes jobs of about 40 KiB.
func load(t *testing.T, db *DB, from, jobs int) {
	t.Helper()
	for a := from; a < from+jobs; a++ {
		err := db.Write(t.Context(), Engine, func(ctx context.Context, tx *Tx) error {
			for b := range 10 {
				if _, err := tx.Exec(ctx, insertRow, a, b, make([]byte, 4<<10)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheLogStartsOverUnderLoad(t *testing.T) {
	tier.System(t)
	db := open(t, Config{})
	limits(db, 256<<10, 1<<20, 1<<30)
	run(t, db)
	load(t, db, 0, 1500) // 60 MiB
	s := db.Stats()
	if s.Checkpoints == 0 || s.Blocked > 0 {
		t.Errorf("%d checkpoints, %d blocked", s.Checkpoints, s.Blocked)
	}
	if s.WAL > 30<<20 {
		t.Errorf("the log has %d MiB after 60 MiB of writes; it should start over at 1 MiB", s.WAL>>20)
	}
}

// TestAnOutsideReaderDoesNotHoldUpCommits lets another program read the file for as long
// as it likes. The log grows, which is said and counted; commits wait for nothing; and
// when the reader has gone the log is short again by itself.
func TestAnOutsideReaderDoesNotHoldUpCommits(t *testing.T) {
	said := &lines{}
	path := filepath.Join(t.TempDir(), "test.db")
	db := open(t, Config{Path: path, Log: slog.New(slog.NewTextHandler(said, nil))})
	limits(db, 256<<10, 512<<10, 2<<20)
	if _, err := db.lite().conn.exec(t.Context(), "PRAGMA journal_size_limit = 1048576"); err != nil {
		t.Fatal(err)
	}
	var waits atomic.Int64 // checkpoints of the loop; all but a PASSIVE one wait for readers
	raw := db.lite().conn.raw
	watched := &faulty{Conn: raw, fail: func(query string) error {
		if strings.Contains(query, "wal_checkpoint") && !strings.Contains(query, "PASSIVE") {
			waits.Add(1)
		}
		return nil
	}}
	db.lite().conn.raw = struct {
		*faulty
		sqlite.DBStatus
	}{watched, raw.(sqlite.DBStatus)}
	run(t, db)
	load(t, db, 0, 1)
	leave := outsider(t, path)
	load(t, db, 1, 100) // 4 MiB: from 2 MiB on the log is too long
	if n := waits.Load(); n > 0 {
		t.Errorf("commits waited %d times for a checkpoint that waits for the reader", n)
	}
	loadUntil(t, db, 1000, "nobody says that the log is too long", func() bool { return db.Stats().Blocked > 0 })
	if s := db.Stats(); s.WAL < 2<<20 {
		t.Errorf("with a reader the log has %d KiB: the test is too weak", s.WAL>>10)
	}
	if !said.has(`msg="write-ahead log cannot be shortened" reason="another process reads the database file"`) {
		t.Errorf("nobody is told why the log grows:\n%s", said)
	}
	leave()
	loadUntil(t, db, 10_000, "the log stays long after the reader", func() bool {
		return db.Stats().WAL <= 2<<20 && said.has(`msg="write-ahead log is short again"`)
	})
	if got := rows(t, db, 100); got != 10 {
		t.Errorf("%d rows, want 10", got)
	}
	checkIntegrity(t, db)
}

// reader reads back to back, each time until a number of commits more are done, and gives a
// function that ends it.
func reader(t *testing.T, db *DB, commits uint64) (leave func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	over := func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}
	read := func(ctx context.Context, tx *Tx) error {
		err := tx.Row(ctx, "SELECT count(*) FROM test_row").Scan(new(int))
		for until := db.Stats().Commits + commits; err == nil && db.Stats().Commits < until && !over(); {
			runtime.Gosched()
		}
		return err
	}
	go func() {
		defer close(done)
		for !over() {
			if err := db.Read(For(t.Context(), "loud"), read); err != nil && !over() {
				t.Error(err)
				return
			}
		}
	}()
	return func() { close(ended); <-done }
}

// TestReadsThatOverlapDoNotKeepTheLogFromStartingOver lets two readers of a tenant overlap while
// commits go on, so that there is always somebody who reads what the log held.
func TestReadsThatOverlapDoNotKeepTheLogFromStartingOver(t *testing.T) {
	db := open(t, Config{})
	limits(db, 256<<10, 512<<10, 2<<20)
	if _, err := db.lite().conn.exec(t.Context(), "PRAGMA journal_size_limit = 1048576"); err != nil {
		t.Fatal(err)
	}
	run(t, db)
	load(t, db, 0, 1)
	defer reader(t, db, 10)()
	load(t, db, 1, 5) // so that the other one begins in the middle
	defer reader(t, db, 10)()
	long, times := false, 0
	loadUntil(t, db, 10, "the log does not start over", func() bool {
		if size := db.Stats().WAL; size >= 2<<20 {
			long = true
		} else if long {
			long = false
			times++
		}
		return times == 3
	})
}

// TestReadsThatAreHeldUpHoldUpNoCommit has a log beyond its limit wait for a read that stays, for
// as long as the test likes: commits go on, a read that cannot wait is told so, and when the read
// has ended all others go on.
func TestReadsThatAreHeldUpHoldUpNoCommit(t *testing.T) {
	db := open(t, Config{Reading: time.Minute})
	limits(db, 256<<10, 512<<10, 1<<20)
	db.lite().wal.hold = time.Minute
	run(t, db)
	load(t, db, 0, 1)
	leave := reader(t, db, 1<<40)
	held := func() bool { return db.lite().readers.drained.Load() == 3 }
	loadUntil(t, db, 1, "nobody holds up reads", held)
	load(t, db, 10_000, 10)
	if !held() {
		t.Error("reads are not held up any more")
	}
	nothing := func(context.Context, *Tx) error { return nil }
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := db.Read(ctx, nothing); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a read that is held up for longer than it may wait: %v", err)
	}
	leave()
	if err := db.Read(t.Context(), nothing); err != nil {
		t.Error(err)
	}
}

// loadUntil writes until something holds: the log is looked after beside the writes.
func loadUntil(t *testing.T, db *DB, from int, what string, holds func() bool) {
	t.Helper()
	for n := range 5000 {
		if holds() {
			return
		}
		load(t, db, from+n, 1)
	}
	t.Fatal(what)
}

// outsider opens a read transaction on a database file as another program would, and
// gives a function that ends it.
func outsider(t *testing.T, path string) (leave func()) {
	t.Helper()
	raw, err := openSQLite(sqliteDSN(path, readCacheKiB, true))
	if err != nil {
		t.Fatal(err)
	}
	c := newConn(raw, true)
	if _, err := c.exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	for _, err := range c.query(t.Context(), "SELECT count(*) FROM test_row") {
		if err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if err := errors.Join(c.rollback(), c.close()); err != nil {
			t.Error(err)
		}
	}
}

// lines is a log that a test reads.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) has(text string) bool { return strings.Contains(l.String(), text) }

func TestACheckpointThatIsBlockedIsTriedLessAndLessOften(t *testing.T) {
	var pause time.Duration
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		if pause = nextPause(pause); pause != want*time.Second {
			t.Errorf("pause %d is %v, want %d s", i, pause, want)
		}
	}
}
