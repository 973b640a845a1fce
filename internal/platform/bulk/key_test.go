package bulk

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
)

func TestAKeyGivesItsAnswerAgain(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		req := r.request(3)
		created, err := r.Create(t.Context(), req)
		r.must(err)
		id := created.BulkID
		start, again, stop, refused := r.order(id, "start"), r.order(id, "start"), r.order(id, "stop"),
			r.order(id, "stop")
		commands := []func() (Answer, error){
			func() (Answer, error) { return r.Create(t.Context(), req) },
			func() (Answer, error) { return r.Start(t.Context(), start) },
			func() (Answer, error) { return r.Start(t.Context(), again) },
			func() (Answer, error) { return r.Stop(t.Context(), stop) },
			func() (Answer, error) { return r.Start(t.Context(), r.order(id, "start")) },
			func() (Answer, error) { r.settled(Running); return r.Stop(t.Context(), refused) },
		}
		var first []Answer
		for _, command := range commands {
			ans, err := command()
			r.must(err)
			first = append(first, ans)
		}
		if !first[0].Replay || first[1].Replay || first[4].Replay || first[5].Refused != GuardNotEnded {
			t.Fatalf("got %+v", first)
		}
		first[0].Replay = false
		if diff := cmp.Diff(created, first[0]); diff != "" {
			t.Errorf("creation (-first +second):\n%s", diff)
		}
		r.cfg.limits.items = 2 // too few for a bulk that is new
		for i, command := range commands {
			if i == 4 { // it has a new key every time
				continue
			}
			ans, err := command()
			r.must(err)
			want := first[i]
			want.Replay = true
			if diff := cmp.Diff(want, ans); diff != "" {
				t.Errorf("command %d (-first +second):\n%s", i, diff)
			}
		}
		r.complete(id, 3)
		if _, total, _ := r.List(t.Context(), tenantA, []string{"crowd"}, 0, 10); total != 1 {
			t.Errorf("there are %d bulks", total)
		}
	})
}

func TestAKeyWithAnotherBodyIsAConflict(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		req := r.request(1)
		_, err := r.Create(t.Context(), req)
		r.must(err)
		other := req
		other.Idempotency = keyOf(t, req.Idempotency.Key, req.Idempotency.Endpoint, `{"size":2,"why":"so"}`)
		_, err = r.Create(t.Context(), other)
		failure := r.refused(err, fault.Conflict, "IDEMPOTENCY_CONFLICT")
		details := failure.Details.(map[string]any)
		if got := details["differs"].([]string); !slices.Equal(got, []string{"size", "why"}) {
			t.Errorf("differs: %v", got)
		}
		used, err1 := time.Parse(time.RFC3339, details["firstUsedAt"].(string))
		expires, err2 := time.Parse(time.RFC3339, details["expiresAt"].(string))
		if err1 != nil || err2 != nil || expires.Sub(used) != 30*24*time.Hour {
			t.Errorf("used %v, expires %v", used, expires)
		}
	})
}

func TestAKeyBelongsToItsTenantAndEndpoint(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		req := r.request(1)
		first, err := r.Create(t.Context(), req)
		r.must(err)
		other := req
		other.Tenant = tenantB
		second, err := r.Create(t.Context(), other)
		r.must(err)
		start := r.order(first.BulkID, "start")
		start.Idempotency.Key = req.Idempotency.Key
		third, err := r.Start(t.Context(), start)
		r.must(err)
		if second.Replay || second.BulkID == first.BulkID || third.Replay || third.Status != Running {
			t.Errorf("got %+v and %+v", second, third)
		}
	})
}

func TestAKeyExpires(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.KeyRetention = time.Hour
		req := r.request(1)
		first, err := r.Create(t.Context(), req)
		r.must(err)
		r.move(59 * time.Minute)
		if ans, err := r.Create(t.Context(), req); err != nil || !ans.Replay {
			t.Errorf("before: %+v %v", ans, err)
		}
		r.move(2 * time.Minute)
		second, err := r.Create(t.Context(), req)
		if err != nil || second.Replay || second.BulkID == first.BulkID {
			t.Errorf("after: %+v %v", second, err)
		}
		if ans, err := r.Create(t.Context(), req); err != nil || !ans.Replay || ans.BulkID != second.BulkID {
			t.Errorf("again: %+v %v", ans, err)
		}
	})
}

func TestOneKeyUsedAtTheSameTimeMakesOneBulk(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for round := range 10 {
			req := r.request(1)
			if round >= 5 { // also one that has expired
				_, err := r.Create(t.Context(), req)
				r.must(err)
				r.move(31 * 24 * time.Hour)
			}
			answers := make([]Answer, 8)
			var wg sync.WaitGroup
			for i := range answers {
				wg.Go(func() {
					var err error
					if answers[i], err = r.Create(t.Context(), req); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			fresh := 0
			for _, ans := range answers {
				if ans.BulkID != answers[0].BulkID {
					t.Fatalf("two bulks: %+v", answers)
				}
				if !ans.Replay {
					fresh++
				}
			}
			if fresh != 1 {
				t.Errorf("%d answers were the first", fresh)
			}
		}
	})
}
