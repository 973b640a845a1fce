package sqldb

import (
	"context"
	"testing"
	"time"
)

// limits makes the log of a database that does not run yet small.
func limits(db *DB, step, start, limit int64) {
	db.lite().wal.step, db.lite().wal.start, db.lite().wal.limit = step, start, limit
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
	db := open(t, Config{})
	limits(db, 256<<10, 1<<20, 1<<30)
	run(t, db)
	load(t, db, 0, 1500) // 60 MiB
	s := db.Stats()
	if s.Checkpoints == 0 || s.Stalls > 0 {
		t.Errorf("%d checkpoints, %d stalls", s.Checkpoints, s.Stalls)
	}
	if s.WAL > 30<<20 {
		t.Errorf("the log has %d MiB after 60 MiB of writes; it should start over at 1 MiB", s.WAL>>20)
	}
}

// TestAPinnedLogIsCapped lets a read pin the log, which then grows up to the cap;
// there the loop waits for it.
func TestAPinnedLogIsCapped(t *testing.T) {
	db := open(t, Config{})
	limits(db, 256<<10, 512<<10, 2<<20)
	if _, err := db.lite().conn.exec(t.Context(), "PRAGMA busy_timeout = 10"); err != nil {
		t.Fatal(err)
	}
	run(t, db)
	load(t, db, 0, 1)
	err := db.Read(t.Context(), func(ctx context.Context, tx *Tx) error {
		if err := tx.Row(ctx, "SELECT count(*) FROM test_row").Scan(new(int)); err != nil {
			return err
		}
		load(t, db, 1, 100) // 4 MiB
		if s := db.Stats(); s.Stalls == 0 || s.WAL < 4<<20 {
			t.Errorf("with a read open: %d stalls, %d MiB of log", s.Stalls, s.WAL>>20)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	load(t, db, 101, 20)
	for began, more := time.Now(), 121; db.Stats().WAL > 2<<20; more++ { // it is shortened beside the writes
		load(t, db, more, 1)
		if time.Since(began) > time.Minute {
			t.Fatalf("after the read the log still has %d MiB", db.Stats().WAL>>20)
		}
	}
	if got := rows(t, db, 120); got != 10 {
		t.Errorf("%d rows, want 10", got)
	}
	checkIntegrity(t, db)
}
