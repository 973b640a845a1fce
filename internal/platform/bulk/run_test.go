package bulk

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/test/stalltest"
)

func TestAProcessThatLostItsLeaseWritesNothingDown(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		id := r.frozen(workChunk + 1)
		r.start(id)
		other := r.process()
		slept := false
		r.kind.around = func(moment string) {
			if moment != "after do" || slept {
				return
			}
			slept = true
			r.move(time.Minute)
			if worked, err := other.step(t.Context()); !worked || err != nil {
				t.Errorf("the other process: %v %v", worked, err)
			}
		}
		b, err := r.claim(t.Context())
		r.must(err)
		if err := r.work(t.Context(), r.kind, b); !errors.Is(err, errLost) {
			t.Errorf("got %v, want that the lease is lost", err)
		}
		if b := r.is(id, Running); b.Counts.Settled() != workChunk {
			t.Errorf("%d items are settled, want %d", b.Counts.Settled(), workChunk)
		}
		r.settled(Running)
		r.complete(id, workChunk+1)
	})
}

func TestBulksTakeTurns(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		var ids []string
		for range 3 {
			ids = append(ids, r.frozen(4*workChunk))
		}
		for _, id := range ids {
			r.start(id)
		}
		for turn := 1; turn <= 4; turn++ {
			for range ids {
				_, err := r.step(t.Context())
				r.must(err)
				r.move(time.Millisecond) // those of one millisecond go by their age
			}
			for i, id := range ids {
				b, err := r.Bulk(t.Context(), tenantA, id)
				r.must(err)
				if b.Counts.Settled() != turn*workChunk {
					t.Errorf("turn %d: bulk %d has %d items settled", turn, i, b.Counts.Settled())
				}
			}
		}
	})
}

func TestWhatCannotBeDoneNowIsDoneLater(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for name, tt := range map[string]struct {
			err   error
			pause time.Duration
		}{
			"unavailable": {&fault.Error{Kind: fault.Unavailable}, idleFor},
			"crowded":     {fault.TooMuch(1, "too many of this tenant wait"), idleFor},
			"broken":      {errBroken, failPause},
		} {
			id := r.frozen(3)
			r.start(id)
			r.kind.fail = func(moment string) error {
				if moment == "after do" {
					return tt.err
				}
				return nil
			}
			if worked, err := r.step(t.Context()); !worked || !errors.Is(err, tt.err) {
				t.Errorf("%s: %v %v", name, worked, err)
			}
			r.kind.fail = nil
			if worked, _ := r.step(t.Context()); worked {
				t.Errorf("%s: it did not pause", name)
			}
			r.move(tt.pause)
			if worked, _ := r.step(t.Context()); !worked {
				t.Errorf("%s: it pauses too long", name)
			}
			r.complete(id, 3)
		}
	})
}

func TestAnExclusiveProcessTakesOverAtOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		id := r.frozen(3)
		r.start(id)
		old, err := r.claim(t.Context()) // and ends
		r.must(err)
		if worked, _ := r.step(t.Context()); worked {
			t.Error("the lease counts for nothing")
		}
		r.must(r.free(t.Context()))
		if err := r.settle(t.Context(), old, make([]Result, 3)); !errors.Is(err, errLost) {
			t.Errorf("the process that ended wrote something down: %v", err)
		}
		r.settled(Running)
		r.complete(id, 3)
	})
}

// TestRunWorksUntilItsContextEnds lets Run do everything by itself.
func TestRunWorksUntilItsContextEnds(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		const size = freezeChunk + workChunk
		ended := make(chan string, 1)
		r.kind.around = func(moment string) {
			if moment == "after do" && r.kind.asked == (size+workChunk-1)/workChunk {
				ended <- moment
			}
		}
		id := r.create(size)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { r.Bulks.Run(ctx); close(done) }()
		for r.mustBulk(id).Status != Preview {
			runtime.Gosched() // each look takes a while
		}
		r.start(id)
		stalltest.Within(t, "the last chunk", ended)
		stop() // during the last chunk, which is finished
		stalltest.Within(t, "the end of the run", done)
		r.complete(id, size)
	})
}

func (r *rig) mustBulk(id string) Bulk {
	r.Helper()
	b, err := r.Bulk(r.Context(), tenantA, id)
	r.must(err)
	return b
}

func TestWhatIsPastItsTimeIsDeleted(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		const size = freezeChunk + retainChunk
		done, preview, running := r.frozen(size), r.frozen(1), r.frozen(1)
		r.start(done)
		r.settled(Running)
		r.start(running)
		r.move(29 * 24 * time.Hour)
		young := r.frozen(1)
		r.must(r.retain(t.Context()))
		if _, total, _ := r.List(t.Context(), tenantA, []string{"crowd"}, 0, 10); total != 4 {
			t.Errorf("%d bulks remain before their time, want 4", total)
		}
		r.move(25 * time.Hour)
		r.must(r.retain(t.Context()))
		for _, id := range []string{done, preview} {
			_, err := r.Bulk(t.Context(), tenantA, id)
			r.refused(err, fault.NotFound, "BULK_NOT_FOUND")
		}
		r.is(running, Running)
		r.is(young, Preview)
		if got, want := r.rows("bulk_item"), 2; got != want {
			t.Errorf("%d items remain, want %d", got, want)
		}
		r.must(r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			now, err := r.now(ctx, tx)
			if err == nil {
				_, err = idempotency.Retain(ctx, tx, canonical.Stamp(now), 0, 100)
			}
			return err
		}))
		if got, want := r.rows("idempotency_request"), 1; got != want {
			t.Errorf("%d keys remain, want %d", got, want)
		}
		r.settled(Running)
		r.complete(running, 1)
	})
}

func TestABulkOnItsWayOutIsSeenByNobody(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		id := r.frozen(retainChunk + 1)
		r.move(31 * 24 * time.Hour)
		for step, want := range []struct{ rows, items int }{{1, retainChunk + 1}, {1, 1}, {1, 0}, {0, 0}} {
			_, err := r.retainBulks(t.Context())
			r.must(err)
			if rows, items := r.rows("bulk"), r.rows("bulk_item"); rows != want.rows || items != want.items {
				t.Errorf("step %d: %d rows and %d items, want %+v", step, rows, items, want)
			}
			_, err = r.Bulk(t.Context(), tenantA, id)
			r.refused(err, fault.NotFound, "BULK_NOT_FOUND")
			if _, total, _ := r.List(t.Context(), tenantA, []string{"crowd"}, 0, 10); total != 0 {
				t.Errorf("step %d: it is listed", step)
			}
			_, err = r.Start(t.Context(), r.order(id, fmt.Sprint("start", step)))
			r.refused(err, fault.NotFound, "BULK_NOT_FOUND")
		}
	})
}

func TestProcessesThatDeleteABulkAtOnceLeaveNothingOfIt(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for range 5 {
			r.frozen(4 * retainChunk)
			r.move(31 * 24 * time.Hour)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					if err := r.process().retain(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if bulks, items := r.rows("bulk"), r.rows("bulk_item"); bulks+items > 0 {
				t.Fatalf("%d bulks and %d items are left", bulks, items)
			}
		}
	})
}
