package sqldb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/stalltest"
)

func TestWhatALookAtTheDatabaseDoes(t *testing.T) {
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, tc := range []struct {
		name   string
		seen   seen
		asked  time.Time
		failed error
		want   probe
	}{
		{"at the start", seen{}, time.Time{}, nil, smallProbe},
		{"commits succeed", seen{good: ago(time.Second)}, ago(time.Hour), nil, noProbe},
		{"nothing is committed", seen{good: ago(5 * time.Second)}, ago(5 * time.Second), nil, smallProbe},
		{"nothing is committed, but asked for", seen{good: ago(5 * time.Second)}, ago(time.Second), nil, noProbe},
		{"a commit failed", seen{good: ago(0), bad: ago(time.Second)}, ago(2 * time.Second), nil, largeProbe},
		{
			"one failed before the probe",
			seen{good: ago(0), bad: ago(3 * time.Second)},
			ago(2 * time.Second), nil,
			noProbe,
		},
		{"the last probe failed", seen{good: ago(0)}, ago(time.Second), errors.New("full"), largeProbe},
	} {
		if got := due(now, tc.seen, tc.asked, tc.failed); got != tc.want {
			t.Errorf("%s: got %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestDamageIsEverywhereWhenNothingElseIsMet(t *testing.T) {
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	met := errors.New("damaged")
	for _, tc := range []struct {
		name string
		met  damage
		want error
	}{
		{"none", damage{}, nil},
		{"one command met it", damage{ago(5 * time.Second), ago(5 * time.Second), met}, nil},
		{"all commands meet it", damage{ago(5 * time.Second), ago(0), met}, met},
		{"it was met long ago", damage{ago(time.Hour), ago(time.Minute), met}, nil},
	} {
		if got := tc.met.everywhere(now); !errors.Is(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

// health runs the health of a database with short pauses.
func health(t *testing.T, db *DB, said *lines) *Health {
	t.Helper()
	h := NewHealth(db, "test", slog.New(slog.NewTextHandler(said, nil)))
	h.every, h.within = time.Millisecond, 50*time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); h.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return h
}

// until waits until the health of a database is good, or is not.
func until(t *testing.T, h *Health, good bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for (h.Check() == nil) != good {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("after a minute the health is %v", h.Check())
		}
	}
}

// TestNothingCanBeWritten fails every commit in the ways of a database, with and without
// somebody who writes: it shows, and so does the end of it.
func TestNothingCanBeWritten(t *testing.T) {
	for _, code := range []int{
		sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_BUSY,
	} {
		said := &lines{}
		db := withHealth(t, Config{Path: filepath.Join(t.TempDir(), "test.db")})
		var broken atomic.Bool
		db.lite().conn.raw = &faulty{Conn: db.lite().conn.raw, fail: func(query string) error {
			if query == "COMMIT" && broken.Load() {
				return coded(code)
			}
			return nil
		}}
		run(t, db)
		h := health(t, db, said)
		until(t, h, true)
		broken.Store(true)
		if code != sqlite3.SQLITE_BUSY {
			if err := db.Write(t.Context(), Engine, insert(1, 1)); err == nil {
				t.Error("a commit succeeded")
			}
		}
		h.forceIdle()
		until(t, h, false)
		broken.Store(false)
		until(t, h, true)
		if !said.has("nothing can be written") || !said.has("writing again") {
			t.Errorf("code %d: nobody is told:\n%s", code, said)
		}
	}
}

// forceIdle makes the last commit and the last probe old.
func (h *Health) forceIdle() {
	h.db.stats.pulse.good.Store(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = time.Time{}
}

// TestAProbeThatHangsHasFailed lets PostgreSQL hang.
func TestAProbeThatHangsHasFailed(t *testing.T) {
	db := withHealth(t, Config{URL: pgtest.New(t)})
	run(t, db)
	said := &lines{}
	h := health(t, db, said)
	until(t, h, true)
	pg := db.base.(*postgres)
	for i := range someConns / 4 {
		if err := pg.others.Enter(t.Context(), fmt.Sprint("tenant ", i)); err != nil {
			t.Fatal(err)
		}
	}
	h.forceIdle()
	until(t, h, false)
	for i := range someConns / 4 {
		pg.others.Leave(fmt.Sprint("tenant ", i))
	}
	until(t, h, true)
}

// withHealth opens a database with the tables that its health needs.
func withHealth(t *testing.T, cfg Config) *DB {
	t.Helper()
	cfg.Migrations = []Migration{SchemaTables(), rowTable}
	db, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// TestDamageIsNotWorthARepetition damages what one job reads: it is told not to try again,
// and who shared its transaction may.
func TestDamageIsNotWorthARepetition(t *testing.T) {
	db := open(t, Config{})
	db.lite().conn.raw = &faulty{Conn: db.lite().conn.raw, fail: func(query string) error {
		if query == "DELETE FROM test_row" {
			return coded(sqlite3.SQLITE_CORRUPT)
		}
		return nil
	}}
	innocent := enqueue(t.Context(), db, Engine, insert(1, 1))
	met := enqueue(t.Context(), db, Engine, func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM test_row")
		return err
	})
	run(t, db)
	f, _ := fault.As(stalltest.Within(t, "the answer to who shared it", innocent))
	if f == nil || f.Kind != fault.Unavailable || f.RetryAfter == 0 {
		t.Errorf("who shared the transaction: %v, want Unavailable with advice", f)
	}
	err := stalltest.Within(t, "the answer to who met the damage", met)
	f, _ = fault.As(err)
	if f == nil || f.Kind != fault.Internal || f.RetryAfter != 0 || f.Reason != fault.Damaged || !IsDamage(err) {
		t.Errorf("who met damage: %v, want no advice to try again", err)
	}
	p := &db.stats.pulse
	p.mu.Lock()
	if p.damaged.err == nil {
		t.Error("the damage is not noted")
	}
	p.mu.Unlock()
	if err := db.Write(t.Context(), Engine, insert(1, 1)); err != nil {
		t.Error(err)
	}
}
