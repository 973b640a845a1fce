package recheck

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/fault"
)

// TestOldRequestsGoAFewAtATime deletes requests with more items than one transaction takes,
// and leaves those whose time is not over.
func TestOldRequestsGoAFewAtATime(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		now := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
		re := NewRechecks(r.Strategies, RecheckConfig{Retention: time.Hour, Now: func() time.Time { return now }})
		for i := range 3 {
			r.put(fmt.Sprintf("s%d", i), `{"name":"n"}`)
		}
		plan := func() string {
			t.Helper()
			body := []byte(`{"strategies":["s0","s1","s2"],"window":{"lookback_days":1},"reason":"x","dry_run":true}`)
			o, err := ParseOrder(body)
			if err != nil {
				t.Fatal(err)
			}
			key, err := Identity.ParseIdempotencyKey(uuid.NewString(), "POST /pdca/recheck", body)
			if err != nil {
				t.Fatal(err)
			}
			got, err := re.Accept(t.Context(), Caller{Tenant: tenantA}, o, key)
			if err != nil {
				t.Fatal(err)
			}
			return got.RequestID
		}
		// As large as a request of MaxTotal, to whoever counts.
		first, second := plan(), plan()
		r.exec("UPDATE pdca_request SET total = $1", MaxTotal)
		now = now.Add(time.Hour)
		young := plan()
		now = now.Add(time.Minute)
		if left := r.deleteOld(re, now.Add(-time.Hour)); !left || r.count("pdca_request") != 2 ||
			r.count("pdca_item") != 6 {
			t.Errorf("left %t, %d requests, %d items", left, r.count("pdca_request"), r.count("pdca_item"))
		}
		if err := re.retain(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]fault.Kind{
			first: fault.NotFound, second: fault.NotFound,
			young: fault.KindOf(nil),
		} {
			if _, err := re.Progress(t.Context(), tenantA, id, ItemFilter{Limit: 10}); fault.KindOf(err) != want {
				t.Errorf("%s: got %v", id, err)
			}
		}
		if n := r.count("pdca_item"); n != 3 {
			t.Errorf("%d items are left", n)
		}
	})
}
