package inbound

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// keys are the keys of the receipts that are stored, oldest first.
func (r *rig) keys() (all []string) {
	r.Helper()
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx,
			"SELECT idempotency_key FROM trigger_receipt WHERE tenant_id = $1 ORDER BY n", tenantA) {
			var key string
			if err == nil {
				err = row.Scan(&key)
			}
			if err != nil {
				return err
			}
			all = append(all, key)
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return all
}

func (r *rig) expectKeys(want string) {
	r.Helper()
	if got := strings.Join(r.keys(), " "); got != want {
		r.Errorf("the receipts are of %q, want %q", got, want)
	}
}

func TestAReceiptCountsUntilItsTimeHasPassed(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		r = r.with(func(c *Config) { c.TTL = 2 * day })
		run := r.starts(keyed("k", 1)).RunID
		r.end(run)
		r.clock.forward(day)
		r.repeats(keyed("k", 1), run) // which does not make it younger
		r.clock.forward(day)
		r.repeats(keyed("k", 1), run)
		r.clock.forward(time.Millisecond)
		again := r.starts(keyed("k", 1)).RunID // at the read it is not there
		r.expectKeys("k")
		r.repeats(keyed("k", 1), again)
	})
}

func TestReceiptsWhoseTimeHasPassedGoWhenOneIsSaved(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		r = r.with(func(c *Config) { c.TTL = 2 * day })
		r.starts(keyed("a", 1))
		r.clock.forward(day)
		r.starts(keyed("b", 2))
		r.clock.forward(day + time.Millisecond)
		r.expectKeys("a b")
		r.starts(keyed("c", 3))
		r.repeats(keyed("b", 2), r.runOf("b"))
		r.expectKeys("b c")
		r.clock.forward(10 * day)
		r.starts(`{"month":4}`) // nothing is saved
		r.expectKeys("b c")
		r.starts(keyed("d", 5))
		r.expectKeys("d")
	})
}

// runOf is the run of the stored receipt of a key.
func (r *rig) runOf(key string) (run string) {
	r.Helper()
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT run_id FROM trigger_receipt WHERE tenant_id = $1 AND idempotency_key = $2", tenantA,
			key).Scan(&run)
	})
	if err != nil {
		r.Fatal(err)
	}
	return run
}

func TestOnlySoManyReceiptsAreKept(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		three := r.with(func(c *Config) { c.MaxReceipts = 3 })
		runs := map[string]string{}
		for month, key := range []string{"", "a", "b", "c", "d"} {
			if key != "" {
				runs[key] = three.starts(keyed(key, month)).RunID
			}
		}
		r.expectKeys("b c d")
		three.repeats(keyed("b", 2), runs["b"])
		two := r.with(func(c *Config) { c.MaxReceipts = 2 })
		two.repeats(keyed("c", 3), runs["c"])
		r.end(runs["b"])
		again := two.starts(keyed("b", 2)).RunID // at the read it is not there
		if again == runs["b"] {
			t.Error("it was")
		}
		r.expectKeys("d b")
		two.repeats(keyed("d", 4), runs["d"])
		r.end(runs["a"])
		if got := two.starts(keyed("a", 1)).RunID; got == runs["a"] {
			t.Error("what was deleted is remembered")
		}
		r.expectKeys("b a")
		if n := r.count("SELECT receipts FROM trigger_tenant WHERE tenant_id = $1", tenantA); n != 6 {
			t.Errorf("%d receipts were counted, want 6", n)
		}
	})
}

func TestALowerMaximumIsReachedInTime(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		now := at(r.clock.Now())
		err := r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			if _, _, err := lock(ctx, tx, tenantA); err != nil {
				return err
			}
			for n := range int64(2*trimChunk + 50) {
				old := &receipt{n: n + 1, about: about{run: "r"}, at: now}
				stmts := r.save(tenantA, fmt.Sprintf("old-%d", n+1), old)
				if err := tx.Batch(ctx, stmts...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		few := r.with(func(c *Config) { c.MaxReceipts = 10 })
		for i, want := range []int{2*trimChunk + 50 + 1 - trimChunk, 2*trimChunk + 50 + 2 - 2*trimChunk, 10, 10} {
			few.starts(keyed(fmt.Sprintf("new-%d", i), i+1))
			if got := len(r.keys()); got != want {
				t.Fatalf("after %d: %d receipts, want %d", i+1, got, want)
			}
		}
		if got := r.keys(); got[0] != "old-245" || got[9] != "new-3" || !slices.Contains(got, "old-250") {
			t.Errorf("got %q", got)
		}
	})
}

func TestReceiptsAreNumberedWithoutAGap(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		r.templateOf(tenantB, "close", closing)
		for month := 1; month <= 12; month++ {
			r.starts(keyed(fmt.Sprint("k-", month), month))
			r.repeats(keyed(fmt.Sprint("k-", month), month), r.runOf(fmt.Sprint("k-", month)))
			_, err := r.deliver(keyed("refused", month)) // the month has its run
			if err == nil {
				t.Fatal("it was started")
			}
		}
		if low, high := r.count("SELECT min(n) FROM trigger_receipt"),
			r.count("SELECT max(n) FROM trigger_receipt"); low != 1 || high != 12 {
			t.Errorf("from %d to %d", low, high)
		}
	})
}

// TestAReceiptThatRunsOutMeanwhileIsNone has the time of a receipt pass between the
// moment that it was seen and the moment that this is put down.
func TestAReceiptThatRunsOutMeanwhileIsNone(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		run := r.starts(keyed("k", 1)).RunID
		r.end(run)
		asked := 0
		late := r.with(func(c *Config) {
			c.Now = func() time.Time {
				asked++
				if asked == 1 {
					return r.clock.Now()
				}
				return r.clock.Now().Add(c.TTL + time.Millisecond)
			}
		})
		if got := late.starts(keyed("k", 1)); got.RunID == run || asked < 3 {
			t.Errorf("got %+v, the time was asked for %d times", got, asked)
		}
	})
}

// TestAKeyThatStartsMeanwhileIsNotRefused has the same key start a run between the
// moment that a delivery was refused and the moment that this is put down.
func TestAKeyThatStartsMeanwhileIsNotRefused(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	r.template("close", closing)
	run, asked := "", 0
	slow := r.with(func(c *Config) {
		c.Now = func() time.Time {
			if asked++; asked == 2 {
				run = r.starts(keyed("k", 1)).RunID
			}
			return r.clock.Now()
		}
	})
	out, err := slow.deliver(keyed("k", 13))
	if err != nil || !out.Duplicate || out.RunID != run {
		t.Errorf("got %+v %v, want a duplicate of %s", out, err, run)
	}
	r.recount()
}

func TestRetentionIsReadFromTheEnvironment(t *testing.T) {
	for _, tt := range []struct {
		receipts, days string
		wantMax        int
		wantDays       int
		warnings       int
	}{
		{"", "", 1000, 90, 0},
		{"5", "7", 5, 7, 0},
		{"100000", "36500", 100_000, 36_500, 0},
		{"0", "0", 1000, 90, 2},
		{"-5", "-1", 1000, 90, 2},
		{"abc", "7d", 1000, 90, 2},
		{" 5", "7.5", 1000, 90, 2},
		{"100001", "36501", 1000, 90, 2},
		{"99999999999999999999999", "9223372036854775807", 1000, 90, 2},
		{"1e3", "30", 1000, 30, 1},
	} {
		got, ttl, warnings := ParseRetention(func(name string) string {
			return map[string]string{
				"AX_WORKFLOW_EVENT_MAX_RECEIPTS":     tt.receipts,
				"AX_WORKFLOW_EVENT_RECEIPT_TTL_DAYS": tt.days,
			}[name]
		})
		if got != tt.wantMax || ttl != time.Duration(tt.wantDays)*24*time.Hour || len(warnings) != tt.warnings {
			t.Errorf("%+v: got %d %v %q", tt, got, ttl, warnings)
		}
		for _, w := range warnings {
			if !strings.HasPrefix(w, "AX_WORKFLOW_EVENT_") {
				t.Errorf("the warning does not name its variable: %s", w)
			}
		}
	}
	// The longest time can be taken from any instant.
	if tr := New(nil, Config{TTL: mostDays * day}); tr.oldest(canonical.Stamp(time.Now().UnixMilli())) >= 0 {
		t.Error("the longest retention is too short")
	}
}
