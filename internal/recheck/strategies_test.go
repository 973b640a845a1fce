package recheck

import (
	"fmt"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

func TestAStrategyKeepsWhatADraftSaysNothingOf(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for i, step := range []struct {
			body, want string
			created    bool
		}{
			{
				`{"name":"Mean reversion","tags":["priority","daily","daily"]}`,
				`{"id":"m1","name":"Mean reversion","tags":["daily","priority"],"health":"unknown",` +
					`"last_checked_at":null,"metrics":{}}`, true,
			},
			{
				`{"name":"Mean reversion","health":"healthy","last_checked_at":"2026-01-05T18:00:00+09:00",` +
					`"metrics":{"sharpe":1.50}}`,
				`{"id":"m1","name":"Mean reversion","tags":[],"health":"healthy",` +
					`"last_checked_at":"2026-01-05T09:00:00.000Z","metrics":{"sharpe":1.5}}`, false,
			},
			{
				`{"id":"m1","name":"平均回帰"}`,
				`{"id":"m1","name":"平均回帰","tags":[],"health":"healthy",` +
					`"last_checked_at":"2026-01-05T09:00:00.000Z","metrics":{"sharpe":1.5}}`, false,
			},
			{
				`{"name":"e\u0301","last_checked_at":null,"metrics":{}}`,
				`{"id":"m1","name":"é","tags":[],"health":"healthy","last_checked_at":null,"metrics":{}}`, false,
			},
		} {
			stored, created := r.put("m1", step.body)
			got, err := json.Marshal(stored)
			if err != nil || string(got) != step.want || created != step.created {
				t.Errorf("step %d: got %s, created %v (%v), want %s, created %v", i, got, created, err, step.want,
					step.created)
			}
			page, total, err := r.List(t.Context(), tenantA, Query{Limit: 10})
			if err != nil || total != 1 || len(page) != 1 {
				t.Fatalf("step %d: got %d of %d strategies (%v)", i, len(page), total, err)
			}
			if diff := cmp.Diff(stored, page[0]); diff != "" {
				t.Errorf("step %d: the list shows another strategy than the answer (-answer +list):\n%s", i, diff)
			}
		}
	})
}

func TestADraftThatChangesNothingIsNoChange(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		const body = `{"name":"n","tags":["b","a"],"health":"degraded","last_checked_at":"2026-01-05T09:00:00Z",` +
			`"metrics":{"b":1,"a":[1.0]}}`
		r.put("s", body)
		r.ids(r.Strategies, Query{})
		before := r.use(tenantA).revision
		r.put("s", body)
		r.put("s", `{"name":"n","tags":["a","b","a"]}`)
		if r.ids(r.Strategies, Query{}); r.use(tenantA).revision != before {
			t.Errorf("got revision %d, want %d", r.use(tenantA).revision, before)
		}
	})
}

func TestAnIDThatDoesNotFitIsRefused(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for id, body := range map[string]string{
			"Upper": `{"name":"n"}`, "": `{"name":"n"}`,
			"a": `{"id":"b","name":"n"}`,
		} {
			d, err := ParseDraft([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := r.Put(t.Context(), tenantA, id, d); message(err) == "" {
				t.Errorf("%q %s: got %v, want a refusal", id, body, err)
			}
		}
		if ids, total := r.ids(r.Strategies, Query{}); total != 0 {
			t.Errorf("got %v, want none", ids)
		}
	})
}

func TestTenantsSeeOnlyTheirOwnStrategies(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put("a1", `{"name":"n","tags":["daily"]}`)
		page, total, err := r.List(t.Context(), tenantB, Query{Limit: 10, TagsAny: []string{"daily"}})
		if err != nil || total != 0 || len(page) != 0 {
			t.Errorf("got %v, %d (%v), want none", page, total, err)
		}
		d, _ := ParseDraft([]byte(`{"name":"other"}`))
		if _, created, err := r.Put(t.Context(), tenantB, "a1", d); err != nil || !created {
			t.Errorf("got created %v (%v), want a strategy of its own", created, err)
		}
		if page, _, _ := r.List(t.Context(), tenantA, Query{Limit: 10}); page[0].Name != "n" {
			t.Errorf("got the name %q, want the first tenant's", page[0].Name)
		}
	})
}

// TestAReadSeesWhatAnyProcessAnswered: what one process has stored is in the next list of
// another, also while both store and list at once.
func TestAReadSeesWhatAnyProcessAnswered(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		processes := []*Strategies{r.Strategies, r.Strategies}
		if r.where.URL != "" {
			processes[1] = r.process()
		}
		var all sync.WaitGroup
		for p, writes := range processes {
			all.Go(func() {
				for i := range 40 {
					id := fmt.Sprintf("p%d-%02d", p, i)
					d, _ := ParseDraft([]byte(`{"name":"n"}`))
					if _, _, err := writes.Put(t.Context(), tenantA, id, d); err != nil {
						t.Error(err)
						return
					}
					for _, reads := range processes {
						page, total, err := reads.List(t.Context(), tenantA, Query{Text: id, Limit: 10})
						if err != nil || total != 1 || page[0].ID != id {
							t.Errorf("%s: got %d strategies (%v), want it", id, total, err)
						}
					}
				}
			})
		}
		all.Wait()
		for _, reads := range processes {
			if _, total := r.ids(reads, Query{}); total != 80 {
				t.Errorf("got %d strategies, want 80", total)
			}
		}
	})
}

func TestIndexesThatWereNotUsedLongestMakeRoom(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.most = 3
		d, _ := ParseDraft([]byte(`{"name":"n"}`))
		for _, tenant := range []string{tenantA, tenantB} {
			for i := range 2 {
				if _, _, err := r.Put(t.Context(), tenant, fmt.Sprint("s", i), d); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 2 {
			for _, tenant := range []string{tenantA, tenantB} {
				if _, total, err := r.List(t.Context(), tenant, Query{Limit: 10}); err != nil || total != 2 {
					t.Errorf("got %d strategies (%v), want 2", total, err)
				}
				if len(r.indexes) != 1 || r.indexes[tenant] == nil {
					t.Errorf("got %d indexes, want that of the tenant who asked last", len(r.indexes))
				}
			}
		}
		for i := range maxIndexes + 10 {
			r.use(fmt.Sprint("tenant ", i))
		}
		if got := len(r.indexes); got != maxIndexes {
			t.Errorf("got %d indexes, want %d", got, maxIndexes)
		}
	})
}
