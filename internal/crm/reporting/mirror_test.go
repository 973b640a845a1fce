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

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/sqldb"
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

// TestAMirrorAnswersForEveryState changes facts at random. Readers of any edition, as their
// transactions would have it, are told what the facts were in that edition, or that it is not
// remembered.
func TestAMirrorAnswersForEveryState(t *testing.T) {
	told := 0
	for range 50 { // it is cheap
		rapid.Check(t, func(rt *rapid.T) { told += askAMirror(rt) })
	}
	if told < 100 {
		t.Errorf("it told only %d times", told)
	}
}

// askAMirror gives how often the mirror could tell.
func askAMirror(rt *rapid.T) (told int) {
	most := rapid.SampledFrom([]int{0, 5, 1000}).Draw(rt, "former facts")
	history := []map[string]*opportunity{{}} // the facts by edition
	editions := []edition{{}}
	var ids []string
	for i := range 8 {
		ids = append(ids, num(5, i))
	}
	m := newMirror(edition{}, most)
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
			history, editions = append(history, next), append(editions, edition{
				int64(len(editions)),
				strconv.Itoa(len(editions)),
			})
			continue
		}
		at := rapid.IntRange(max(0, len(editions)-4), len(editions)-1).Draw(rt, "edition")
		since, ok := m.base(editions[at].num)
		if !ok {
			continue
		}
		n := changes{editions[at], map[string]*opportunity{}}
		for i := int(since.num) + 1; i <= at; i++ {
			for _, id := range ids {
				if history[i][id] != history[i-1][id] {
					n.facts[id] = history[at][id]
				}
			}
		}
		if rapid.IntRange(0, 3).Draw(rt, "somebody else is first") == 0 {
			last := len(editions) - 1
			newer := changes{editions[last], map[string]*opportunity{}}
			for _, id := range ids {
				newer.facts[id] = history[last][id]
			}
			m.learn(since, newer)
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
		told++
		want := map[string]tally{}
		slices.Sort(visible)
		for _, id := range slices.Compact(visible) {
			if o := history[at][id]; o != nil && o.owner != "a" && o.stage == "s" {
				want[o.owner+o.stage] = want[o.owner+o.stage].plus(tally{1, moneyOf(o.amount), moneyOf(o.weighted)}, 1)
			}
		}
		if !maps.Equal(got, want) {
			rt.Fatalf("in edition %d, with changes since %d, it is %v, want %v", at, since.num, got, want)
		}
		if most > 0 && m.olds > most {
			rt.Fatalf("%d former facts are kept, and may be %d", m.olds, most)
		}
	}
	return told
}

// remembered has the facts of the tenant in memory.
func (t *tenant) remembered() *mirror {
	t.Helper()
	t.mirrors.forget(t.id, nil) // also one that was refused
	t.mirrors.want(t.id)
	for range 2 { // what was lost is forgotten first, and then read anew
		t.refreshMirrors(t.Context(), func(err error) { t.Error(err) })
		t.mirrors.want(t.id)
	}
	m, _ := t.mirrors.find(t.id)
	if m == nil {
		t.Fatal("the facts are not in memory")
	}
	return m
}

// bothWays makes a report from the tables and from the mirror in one transaction, and says
// whether the mirror could tell.
func (t *tenant) bothWays(ctx context.Context, user string, s *spec, q *Query, byOwner bool) (
	tables, mirror string, told bool, err error,
) {
	err = t.read(ctx, "test", &Caller{t.id, user}, func(ctx context.Context, w *session) error {
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
		if told, err = w.fromMirror(ctx, a, add(second)); err != nil || !told {
			return err
		}
		tables, mirror = cellsText(first), ""
		if err := w.fromTables(ctx, a, false, add(second)); err != nil {
			return err
		}
		mirror = cellsText(second)
		return nil
	})
	return tables, mirror, told, err
}

func cellsText(all map[cell]tally) string {
	var lines []string
	for c, t := range all {
		lines = append(lines, fmt.Sprintln(c.owner, c.k1, c.k2, c.k3, t.n, t.amount, t.weighted))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestMirrorsAreExactBesideChanges has readers make reports in both ways, each twice in one
// transaction, while records change, events are handled, facts are damaged and a rebuild
// puts them right.
func TestMirrorsAreExactBesideChanges(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.limits.chunk, r.cfg.limits.beside, r.mirrors.chunk = 2, 0, 2
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
			p.remembered()
			if _, _, err := p.Rebuild(r.Context(), p.id, nil); err != nil {
				rt.Fatal(err)
			}
			over, stop := context.WithCancel(r.Context())
			var readers, works sync.WaitGroup
			var once sync.Once
			told := make(chan struct{})
			for n := range 3 {
				readers.Go(func() {
					for i := n; over.Err() == nil; i++ {
						user, s := num(users, 1+i%4), []*spec{pipeline, forecast, wonLost, campaignOpportunities}[i/4%4]
						tables, mirror, is, err := p.bothWays(r.Context(), user, s, &Query{}, i%2 == 0 &&
							s != campaignOpportunities)
						if err != nil {
							t.Error(err)
							return
						}
						if is && tables != mirror {
							t.Errorf("%s of %s is\n%sand in memory\n%s", s.name, user, tables, mirror)
							return
						}
						if is {
							once.Do(func() { close(told) })
						}
					}
				})
			}
			readers.Go(func() {
				for i := 1; over.Err() == nil; i++ {
					if i%5 == 0 { // all is read anew
						m, _ := p.mirrors.find(p.id)
						p.mirrors.forget(p.id, m)
					}
					p.refreshMirrors(r.Context(), func(err error) { t.Error(err) })
				}
			})
			works.Go(func() { p.tenant.work() })
			for range 40 {
				p.step()
			}
			works.Wait()
			p.finish()
			select {
			case <-told:
			case <-time.After(time.Minute):
				t.Error("no report was made from memory")
			}
			stop()
			readers.Wait()
			for n := 1; n <= 4; n++ {
				p.compare(num(users, n))
			}
		})
	})
}

// partner is a user of an office who sees some of its records by a team.
func partner(o *tenant, boss string, deals int) (ann string, ids []string) {
	ann = num(users, 3)
	set := model.PermissionSet{ID: num(sets, 3), Name: "reads", Objects: map[string]model.ObjectPermission{
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

// TestWhatIsNotInMemoryComesFromTheTables has reports asked for before facts are read, of
// tenants with too many, and when the changes that a mirror has not heard of are not kept
// any more, or are of another history.
func TestWhatIsNotInMemoryComesFromTheTables(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.limits.beside, r.cfg.fewUnreached = 2, -1
		o, boss, _ := office(r)
		ann, deals := partner(o, boss, 3)
		see := func(when, want string, hits int64) {
			t.Helper()
			before := r.mirrors.hits.Load()
			if got := o.table(ann, "pipeline", Query{}); got != want {
				t.Errorf("%s Ann sees\n%swant\n%s", when, got, want)
			}
			if r.mirrors.hits.Load()-before != hits {
				t.Errorf("%s %d reports came from memory, want %d", when, r.mirrors.hits.Load()-before, hits)
			}
		}
		all := "[Negotiation 3 7 6.3]\n[ 3 7 6.3]\n"
		see("at first", all, 0)
		r.mirrors.most = 2
		r.refreshMirrors(t.Context(), func(err error) { t.Error(err) })
		see("with too many", all, 0)
		r.mirrors.most = MaxMirrored
		o.remembered()
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

		o.exec("UPDATE reporting_change SET stamp = 'another' WHERE tenant_id = $1", o.id)
		see("in another history", some, 0)
		o.remembered()
		see("which is remembered", some, 1)
		o.exec("DELETE FROM reporting_change WHERE tenant_id = $1", o.id)
		see("when nothing of it is kept", some, 0)
		o.remembered()
		see("which is remembered", some, 1)
		o.exec("INSERT INTO reporting_change (tenant_id, num, stamp, ids) VALUES ($1, 2, 's', '[]')", o.id)
		see("when there is a gap", some, 0)
	})
}

// TestWhatChangesWhileFactsAreReadIsInTheMirror changes facts between the transactions in
// which they are read: some that were read, some that were not, and some that are new. Who
// sees an edition of before is not told what is in none.
func TestWhatChangesWhileFactsAreReadIsInTheMirror(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.limits.beside, r.cfg.fewUnreached, r.mirrors.chunk = 0, -1, 2
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
			if err := r.fillSome(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		some()
		change(1000, deals[1], deals[0], deals[8])
		some()
		err := r.read(t.Context(), "test", &Caller{o.id, ann}, func(ctx context.Context, w *session) error {
			a, err := w.asking(ctx, pipeline, &Query{}, false)
			if err != nil {
				return err
			}
			change(2000, deals[2], deals[0], deals[7])
			for !f.over {
				some()
			}
			r.mirrors.want(o.id)
			r.mirrors.keep(o.id, f.mirror)
			told, err := w.fromMirror(ctx, a, func(*cell) {})
			if told {
				t.Error("the mirror tells of an edition that was before it")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		tables, mirror, told, err := o.bothWays(t.Context(), ann, pipeline, &Query{}, false)
		if err != nil || !told || tables != mirror || tables == "" {
			t.Errorf("it is %q, and in memory %q, %v, %v", tables, mirror, told, err)
		}
	})
}

// TestFactsAreReadBehindReports has reports asked for until one comes from memory.
func TestFactsAreReadBehindReports(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.limits.beside, r.cfg.fewUnreached = 2, -1
		o, boss, _ := office(r)
		ann, _ := partner(o, boss, 3)
		ctx, stop := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { r.Run(ctx) })
		defer run.Wait()
		defer stop()
		for began := time.Now(); r.mirrors.hits.Load() == 0; {
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
		o.exec("UPDATE reporting_change SET num = num + $2 WHERE tenant_id = $1", o.id, maxChanges)
		if _, err := o.apply("Opportunity", records.Op{Kind: records.Delete, ID: deals[0]}); err != nil {
			t.Fatal(err)
		}
		o.exec("INSERT INTO reporting_change (tenant_id, num, stamp, ids) VALUES ($1, 1, 's', '[]'), ($1, 2, 't', '[]')", o.id)
		o.settle()
		var n, first, last int64
		o.change(func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.Row(ctx, "SELECT count(*), min(num), max(num) FROM reporting_change WHERE tenant_id = $1",
				o.id).Scan(&n, &first, &last)
		})
		if first <= last-maxChanges || n < 2 {
			t.Errorf("%d changes are kept, from %d to %d", n, first, last)
		}
	})
}

// TestMirrorsAreBounded has more facts wanted than there may be.
func TestMirrorsAreBounded(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	s := newMirrors()
	s.now, s.most = func() time.Time { return at }, 10
	with := func(n int) *mirror {
		m := newMirror(edition{}, 0)
		for i := range n {
			m.set(keyOf(num(5, i)), &opportunity{})
		}
		m.count()
		return m // and one owner, and one key in each of three cubes
	}
	keep := func(tenant string, n int) {
		s.want(tenant)
		s.keep(tenant, with(n))
	}
	keep("a", 4)
	if s.room(3) {
		t.Error("there is room for 3 beside 8 of 10, of which nobody may be forgotten")
	}
	if !s.room(2) || !has(s, "a") {
		t.Error("there is no room for 2 beside 8 of 10")
	}
	at = at.Add(spareMirror + 1)
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
	at = at.Add(idleMirror + 1)
	if s.room(0); len(s.of) != 0 {
		t.Error("what nobody asks for is not forgotten")
	}
}

// TestTenantsHaveMirrorsOfTheirOwn has two tenants with the same records.
func TestTenantsHaveMirrorsOfTheirOwn(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.limits.beside, r.cfg.fewUnreached = 0, -1
		first, boss, _ := office(r)
		ann, deals := partner(first, boss, 2)
		second, _, _ := office(r)
		partner(second, boss, 1)
		second.exec("UPDATE reporting_opportunity SET id = $2 WHERE tenant_id = $1", second.id, deals[1])
		second.exec("UPDATE sharing_share SET record_id = $2 WHERE tenant_id = $1", second.id, deals[1])
		first.remembered()
		second.remembered()
		before := r.mirrors.hits.Load()
		if got, want := first.table(ann, "pipeline", Query{}), "[Negotiation 2 3 2.7]\n[ 2 3 2.7]\n"; got != want {
			t.Errorf("the first is\n%swant\n%s", got, want)
		}
		if got, want := second.table(ann, "pipeline", Query{}), "[Negotiation 1 1 0.9]\n[ 1 1 0.9]\n"; got != want {
			t.Errorf("the second is\n%swant\n%s", got, want)
		}
		if r.mirrors.hits.Load()-before != 2 {
			t.Error("they are not in memory")
		}
	})
}

func has(s *mirrors, tenant string) bool {
	m, _ := s.find(tenant)
	return m != nil
}
