package bulk

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
)

func TestASmallSetIsFrozenAtOnceAndNothingIsDone(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		req := r.request(freezeChunk - 1)
		ans, err := r.Create(t.Context(), req)
		r.must(err)
		want := Answer{
			BulkID: ans.BulkID, Status: Preview, Total: freezeChunk - 1, CorrelationID: req.CorrelationID,
			Key: req.Idempotency.Key,
		}
		if diff := cmp.Diff(want, ans); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		b := r.is(ans.BulkID, Preview)
		if b.CreatedBy != "ann" || b.CorrelationID != req.CorrelationID || string(b.Spec) != string(req.Spec) ||
			b.Kind != "crowd" ||
			b.CreatedAt.IsZero() || !b.StartedAt.IsZero() || !b.EndedAt.IsZero() {
			t.Errorf("got %+v", b)
		}
		if worked, err := r.step(t.Context()); worked || err != nil || r.kind.asked > 0 {
			t.Errorf("a preview was worked on: %v %v", worked, err)
		}
		if all := r.items(ans.BulkID, nil); len(all) != freezeChunk-1 || all[0].Name != "1" ||
			all[0].Outcome != Pending {
			t.Errorf("got %d items, such as %+v", len(all), all[0])
		}
	})
}

func TestALargeSetIsFrozenInChunks(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for _, size := range []int{freezeChunk, freezeChunk + 1, 3*freezeChunk + 17} {
			id := r.create(size)
			if b := r.is(id, Freezing); b.Total != freezeChunk {
				t.Errorf("got %d items at first, want %d", b.Total, freezeChunk)
			}
			r.settled(Freezing)
			if b := r.is(id, Preview); b.Total != size || b.Counts != (Counts{}) {
				t.Errorf("got %+v, want %d items", b, size)
			}
			for i, it := range r.items(id, nil) {
				if it.Name != fmt.Sprint(i+1) || it.Outcome != Pending {
					t.Fatalf("item %d is %+v", i+1, it)
				}
			}
		}
	})
}

func TestABulkWorksThroughItsItemsInOrder(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		const size = freezeChunk + 30
		r.kind.failing["55"] = true
		id := r.frozen(size)
		r.start(id)
		r.settled(Running)
		r.complete(id, size)
		b := r.is(id, Done)
		if b.Counts != (Counts{Applied: 43, Already: 6, Refused: 5, Failed: 1}) || b.StartedBy != "bob" ||
			b.StartedAt.IsZero() {
			t.Errorf("got %+v", b)
		}
		for name, n := range r.kind.done {
			if n != 1 {
				t.Errorf("%s was done %d times", name, n)
			}
		}
		for o := Pending; o <= Failed; o++ {
			all := r.items(id, &o)
			if len(all) != b.Counts.Of(o, size) {
				t.Errorf("%d items are %v, the counts say %d", len(all), o, b.Counts.Of(o, size))
			}
			for _, it := range all {
				if it.Outcome != o {
					t.Fatalf("%+v is among those that are %v", it, o)
				}
			}
		}
	})
}

func TestAnEmptySetIsDoneWhenItIsStarted(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		id := r.frozen(0)
		r.start(id)
		r.settled(Running)
		r.complete(id, 0)
	})
}

func TestABulkThatIsStoppedGoesOnWhereItWas(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		const size = 3 * workChunk
		id := r.frozen(size)
		r.start(id)
		r.kind.around = func(moment string) {
			if moment == "after do" && r.kind.asked == 1 { // while a chunk is under way
				if _, err := r.Stop(t.Context(), r.order(id, "stop")); err != nil {
					t.Error(err)
				}
			}
		}
		r.settled(Running)
		if b := r.is(id, Stopped); b.Counts.Settled() != workChunk {
			t.Errorf("%d items are settled, want those that were under way: %d", b.Counts.Settled(), workChunk)
		}
		pending := Pending
		if rest := r.items(id, &pending); len(rest) != size-workChunk || rest[0].Name != fmt.Sprint(workChunk+1) {
			t.Errorf("%d items are pending, such as %+v", len(rest), rest[0])
		}
		if worked, err := r.step(t.Context()); worked || err != nil {
			t.Errorf("a stopped bulk was worked on: %v %v", worked, err)
		}
		r.start(id)
		r.settled(Running)
		r.complete(id, size)
	})
}

func TestABulkThatIsStoppedDuringItsLastChunkIsDone(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		id := r.frozen(10)
		r.start(id)
		r.kind.around = func(moment string) {
			if moment == "after do" {
				_, err := r.Stop(t.Context(), r.order(id, "stop"))
				r.must(err)
			}
		}
		r.settled(Running)
		r.complete(id, 10)
	})
}

func TestWhatStartAndStopMakeOfABulk(t *testing.T) {
	for _, tt := range []struct {
		from         Status
		start        Status
		startRefused Guard
		stop         Status
		stopRefused  Guard
	}{
		{Freezing, Freezing, GuardFrozen, Freezing, GuardStarted},
		{Preview, Running, "", Preview, GuardStarted},
		{Running, Running, "", Stopped, ""},
		{Stopped, Running, "", Stopped, ""},
		{Done, Done, GuardNotEnded, Done, GuardNotEnded},
		{TooLarge, TooLarge, GuardNotEnded, TooLarge, GuardNotEnded},
	} {
		if next, guard := tt.from.start(); next != tt.start || guard != tt.startRefused {
			t.Errorf("start of %v: got %v %s, want %v %s", tt.from, next, guard, tt.start, tt.startRefused)
		}
		if next, guard := tt.from.stop(); next != tt.stop || guard != tt.stopRefused {
			t.Errorf("stop of %v: got %v %s, want %v %s", tt.from, next, guard, tt.stop, tt.stopRefused)
		}
	}
}

func TestASetThatIsTooLargeIsRefused(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.limits.items = 2 * freezeChunk
		req := r.request(2*freezeChunk + 1)
		_, err := r.Create(t.Context(), req)
		r.refused(err, fault.TooLarge, "BULK_TOO_LARGE")
		if _, total, _ := r.List(t.Context(), tenantA, []string{"crowd"}, 0, 10); total != 0 {
			t.Errorf("%d bulks remain", total)
		}
		req.Spec = []byte(`{"size":3}`)
		if ans, err := r.Create(t.Context(), req); err != nil || ans.Replay { // it was not remembered
			t.Errorf("a narrower set: %+v %v", ans, err)
		}
	})
}

func TestASetThatTurnsOutTooLargeIsGivenUp(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.limits.items = 2 * freezeChunk
		r.kind.claims = 1
		id := r.create(2*freezeChunk + 1)
		r.settled(Freezing)
		if b := r.is(id, TooLarge); b.Total > r.cfg.limits.items {
			t.Errorf("it has %d items", b.Total)
		}
		ans, err := r.Start(t.Context(), r.order(id, "start"))
		if err != nil || ans.Refused != GuardNotEnded {
			t.Errorf("start: %+v %v", ans, err)
		}
	})
}

func TestATenantHasALimitedNumberOfBulks(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		first := r.frozen(1)
		for range MaxOpen - 1 {
			r.create(1)
		}
		_, err := r.Create(t.Context(), r.request(1))
		r.refused(err, fault.TooLarge, "TOO_MANY_BULKS")
		other := r.request(1)
		other.Tenant = tenantB
		if _, err := r.Create(t.Context(), other); err != nil {
			t.Errorf("another tenant: %v", err)
		}
		r.start(first)
		r.settled(Running)
		r.create(1)
	})
}

func TestTenantsDoNotSeeEachOther(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		id := r.frozen(3)
		_, err := r.Bulk(t.Context(), tenantB, id)
		r.refused(err, fault.NotFound, "BULK_NOT_FOUND")
		_, _, err = r.Items(t.Context(), tenantB, id, nil, 0, 10)
		r.refused(err, fault.NotFound, "BULK_NOT_FOUND")
		if page, total, err := r.List(t.Context(), tenantB, []string{"crowd"}, 0, 10); err != nil || total != 0 ||
			len(page) != 0 {
			t.Errorf("list: %v %d %v", page, total, err)
		}
		o := r.order(id, "start")
		o.Tenant = tenantB
		_, err = r.Start(t.Context(), o)
		r.refused(err, fault.NotFound, "BULK_NOT_FOUND")
		r.is(id, Preview)
	})
}

func TestBulksAreListedNewestFirst(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		var want []string
		for range 5 {
			want = append([]string{r.create(1)}, want...)
		}
		page, total, err := r.List(t.Context(), tenantA, []string{"crowd"}, 1, 3)
		r.must(err)
		var got []string
		for _, b := range page {
			got = append(got, b.ID)
		}
		if diff := cmp.Diff(want[1:4], got); diff != "" || total != 5 {
			t.Errorf("page (-want +got):\n%s\ntotal %d", diff, total)
		}
	})
}

func TestAKindThatNobodyKnowsIsRefused(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		req := r.request(1)
		req.Kind = "other"
		_, err := r.Create(t.Context(), req)
		r.refused(err, fault.Invalid, "INVALID_INPUT")
	})
}

func TestABulkOfAKindThatThisProcessDoesNotKnowIsLeftToOthers(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		id := r.frozen(1)
		r.start(id)
		cfg := r.config()
		cfg.Kinds = nil
		stranger := New(r.db, cfg)
		if _, err := stranger.step(t.Context()); err != nil {
			t.Error(err)
		}
		r.is(id, Running)
		r.move(time.Minute) // the stranger's lease
		r.settled(Running)
		r.complete(id, 1)
	})
}

func TestPassedWaitsForTheNextMillisecond(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.Clock = wall{}
		moment := time.Now()
		r.must(r.passed(t.Context(), moment))
		if now := time.Now(); now.UnixMilli() <= moment.UnixMilli() {
			t.Errorf("it is %v, which is not past %v", now, moment)
		}
	})
}

var errBroken = errors.New("broken")
