package search

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small limits make tests meet what is many.
var small = limits{chunk: 2, sweep: 3, first: 2, look: 5, deep: 7, own: 3, few: 3, pass: 3, forms: 1, named: 2}

// rig is search over real services, and a bus that hands nothing out by itself.
type rig struct {
	testing.TB
	*Search
	bus      *bus.Bus
	metadata *metadata.Metadata
	records  *records.Records
	sharing  *sharing.Sharing
	clock    atomic.Int64
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
	for database, where := range map[string]func(t *testing.T) sqldb.Config{
		"sqlite": func(t *testing.T) sqldb.Config {
			return sqldb.Config{Path: filepath.Join(t.TempDir(),
				"test.db")}
		},
		"postgres": func(t *testing.T) sqldb.Config { return sqldb.Config{URL: pgtest.New(t)} },
	} {
		t.Run(database, func(t *testing.T) {
			r := newRig(t, where(t), small)
			for _, name := range slices.Sorted(maps.Keys(tests)) {
				t.Run(name, func(t *testing.T) {
					r.TB = t
					tests[name](t, r)
				})
			}
		})
	}
}

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

func newRig(t testing.TB, where sqldb.Config, most limits) *rig {
	t.Helper()
	where.Migrations = []sqldb.Migration{
		store.Migration(), audit.Migration(), bus.Migration(), metadata.Migration(), records.Migration(),
		sharing.Migration(), Migration(), idempotency.Migration(),
	}
	db, err := sqldb.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	var e interface {
		rebuild.Engine
		Run(ctx context.Context) error
	}
	st := store.New(db, store.Config{Silent: true})
	if db.Dialect() == sqldb.SQLite {
		e = engine.New(st, wall{}, engine.Config{Exclusive: true})
	} else {
		e = engine.NewShards(st, wall{}, engine.Config{}, 2)
	}
	serve, stop := context.WithCancel(context.Background())
	work, finish := context.WithCancel(context.Background())
	served, worked := make(chan error, 1), make(chan error, 1)
	go func() { served <- db.Run(serve) }()
	go func() { worked <- e.Run(work) }()
	t.Cleanup(func() {
		finish()
		first := <-worked
		stop()
		if err := errors.Join(first, <-served, db.Close()); err != nil {
			t.Error(err)
		}
	})
	models := metadata.NewModels()
	r := &rig{TB: t}
	r.clock.Store(time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC).UnixMilli())
	now := func() time.Time { return time.UnixMilli(r.clock.Load()) }
	r.sharing = sharing.New(db, sharing.Config{Models: models, Records: records.Reads{}, Now: now})
	r.Search = New(db, Config{
		Models: models, Records: records.Reads{}, Visible: r.sharing, Engine: e, Worker: "test",
		Now: now, limits: most,
	})
	r.bus = bus.New(db, memory.New(), bus.Config{
		Instance: "test", Sensitive: models.Sensitive,
		Consumers: []bus.Consumer{r.sharing.Consumer(), r.Consumer()},
	})
	r.sharing.Announce(r.bus)
	r.records = records.New(db, records.Config{Models: models, Visible: r.sharing, Publisher: r.bus, Now: now})
	r.metadata = metadata.New(db, metadata.Config{Models: models, Bus: r.bus, InUse: r.records.InUse})
	return r
}

// tenant is a tenant of a rig, and the events of it that were not handed out yet.
type tenant struct {
	*rig
	id    string
	seen  int64 // events up to this one are in waits
	waits []wire.Event
	taken []wire.Event
}

func newTenant(r *rig) *tenant {
	t := &tenant{rig: r, id: uuid.NewString()}
	t.see(func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT coalesce(max(id), 0) FROM outbox_events").Scan(&t.seen)
	})
	return t
}

// change runs SQL in one transaction.
func (r *rig) change(fn func(ctx context.Context, tx *sqldb.Tx) error) {
	r.Helper()
	if err := r.db.Write(r.Context(), sqldb.Other, fn); err != nil {
		r.Fatal(err)
	}
}

// see runs fn in a transaction that cannot write.
func (r *rig) see(fn func(ctx context.Context, tx *sqldb.Tx) error) {
	r.Helper()
	if err := r.db.Read(r.Context(), fn); err != nil {
		r.Fatal(err)
	}
}

// num makes ids that are easy to read.
func num(kind, n int) string { return fmt.Sprintf("00000000-0000-7000-80%02d-%012d", kind, n) }

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
		t.define(model.KindPermissionSet, num(sets, 1),
			`{"name":"all","objects":{"Account":{"create":true,"read":true,"update":true,"delete":true},
			"Contact":{"read":true},"Lead":{"read":true},"Campaign":{"read":true}}}`)
	}
	t.define(model.KindUser, num(users, n), `{"name":"u","permissionSetIds":["`+num(sets, 1)+`"],"isActive":true}`)
	return num(users, n)
}

func (t *tenant) as(user string) records.Caller {
	return records.Caller{Tenant: t.id, Subject: user, CorrelationID: "test"}
}

// apply does something with a record.
func (t *tenant) apply(object string, op records.Op) (v records.View) {
	t.Helper()
	t.clock.Add(1)
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

func fields(t testing.TB, text string) map[string]jsontext.Value {
	t.Helper()
	all := map[string]jsontext.Value{}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func (t *tenant) create(object, text string) string {
	t.Helper()
	return t.apply(object, records.Op{Kind: records.Create, Fields: fields(t, text)}).ID
}

func (t *tenant) update(object, id, text string) {
	t.Helper()
	t.apply(object, records.Op{Kind: records.Update, ID: id, Fields: fields(t, text)})
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
	t.see(func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT id, tenant_id, body FROM outbox_events WHERE id > $1 ORDER BY id",
			t.seen) {
			var of string
			var body []byte
			if err == nil {
				err = row.Scan(&t.seen, &of, &body)
			}
			if err != nil {
				return err
			}
			e, err := wire.ParseEvent(body)
			if err != nil {
				return err
			}
			if of == t.id {
				t.waits = append(t.waits, e)
			}
		}
		return nil
	})
}

// hand gives an event to sharing and to search.
func (t *tenant) hand(e wire.Event) {
	t.Helper()
	t.change(func(ctx context.Context, tx *sqldb.Tx) error {
		if slices.Contains(sharing.Types, e.Type) {
			if err := t.sharing.Consumer().Handle(ctx, tx, &e); err != nil {
				return err
			}
		}
		if slices.Contains(Types, e.Type) {
			return t.handle(ctx, tx, &e)
		}
		return nil
	})
}

// settle hands out everything, in batches as a reader has them.
func (t *tenant) settle() {
	t.Helper()
	for t.fetch(); len(t.waits) > 0; t.fetch() {
		for _, c := range []bus.Consumer{t.sharing.Consumer(), t.Consumer()} {
			var all []*wire.Event
			for i := range t.waits {
				if slices.Contains(c.Types, t.waits[i].Type) {
					all = append(all, &t.waits[i])
				}
			}
			t.change(func(ctx context.Context, tx *sqldb.Tx) error { return c.HandleAll(ctx, tx, all) })
		}
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
		all, err := t.ListRebuilds(t.Context(), t.id)
		if err != nil {
			t.Fatal(err)
		}
		if steps == 10_000 {
			t.Fatalf("after %d steps a rebuild is still running: %+v", steps, all)
		}
		if !slices.ContainsFunc(all, func(b Rebuild) bool { return b.Status == Running }) {
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
		page, err := t.Find(t.Context(), Caller{t.id, user}, ask)
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

func codeOf(err error) string {
	if e, ok := fault.As(err); ok {
		return e.Code
	}
	return ""
}
