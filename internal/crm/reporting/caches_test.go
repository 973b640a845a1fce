package reporting

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/sqldb"
)

// TestWhatIsNotInMemoryComesFromTheTables has reports asked for before facts are read, of
// tenants with too many, and when the changes that a cache has not heard of are not kept
// any more, or are of another history.
func TestWhatIsNotInMemoryComesFromTheTables(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.limits.cacheFrom, r.cfg.fewUnreached = 2, -1
		o, boss, _ := office(r)
		ann, deals := partner(o, boss, 3)
		see := func(when, want string, hits int64) {
			t.Helper()
			before := r.caches.hits.Load()
			if got := o.table(ann, "pipeline", Query{}); got != want {
				t.Errorf("%s Ann sees\n%swant\n%s", when, got, want)
			}
			if r.caches.hits.Load()-before != hits {
				t.Errorf("%s %d reports came from memory, want %d", when, r.caches.hits.Load()-before, hits)
			}
		}
		all := "[Negotiation 3 7 6.3]\n[ 3 7 6.3]\n"
		see("at first", all, 0)
		r.caches.most = 2
		r.caches.refreshAll(t.Context(), func(err error) { t.Error(err) })
		see("with too many", all, 0)
		r.caches.most = MaxCached
		o.cached()
		see("then", all, 1)

		if _, err := o.apply("Opportunity", records.Op{
			Kind: records.Update, ID: deals[0],
			Fields: o.fieldsOf(map[string]any{"Amount": 11}),
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := o.apply("Opportunity", records.Op{Kind: records.Delete, ID: deals[1]}); err != nil {
			t.Fatal(err)
		}
		o.settle()
		some := "[Negotiation 2 15 13.5]\n[ 2 15 13.5]\n"
		see("after a change", some, 1)

		o.Exec("UPDATE reporting_change SET stamp = 'another' WHERE tenant_id = $1", o.id)
		see("in another history", some, 0)
		o.cached()
		see("which is cached", some, 1)
		o.Exec("DELETE FROM reporting_change WHERE tenant_id = $1", o.id)
		see("when nothing of it is kept", some, 0)
		o.cached()
		see("which is cached", some, 1)
		o.Exec("INSERT INTO reporting_change (tenant_id, num, stamp, ids) VALUES ($1, 2, 's', '[]')", o.id)
		see("when there is a gap", some, 0)
	})
}

// TestWhatChangesWhileFactsAreReadIsInTheCache changes facts between the transactions in
// which they are read: some that were read, some that were not, and some that are new. Who
// sees a version of before is never answered with what is in none.
func TestWhatChangesWhileFactsAreReadIsInTheCache(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.limits.cacheFrom, r.cfg.fewUnreached, r.caches.chunk = 0, -1, 2
		o, boss, _ := office(r)
		ann, deals := partner(o, boss, 9)
		slices.Sort(deals)
		change := func(amount int, gone string, ids ...string) {
			for _, id := range ids {
				if _, err := o.apply("Opportunity", records.Op{
					Kind: records.Update, ID: id,
					Fields: o.fieldsOf(map[string]any{"Amount": amount}),
				}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := o.apply("Opportunity", records.Op{Kind: records.Delete, ID: gone}); err != nil {
				t.Fatal(err)
			}
			o.settle()
		}
		f := &filling{tenant: o.id}
		some := func() {
			t.Helper()
			if err := r.caches.fillSome(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		some()
		change(1000, deals[1], deals[0], deals[8])
		some()
		caller := kit.Caller{Tenant: o.id, Subject: ann}
		err := r.read(t.Context(), "test", caller, func(ctx context.Context, w *session) error {
			a, err := w.asking(ctx, pipeline, &Query{}, false)
			if err != nil {
				return err
			}
			change(2000, deals[2], deals[0], deals[7])
			for !f.over {
				some()
			}
			r.caches.request(o.id)
			r.caches.put(o.id, f.cache)
			answered, err := w.fromCache(ctx, a, func(*cell) {})
			if answered {
				t.Error("the cache answers for a version that was before it")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		tables, cache, answered, err := o.bothWays(t.Context(), ann, pipeline, &Query{}, false)
		if err != nil || !answered || tables != cache || tables == "" {
			t.Errorf("it is %q, and in memory %q, %v, %v", tables, cache, answered, err)
		}
	})
}

// TestFactsAreReadBesideReports has reports asked for until one comes from memory.
func TestFactsAreReadBesideReports(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.limits.cacheFrom, r.cfg.fewUnreached = 2, -1
		o, boss, _ := office(r)
		ann, _ := partner(o, boss, 3)
		ctx, stop := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { r.Run(ctx) })
		defer run.Wait()
		defer stop()
		for began := time.Now(); r.caches.hits.Load() == 0; {
			if got, want := o.table(ann, "pipeline", Query{}), "[Negotiation 3 7 6.3]\n[ 3 7 6.3]\n"; got != want {
				t.Fatalf("Ann sees\n%swant\n%s", got, want)
			}
			if time.Since(began) > time.Minute {
				t.Fatal("no report comes from memory")
			}
		}
	})
}

// TestOnlyTheLastChangesAreKept changes facts more often than is kept.
func TestOnlyTheLastChangesAreKept(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		o, boss, _ := office(r)
		_, deals := partner(o, boss, 1)
		o.Exec("UPDATE reporting_change SET num = num + $2 WHERE tenant_id = $1", o.id, maxChanges)
		if _, err := o.apply("Opportunity", records.Op{Kind: records.Delete, ID: deals[0]}); err != nil {
			t.Fatal(err)
		}
		o.Exec(`INSERT INTO reporting_change (tenant_id, num, stamp, ids)
			VALUES ($1, 1, 's', '[]'), ($1, 2, 't', '[]')`, o.id)
		o.settle()
		var n, first, last int64
		o.Change(func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.Row(ctx, "SELECT count(*), min(num), max(num) FROM reporting_change WHERE tenant_id = $1",
				o.id).Scan(&n, &first, &last)
		})
		if first <= last-maxChanges || n < 2 {
			t.Errorf("%d changes are kept, from %d to %d", n, first, last)
		}
	})
}

// TestCachesAreBounded has more facts wanted than there may be.
func TestCachesAreBounded(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	s := newCaches(nil)
	s.now, s.most = func() time.Time { return at }, 10
	with := func(n int) *cache {
		m := newCache(dataVersion{}, 0)
		for i := range n {
			m.set(keyOf(crmtest.ID(5, i)), &opportunity{})
		}
		m.count()
		return m // and one owner, and one key in each of three cubes
	}
	keep := func(tenant string, n int) {
		s.request(tenant)
		s.put(tenant, with(n))
	}
	keep("a", 4)
	if s.room(3) {
		t.Error("there is room for 3 beside 8 of 10, of which nobody may be forgotten")
	}
	if !s.room(2) || !has(s, "a") {
		t.Error("there is no room for 2 beside 8 of 10")
	}
	at = at.Add(spareCache + 1)
	if s.room(11) || len(s.of) != 1 {
		t.Error("somebody is forgotten for 11 of 10, who have no room all the same")
	}
	if !s.room(3) || has(s, "a") {
		t.Error("who was not asked for for a while does not make room")
	}
	keep("b", 1)
	at = at.Add(time.Second)
	keep("c", 2)
	if s.room(0); has(s, "b") || !has(s, "c") {
		t.Error("when they grow, not the one that was not asked for longest is forgotten")
	}
	at = at.Add(idleCache + 1)
	if s.room(0); len(s.of) != 0 {
		t.Error("what nobody asks for is not forgotten")
	}
}

// TestTenantsHaveCachesOfTheirOwn has two tenants with the same records.
func TestTenantsHaveCachesOfTheirOwn(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.limits.cacheFrom, r.cfg.fewUnreached = 0, -1
		first, boss, _ := office(r)
		ann, deals := partner(first, boss, 2)
		second, _, _ := office(r)
		partner(second, boss, 1)
		second.Exec("UPDATE reporting_opportunity SET id = $2 WHERE tenant_id = $1", second.id, deals[1])
		second.Exec("UPDATE sharing_share SET record_id = $2 WHERE tenant_id = $1", second.id, deals[1])
		first.cached()
		second.cached()
		before := r.caches.hits.Load()
		if got, want := first.table(ann, "pipeline", Query{}), "[Negotiation 2 3 2.7]\n[ 2 3 2.7]\n"; got != want {
			t.Errorf("the first is\n%swant\n%s", got, want)
		}
		if got, want := second.table(ann, "pipeline", Query{}), "[Negotiation 1 1 0.9]\n[ 1 1 0.9]\n"; got != want {
			t.Errorf("the second is\n%swant\n%s", got, want)
		}
		if r.caches.hits.Load()-before != 2 {
			t.Error("they are not in memory")
		}
	})
}

func has(s *caches, tenant string) bool {
	m, _ := s.find(tenant)
	return m != nil
}
