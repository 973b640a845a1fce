package reporting

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
)

func TestKeysOfRecordsAreDifferent(t *testing.T) {
	id := uuid.MustParse("0199c1a5-7bcd-7e0f-89ab-cdef01234567")
	if got := keyOf(id.String()); got != recordKey(id) {
		t.Errorf("the key of %s is %x", id, got)
	}
	keys := map[recordKey]string{}
	for _, text := range []string{
		id.String(), strings.ToUpper(id.String()), strings.ReplaceAll(id.String(), "-", ""),
		strings.ReplaceAll(id.String(), "-", "0"),
		"~" + id.String(), id.String()[1:] + "x", "", "a",
	} {
		if other, is := keys[keyOf(text)]; is {
			t.Errorf("%q and %q have one key", text, other)
		}
		keys[keyOf(text)] = text
	}
}

// TestACacheAnswersForEveryState changes facts at random. Readers of any version, as their
// transactions would have it, learn what the facts were in that version, or that it is not
// cached.
func TestACacheAnswersForEveryState(t *testing.T) {
	answered := 0
	for range 50 { // it is cheap
		rapid.Check(t, func(rt *rapid.T) { answered += askACache(rt) })
	}
	if answered < 100 {
		t.Errorf("it answered only %d times", answered)
	}
}

// askACache gives how often the cache could tell.
func askACache(rt *rapid.T) (answered int) {
	most := rapid.SampledFrom([]int{0, 5, 1000}).Draw(rt, "former facts")
	history := []map[string]*opportunity{{}} // the facts by version
	versions := []dataVersion{{}}
	var ids []string
	for i := range 8 {
		ids = append(ids, crmtest.ID(5, i))
	}
	m := newCache(dataVersion{}, most)
	for range rapid.IntRange(1, 40).Draw(rt, "steps") {
		if rapid.Bool().Draw(rt, "change") {
			next := maps.Clone(history[len(history)-1])
			for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 1, 3, rapid.ID[string]).Draw(rt, "ids") {
				delete(next, id)
				if rapid.IntRange(0, 3).Draw(rt, "there") > 0 {
					next[id] = &opportunity{
						owner:  rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "owner"),
						stage:  rapid.SampledFrom([]string{"s", "t"}).Draw(rt, "stage"),
						status: open, amount: int64(rapid.IntRange(0, 9).Draw(rt, "amount")) * unit / 2,
					}
				}
			}
			history, versions = append(history, next), append(versions, dataVersion{
				int64(len(versions)),
				strconv.Itoa(len(versions)),
			})
			continue
		}
		at := rapid.IntRange(max(0, len(versions)-4), len(versions)-1).Draw(rt, "version")
		since, ok := m.base(versions[at].num)
		if !ok {
			continue
		}
		n := changes{versions[at], map[string]*opportunity{}}
		for i := int(since.num) + 1; i <= at; i++ {
			for _, id := range ids {
				if history[i][id] != history[i-1][id] {
					n.facts[id] = history[at][id]
				}
			}
		}
		if rapid.IntRange(0, 3).Draw(rt, "somebody else is first") == 0 {
			last := len(versions) - 1
			newer := changes{versions[last], map[string]*opportunity{}}
			for _, id := range ids {
				newer.facts[id] = history[last][id]
			}
			m.apply(since, newer)
		}
		visible := rapid.SliceOfN(rapid.SampledFrom(ids), 0, 10).Draw(rt, "visible")
		got := map[string]tally{}
		of := &wanted{
			cube: 0, byOwner: true, key: func(k [3]string) bool { return k[0] == "s" && k[1] == open },
			owner: func(id string) bool { return id != "a" },
		}
		if !m.sum(strings.Join(visible, ","), since, n, of, func(c *cell) {
			got[c.owner+c.k1] = got[c.owner+c.k1].plus(
				c.tally, 1)
		}) {
			continue
		}
		answered++
		want := map[string]tally{}
		slices.Sort(visible)
		for _, id := range slices.Compact(visible) {
			if o := history[at][id]; o != nil && o.owner != "a" && o.stage == "s" {
				want[o.owner+o.stage] = want[o.owner+o.stage].plus(tally{1, moneyOf(o.amount), moneyOf(o.weighted)}, 1)
			}
		}
		if !maps.Equal(got, want) {
			rt.Fatalf("in dataVersion %d, with changes since %d, it is %v, want %v", at, since.num, got, want)
		}
		if most > 0 && m.olds > most {
			rt.Fatalf("%d former facts are kept, and may be %d", m.olds, most)
		}
	}
	return answered
}

// cached has the facts of the tenant in memory.
func (t *tenant) cached() *cache {
	t.Helper()
	t.caches.drop(t.id, nil) // also one that was refused
	t.caches.request(t.id)
	for range 2 { // what was lost is forgotten first, and then read anew
		t.caches.refreshAll(t.Context(), func(err error) { t.Error(err) })
		t.caches.request(t.id)
	}
	m, _ := t.caches.find(t.id)
	if m == nil {
		t.Fatal("the facts are not in memory")
	}
	return m
}

// bothWays makes a report from the tables and from the cache in one transaction, and says
// whether the cache could tell.
func (t *tenant) bothWays(ctx context.Context, user string, s *spec, q *Query, byOwner bool) (
	tables, cache string, answered bool, err error,
) {
	err = t.read(ctx, "test", kit.Caller{Tenant: t.id, Subject: user}, func(ctx context.Context, w *session) error {
		a, err := w.asking(ctx, s, q, byOwner)
		if err != nil {
			return err
		}
		add := func(to map[cell]tally) func(c *cell) {
			return func(c *cell) {
				at := cell{owner: c.owner, k1: c.k1, k2: c.k2, k3: c.k3}
				if to[at] = to[at].plus(c.tally, 1); to[at] == (tally{}) {
					delete(to, at)
				}
			}
		}
		first, second := map[cell]tally{}, map[cell]tally{}
		if err := w.fromTables(ctx, a, true, add(first)); err != nil {
			return err
		}
		if answered, err = w.fromCache(ctx, a, add(second)); err != nil || !answered {
			return err
		}
		tables, cache = cellsText(first), ""
		if err := w.fromTables(ctx, a, false, add(second)); err != nil {
			return err
		}
		cache = cellsText(second)
		return nil
	})
	return tables, cache, answered, err
}

func cellsText(all map[cell]tally) string {
	var lines []string
	for c, t := range all {
		lines = append(lines, fmt.Sprintln(c.owner, c.k1, c.k2, c.k3, t.n, t.amount, t.weighted))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestCachesAreExactBesideChanges has readers make reports in both ways, each twice in one
// transaction, while records change, events are handled, facts are damaged and a rebuild
// puts them right.
func TestCachesAreExactBesideChanges(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.limits.chunk, r.cfg.limits.cacheFrom, r.caches.chunk = 2, 0, 2
		checks := 0
		rapid.Check(t, func(rt *rapid.T) {
			if checks++; checks > 1 && os.Getenv("RENGA_LONG") == "" {
				return
			}
			p := &play{tenant: newTenant(r), T: rt, living: map[string][]string{}}
			p.begin()
			for range 40 {
				p.step()
			}
			p.finish()
			p.cached()
			if _, _, err := p.Rebuild(r.Context(), p.id, nil); err != nil {
				rt.Fatal(err)
			}
			over, stop := context.WithCancel(r.Context())
			var readers, works sync.WaitGroup
			var once sync.Once
			answered := make(chan struct{})
			for n := range 3 {
				readers.Go(func() {
					for i := n; over.Err() == nil; i++ {
						user := crmtest.ID(users, 1+i%4)
						s := []*spec{pipeline, forecast, wonLost, campaignOpportunities}[i/4%4]
						tables, cache, is, err := p.bothWays(r.Context(), user, s, &Query{}, i%2 == 0 &&
							s != campaignOpportunities)
						if err != nil {
							t.Error(err)
							return
						}
						if is && tables != cache {
							t.Errorf("%s of %s is\n%sand in memory\n%s", s.name, user, tables, cache)
							return
						}
						if is {
							once.Do(func() { close(answered) })
						}
					}
				})
			}
			readers.Go(func() {
				for i := 1; over.Err() == nil; i++ {
					if i%5 == 0 { // all is read anew
						m, _ := p.caches.find(p.id)
						p.caches.drop(p.id, m)
					}
					p.caches.refreshAll(r.Context(), func(err error) { t.Error(err) })
				}
			})
			works.Go(func() { p.tenant.work() })
			for range 40 {
				p.step()
			}
			works.Wait()
			p.finish()
			select {
			case <-answered:
			case <-time.After(time.Minute):
				t.Error("no report was made from memory")
			}
			stop()
			readers.Wait()
			for n := 1; n <= 4; n++ {
				p.compare(crmtest.ID(users, n))
			}
		})
	})
}

// partner is a user of an office who sees some of its records by a team.
func partner(o *tenant, boss string, deals int) (ann string, ids []string) {
	ann = crmtest.ID(users, 3)
	set := model.PermissionSet{ID: crmtest.ID(sets, 3), Name: "reads", Objects: map[string]model.ObjectPermission{
		"Opportunity": {Read: true},
	}, Fields: map[string]model.FieldPermission{"Opportunity.Amount": {Read: true}}}
	o.define(
		model.Definition{Kind: model.KindPermissionSet, ID: set.ID, Value: set},
		model.Definition{Kind: model.KindUser, ID: ann, Value: model.User{
			ID: ann, Name: "Ann", IsActive: true,
			PermissionSetIDs: []string{set.ID},
		}},
	)
	for i := range deals {
		ids = append(ids, o.create("Opportunity", boss, map[string]any{
			"Name": "O", "StageName": "Negotiation",
			"CloseDate": "2026-02-28", "Amount": 1 << i,
		}))
		if _, _, err := o.records.PutTeamMember(o.Context(), o.system(), "Opportunity", ids[i], ann, "Sales Rep",
			model.Read); err != nil {
			o.Fatal(err)
		}
	}
	o.settle()
	return ann, ids
}
