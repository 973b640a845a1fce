package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

func TestMain(m *testing.M) { crmtest.Main(m, "") }

// small limits make tests meet what is many.
var small = limits{chunk: 2, sweep: 3, first: 2, look: 5, deep: 7, own: 3, few: 3, pass: 3, forms: 1, named: 2}

// rig is search over real services, and a bus that delivers nothing by itself.
type rig struct {
	*crmtest.Rig
	*Search
	metadata *metadata.Metadata
	records  *records.Records
	sharing  *sharing.Sharing
}

// TestOnEveryDatabase runs the tests that need one, each in tenants of its own.
func TestOnEveryDatabase(t *testing.T) {
	tests := map[string]func(t *testing.T, r *rig){
		"records are found":                              recordsAreFound,
		"several words are looked for once":              severalWordsAreLookedForOnce,
		"common words are not looked up":                 commonWordsAreNotLookedUp,
		"an ask that is wrong says why":                  wrongAsksSayWhy,
		"nothing hidden moves a page":                    nothingHiddenMovesAPage,
		"nothing hidden moves a page of public records":  nothingHiddenMovesAPageOfPublicRecords,
		"a record is once on a page":                     aRecordIsOnceOnAPage,
		"all is found by who sees all":                   allIsFoundByWhoSeesAll,
		"nobody finds what it may not see":               nobodyFindsWhatItMayNotSee,
		"personal fields are found and not told":         personalFieldsAreFoundAndNotTold,
		"leads, campaigns and approvals":                 leadsCampaignsAndApprovals,
		"the index converges to a recount":               indexConverges,
		"rebuilds are executions":                        rebuildsAreExecutions,
		"other fields lead to a rebuild":                 otherFieldsLeadToARebuild,
		"a recount finds what is wrong":                  recountFindsWhatIsWrong,
		"a rebuild and events at once keep what is true": rebuildBesideEvents,
	}
	crmtest.OnEvery(t, func(t *testing.T, where sqldb.Config) {
		r := newRig(t, where, small)
		for _, name := range slices.Sorted(maps.Keys(tests)) {
			t.Run(name, func(t *testing.T) {
				r.TB = t
				tests[name](t, r)
			})
		}
	})
}

func newRig(t testing.TB, where sqldb.Config, most limits) *rig {
	t.Helper()
	r := &rig{Rig: crmtest.New(t, where, records.Migration(), sharing.Migration(), Migration())}
	now := r.Clock.Now
	r.sharing = sharing.New(r.Rig.DB, sharing.Config{
		Models: r.Models, Records: records.Reads{}, Bus: r.Bus, Now: now,
	})
	r.Search = New(r.Rig.DB, Config{
		Models: r.Models, Records: records.Reads{}, Visible: r.sharing, Engine: r.Engine, Worker: "test",
		Now: now, limits: most,
	})
	r.records = records.New(r.Rig.DB, records.Config{
		Models: r.Models, Visible: r.sharing, Publisher: r.Bus, Now: now,
	})
	r.metadata = metadata.New(r.Rig.DB, metadata.Config{Models: r.Models, Bus: r.Bus, InUse: r.records.InUse})
	return r
}

// tenant is a tenant of a rig, and the events of it that were not handed out yet.
type tenant struct {
	*rig
	id    string
	seen  int64 // events up to this one are in waits
	waits []events.Event
	taken []events.Event
}

func newTenant(r *rig) *tenant { return &tenant{rig: r, id: uuid.NewString()} }

// The kinds of ids.
const (
	users = iota
	sets
)

// define defines something, as metadata does.
func (t *tenant) define(kind model.Kind, id, body string) {
	t.Helper()
	if _, _, err := t.metadata.Put(t.Context(), metadata.Change{
		Tenant: t.id, Kind: kind, ID: id,
		CorrelationID: "test",
	}, []byte(body)); err != nil {
		t.Fatalf("%s %s: %v", kind, id, err)
	}
}

// user makes a user who may read everything it has access to, and a field of accounts if
// that is given to few.
func (t *tenant) user(n int) string {
	t.Helper()
	if n == 1 {
		t.define(model.KindPermissionSet, crmtest.ID(sets, 1),
			`{"name":"all","objects":{"Account":{"create":true,"read":true,"update":true,"delete":true},
			"Contact":{"read":true},"Lead":{"read":true},"Campaign":{"read":true}}}`)
	}
	t.define(model.KindUser, crmtest.ID(users, n),
		`{"name":"u","permissionSetIds":["`+crmtest.ID(sets, 1)+`"],"isActive":true}`)
	return crmtest.ID(users, n)
}

func (t *tenant) as(user string) records.Caller {
	return records.Caller{Tenant: t.id, Subject: user, CorrelationID: "test"}
}

// apply does something with a record.
func (t *tenant) apply(object string, op records.Op) (v records.View) {
	t.Helper()
	t.Clock.Add(1)
	_, _, err := t.records.Apply(t.Context(), t.as(""), records.Batch{
		Object: object, Ops: []records.Op{op},
		AllOrNone: true,
	}, func(results []records.Result) ([]byte, error) {
		v = results[0].View()
		return []byte("{}"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (t *tenant) create(object, text string) string {
	t.Helper()
	return t.apply(object, records.Op{Kind: records.Create, Fields: crmtest.Fields(t, text)}).ID
}

func (t *tenant) update(object, id, text string) {
	t.Helper()
	t.apply(object, records.Op{Kind: records.Update, ID: id, Fields: crmtest.Fields(t, text)})
}

func (t *tenant) give(object, id, owner string) {
	t.Helper()
	t.apply(object, records.Op{Kind: records.Update, ID: id, OwnerID: owner, Fields: map[string]jsontext.Value{}})
}

func (t *tenant) drop(object, id string) {
	t.Helper()
	t.apply(object, records.Op{Kind: records.Delete, ID: id})
}

// fetch puts the events that were published since into waits.
func (t *tenant) fetch() {
	t.Helper()
	var batch []events.Event
	batch, t.seen = t.Events(t.id, t.seen)
	t.waits = append(t.waits, batch...)
}

// hand gives an event to sharing and to search.
func (t *tenant) hand(e events.Event) {
	t.Helper()
	t.Handle(&e, t.sharing.Consumer(), t.Consumer())
}

// settle hands out everything, in batches as a reader has them.
func (t *tenant) settle() {
	t.Helper()
	for t.fetch(); len(t.waits) > 0; t.fetch() {
		t.HandleAll(t.waits, t.sharing.Consumer(), t.Consumer())
		t.taken, t.waits = append(t.taken, t.waits...), nil
	}
}

// work lets rebuilds run to their end.
func (t *tenant) work() {
	t.Helper()
	for steps := 0; ; steps++ {
		if _, err := t.runs.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		all, err := t.runs.List(t.Context(), t.id)
		if err != nil {
			t.Fatal(err)
		}
		if steps == 10_000 {
			t.Fatalf("after %d steps a rebuild is still running: %+v", steps, all)
		}
		if !slices.ContainsFunc(all, func(b *rebuild.Rebuild) bool { return b.Status == rebuild.Running }) {
			return
		}
	}
}

// find gives the names of all hits, in order, over all pages.
func (t *tenant) find(user string, ask Ask) string {
	t.Helper()
	got, err := t.tryFind(user, ask)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (t *tenant) tryFind(user string, ask Ask) (string, error) {
	hits, err := t.hits(user, ask)
	var names []string
	for i := range hits {
		names = append(names, hits[i].Name)
	}
	return strings.Join(names, ","), err
}

func (t *tenant) hits(user string, ask Ask) (all []Hit, err error) {
	if ask.Limit == 0 {
		ask.Limit = 2
	}
	for {
		page, err := t.Find(t.Context(), kit.Caller{Tenant: t.id, Subject: user}, ask)
		if err != nil {
			return nil, err
		}
		if len(page.Hits) > ask.Limit {
			return nil, fmt.Errorf("%d hits on a page of %d", len(page.Hits), ask.Limit)
		}
		all = append(all, page.Hits...)
		if ask.Cursor = page.Next; ask.Cursor == "" {
			return all, nil
		}
	}
}

// same asks that a recount finds nothing.
func (t *tenant) same() {
	t.Helper()
	got, err := t.Recount(t.Context(), t.id)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Differences) > 0 {
		t.Fatalf("the recount differs: %s", strings.Join(got.Differences, "\n"))
	}
}
