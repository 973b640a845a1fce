package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
	"renga.dev/renga/test/tier"
)

// filterLimit is within what 99 of 100 first pages by a filter come, with their exact totals.
const filterLimit = 50 * time.Millisecond

// TestAFilterIsFastAmongAMillion fills a store with executions of eight labels each, asks for pages by
// every filter, and finds each of 10,000 new executions at once. The full count is a million.
func TestAFilterIsFastAmongAMillion(t *testing.T) {
	tier.System(t)
	if testing.Short() {
		t.Skip("it measures: the race detector has it ten times slower")
	}
	n, writes := int64(100_000), 1000
	if tier.Long() {
		n, writes = 1_000_000, 10_000
	}
	for name, where := range map[string]func() string{
		"sqlite":   func() string { return filepath.Join(t.TempDir(), "test.db") },
		"postgres": func() string { return pgtest.New(t) },
	} {
		t.Run(name, func(t *testing.T) {
			s, db, _ := serve(t, where())
			fillFound(t, s, n)
			// As PostgreSQL does by itself within minutes, and would while we measure.
			if err := db.Vacuum(t.Context()); err != nil {
				t.Error(err)
			}
			askFound(t, s, n)
			findsWrites(t, s, n, writes)
		})
	}
}

// found is execution num of a store that fillFound has filled.
func found(num, n int64) engine.Head {
	h := engine.Head{
		Num: num, ID: idOf(num), Tenant: "t", GraphID: fmt.Sprintf("graph-%d", num%20), GraphVersion: 1,
		Status: flow.Completed, CreatedAt: base + flow.Time(num*1000), EndedAt: base + flow.Time(num*1000+500),
		CorrelationID: fmt.Sprintf("order-%d", num/3), BusinessKey: fmt.Sprintf("key-%d", num), Outcome: "paid",
		Labels: fmt.Sprintf(
			`{"all":"1","batch":"%d","channel":"%d","customer":"%d","order":"%d","region":"%d","sku":"%d","tier":"%d"}`,
			num/1000, num%5, num%(n/100), num, num%4, num%1000, num%3),
	}
	switch {
	case num > n-1000:
		h.Status, h.EndedAt, h.Outcome = flow.Active, 0, ""
	case num%100 == 0:
		h.Status, h.Outcome, h.ErrorCode = flow.Failed, "", "CARD"
	case num%5 == 1:
		h.Outcome = "declined"
	}
	if num%4 == 1 {
		h.Waiting = 1 // to a store it does not matter that most have ended
	}
	return h
}

func fillFound(t *testing.T, s *store.Store, n int64) {
	t.Helper()
	const chunk = 1000
	began := time.Now()
	for first := int64(1); first <= n; first += chunk {
		var b engine.Batch
		for num := first; num < first+chunk; num++ {
			h := found(num, n)
			if b.Create = append(b.Create, h); h.Waiting > 0 {
				b.Waits = append(b.Waits, engine.WaitRow{
					WaitRef: engine.WaitRef{Tenant: h.Tenant, Execution: num, Node: fmt.Sprintf("node-%d", num%7)},
					GraphID: h.GraphID, CreatedAt: h.CreatedAt, Since: h.CreatedAt,
				})
			}
		}
		commitBatch(t, s, &b)
	}
	if _, err := s.CompactCounts(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d executions of eight labels in %v", n, time.Since(began).Round(time.Second))
}

func commitBatch(t *testing.T, s *store.Store, b *engine.Batch) {
	t.Helper()
	err := s.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error { return tx.Write(ctx, b) })
	if err != nil {
		t.Fatal(err)
	}
}

func askFound(t *testing.T, s *store.Store, n int64) {
	label := func(name string, value int64) []flow.Label {
		return []flow.Label{{Name: name, Value: fmt.Sprint(value)}}
	}
	labeled := func(name string, value int64) engine.ListQuery {
		return engine.ListQuery{Labels: label(name, value)}
	}
	const asks = 200
	for _, c := range []struct {
		name string
		want int64 // -1: whatever
		of   func(i int64) engine.ListQuery
	}{
		{"label of all", n, func(int64) engine.ListQuery { return labeled("all", 1) }},
		{"label of a quarter", n / 4, func(i int64) engine.ListQuery { return labeled("region", i%4) }},
		{"label of 1 in 1,000", n / 1000, func(i int64) engine.ListQuery { return labeled("sku", i) }},
		{"label of 100", 100, func(i int64) engine.ListQuery { return labeled("customer", i) }},
		{"label of one", 1, func(i int64) engine.ListQuery { return labeled("order", 1+i*97) }},
		{"two labels", -1, func(i int64) engine.ListQuery {
			return engine.ListQuery{Labels: append(label("region", i%4), label("sku", i)...)}
		}},
		{"label and ACTIVE", 250, func(i int64) engine.ListQuery {
			return engine.ListQuery{Labels: label("region", i%4), Status: []flow.Status{flow.Active}}
		}},
		{"correlation id", 3, func(i int64) engine.ListQuery {
			return engine.ListQuery{CorrelationID: fmt.Sprintf("order-%d", 1+i*31)}
		}},
		{"business key", 1, func(i int64) engine.ListQuery {
			return engine.ListQuery{BusinessKey: fmt.Sprintf("key-%d", 1+i*31)}
		}},
		{"outcome", -1, func(int64) engine.ListQuery { return engine.ListQuery{Outcome: "paid"} }},
		{"error code", n/100 - 10, func(int64) engine.ListQuery { return engine.ListQuery{ErrorCode: "CARD"} }},
		{"ended within an hour", 3600, func(i int64) engine.ListQuery {
			from := base + flow.Time(i%20*3_600_000+1000)
			return engine.ListQuery{EndedFrom: from, EndedTo: from + 3_600_000}
		}},
		{"what waits", n / 4, func(int64) engine.ListQuery { return engine.ListQuery{Waiting: true} }},
		{"a node that waits", -1, func(i int64) engine.ListQuery {
			return engine.ListQuery{NodeID: fmt.Sprintf("node-%d", i%7)}
		}},
		{"what waits of 100", -1, func(i int64) engine.ListQuery {
			return engine.ListQuery{Waiting: true, Labels: label("customer", i)}
		}},
		{"a deep page by cursor", n, func(i int64) engine.ListQuery {
			h := found(n/2+i, n)
			return engine.ListQuery{Labels: label("all", 1), Before: h}
		}},
	} {
		took := make([]time.Duration, asks)
		for i := range took {
			q := c.of(int64(i))
			q.Tenant, q.Limit = "t", 50
			began := time.Now()
			page, total, err := s.List(t.Context(), q)
			took[i] = time.Since(began)
			if err != nil || c.want >= 0 && int64(total) != c.want || len(page) == 0 && total > 0 {
				t.Fatalf("%s %d: %d executions, %d in all, error %v; want %d", c.name, i, len(page), total, err, c.want)
			}
			if at := slices.IndexFunc(page, func(h engine.Head) bool { return !q.Selects(&h) }); at >= 0 {
				t.Fatalf("%s: %+v is in the page", c.name, page[at])
			}
		}
		slices.Sort(took)
		p99 := took[asks*99/100-1]
		t.Logf("%-22s median %6v  p99 %6v", c.name, took[asks/2].Round(10*time.Microsecond),
			p99.Round(10*time.Microsecond))
		if p99 > filterLimit {
			t.Errorf("%s: the 99th percentile is %v, more than %v", c.name, p99, filterLimit)
		}
	}
}

// findsWrites creates executions and asks for each by its label as soon as it is durable.
func findsWrites(t *testing.T, s *store.Store, n int64, writes int) {
	seen := 0
	for i := range int64(writes) {
		h := found(n+1+i, n)
		commitBatch(t, s, &engine.Batch{Create: []engine.Head{h}})
		page, total, err := s.List(t.Context(), engine.ListQuery{
			Tenant: "t", Labels: []flow.Label{{Name: "order", Value: fmt.Sprint(h.Num)}}, Limit: 10,
		})
		if err != nil {
			t.Fatal(err)
		}
		if total == 1 && len(page) == 1 && page[0] == h {
			seen++
		}
	}
	if t.Logf("%d of %d new executions were found at once", seen, writes); seen != writes {
		t.Errorf("%d of %d were not", writes-seen, writes)
	}
}
