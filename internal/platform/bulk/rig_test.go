package bulk

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

const tenantA, tenantB = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}))
	})
	t.Run("postgres", func(t *testing.T) {
		test(t, newRig(t, sqldb.Config{URL: pgtest.New(t)}))
	})
}

// Chunks are smaller here than they are in fact.
const freezeChunk, workChunk, retainChunk = 25, 10, 25

// rig is bulks over a database, stepped by hand, with a clock that tests turn.
type rig struct {
	*testing.T
	*Bulks
	db    *sqldb.DB
	clock *clock
	kind  *crowd
	keys  int
}

func newRig(t *testing.T, cfg sqldb.Config) *rig {
	t.Helper()
	cfg.Migrations = []sqldb.Migration{Migration(), idempotency.Migration()}
	db, err := sqldb.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, db.Close()); err != nil {
			t.Error(err)
		}
	})
	r := &rig{T: t, db: db, clock: &clock{now: time.Now()}, kind: newCrowd()}
	r.Bulks = r.process()
	return r
}

// process is another process on the same database.
func (r *rig) process() *Bulks { return New(r.db, r.config()) }

func (r *rig) config() Config {
	return Config{
		Kinds: map[string]Kind{"crowd": r.kind}, Clock: r.clock,
		limits: limits{items: 1000, freeze: freezeChunk, work: workChunk, retain: retainChunk},
	}
}

// clock is a clock that stands until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Millisecond)
	return c.now
}

// move lets time pass. PostgreSQL's clock cannot be turned: there everything that is
// stored becomes so much older.
func (r *rig) move(d time.Duration) {
	r.Helper()
	if r.db.Dialect() == sqldb.SQLite {
		r.clock.mu.Lock()
		defer r.clock.mu.Unlock()
		r.clock.now = r.clock.now.Add(d)
		return
	}
	r.must(r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE bulk SET changed_at = changed_at - $1, lease_until = lease_until - $1",
			d.Milliseconds())
		if err == nil {
			_, err = tx.Exec(ctx, "UPDATE idempotency_request SET at = at - $1", d.Milliseconds())
		}
		return err
	}))
}

// crowd is a kind whose items are numbers; a bulk says how many. What is done to one
// is done once; the third of every ten was done before, and the seventh refuses.
type crowd struct {
	mu      sync.Mutex
	claims  int // what Count says instead of the truth
	done    map[string]int
	first   map[string]Result
	asked   int                     // calls of Do
	around  func(moment string)     // called before and after everything that it does
	fail    func(call string) error // asked before and after everything that it does
	failing map[string]bool         // items that cannot be decided
}

func newCrowd() *crowd {
	return &crowd{done: map[string]int{}, first: map[string]Result{}, failing: map[string]bool{}}
}

func (c *crowd) at(moment string) error {
	if c.around != nil {
		c.around(moment)
	}
	if c.fail != nil {
		return c.fail(moment)
	}
	return nil
}

func sizeOf(b *Bulk) (n int) {
	_, _ = fmt.Sscanf(string(b.Spec), `{"size":%d}`, &n)
	return n
}

func (c *crowd) Count(_ context.Context, b *Bulk) (int, error) {
	if c.claims > 0 {
		return c.claims, nil
	}
	return sizeOf(b), nil
}

func (c *crowd) Select(_ context.Context, b *Bulk, after string, limit int) (names []string, last string, err error) {
	if err := c.at("before select"); err != nil {
		return nil, "", err
	}
	from, _ := strconv.Atoi(after)
	for n := from + 1; n <= sizeOf(b) && len(names) < limit; n++ {
		names = append(names, strconv.Itoa(n))
		after = strconv.Itoa(n)
	}
	return names, after, c.at("after select")
}

func (c *crowd) Do(_ context.Context, b *Bulk, names []string) ([]Result, error) {
	if err := c.at("before do"); err != nil {
		return nil, err
	}
	return c.apply(b, names), c.at("after do")
}

func (c *crowd) apply(b *Bulk, names []string) []Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	results := make([]Result, len(names))
	for i, name := range names {
		key := b.ID + "/" + name
		if c.done[key]++; c.done[key] == 1 {
			c.first[key] = c.decide(name)
		}
		results[i] = c.first[key]
	}
	return results
}

func (c *crowd) decide(name string) Result {
	n, _ := strconv.Atoi(name)
	r := Result{Outcome: Applied, Detail: fmt.Appendf(nil, `{"n":%d}`, n)}
	switch {
	case c.failing[name]:
		r.Outcome = Failed
	case n%10 == 3:
		r = Result{Outcome: Already}
	case n%10 == 7:
		r.Outcome = Refused
	}
	return r
}

// keyOf is the idempotency key of a request; body is any JSON.
func keyOf(t testing.TB, key, endpoint, body string) canonical.IdempotencyKey {
	t.Helper()
	o, err := canonical.ParseIdempotencyKey(key, endpoint, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (r *rig) request(size int) Request {
	r.Helper()
	r.keys++
	spec := fmt.Sprintf(`{"size":%d}`, size)
	return Request{
		Tenant: tenantA, Kind: "crowd", Spec: []byte(spec), Actor: "ann", CorrelationID: fmt.Sprint("corr-", r.keys),
		Idempotency: keyOf(r.T, fmt.Sprint("key-", r.keys), "POST /bulks", spec),
	}
}

func (r *rig) order(id, what string) Order {
	r.Helper()
	r.keys++
	return Order{
		Tenant: tenantA, ID: id, Actor: "bob", CorrelationID: fmt.Sprint("corr-", r.keys),
		Idempotency: keyOf(r.T, fmt.Sprint("key-", r.keys), "POST /bulks/"+id+"/"+what, `{}`),
	}
}

// create makes a bulk of so many items.
func (r *rig) create(size int) string {
	r.Helper()
	ans, err := r.Create(r.Context(), r.request(size))
	r.must(err)
	return ans.BulkID
}

// frozen makes a bulk of so many items whose set is frozen.
func (r *rig) frozen(size int) string {
	r.Helper()
	id := r.create(size)
	r.settled(Freezing)
	r.is(id, Preview)
	return id
}

func (r *rig) start(id string) {
	r.Helper()
	ans, err := r.Start(r.Context(), r.order(id, "start"))
	r.must(err)
	if ans.Refused != "" || ans.Status != Running {
		r.Fatalf("start: got %+v", ans)
	}
}

// settled steps as long as there is a bulk in a status.
func (r *rig) settled(while Status) {
	r.Helper()
	for range 100_000 {
		page, _, err := r.List(r.Context(), tenantA, []string{"crowd"}, 0, 1000)
		r.must(err)
		if !slices.ContainsFunc(page, func(b Bulk) bool { return b.Status == while }) {
			return
		}
		_, err = r.step(r.Context())
		r.must(err)
	}
	r.Fatalf("it does not end")
}

// is demands the status of a bulk.
func (r *rig) is(id string, want Status) Bulk {
	r.Helper()
	b, err := r.Bulk(r.Context(), tenantA, id)
	r.must(err)
	if b.Status != want {
		r.Fatalf("bulk is %v, want %v: %+v", b.Status, want, b)
	}
	return b
}

// items are all items of a bulk with an outcome, read in pages.
func (r *rig) items(id string, only *Outcome) []Item {
	r.Helper()
	var all []Item
	for {
		page, total, err := r.Items(r.Context(), tenantA, id, only, len(all), 90)
		r.must(err)
		all = append(all, page...)
		if len(page) == 0 {
			if len(all) != total {
				r.Errorf("%d items, the total is %d", len(all), total)
			}
			return all
		}
	}
}

// complete demands that a bulk has ended as it should: every item has its first
// result, and the counts are those of the items.
func (r *rig) complete(id string, size int) {
	r.Helper()
	b := r.is(id, Done)
	if b.Total != size || b.EndedAt.IsZero() || b.Counts.Settled() != size {
		r.Errorf("got %+v, want %d items, all settled", b, size)
	}
	all := r.items(id, nil)
	var counts Counts
	for i, it := range all {
		if it.Name != strconv.Itoa(i+1) {
			r.Fatalf("item %d is %s", i+1, it.Name)
		}
		want := r.kind.first[id+"/"+it.Name]
		if it.Outcome != want.Outcome || string(it.Detail) != string(want.Detail) {
			r.Fatalf("item %s: got %v %s, want %v %s", it.Name, it.Outcome, it.Detail, want.Outcome, want.Detail)
		}
		counts.add(it.Outcome)
	}
	if len(all) != size || counts != b.Counts {
		r.Errorf("%d items with %+v, the bulk says %d with %+v", len(all), counts, b.Total, b.Counts)
	}
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// refused demands a kind and a code of an error.
func (r *rig) refused(err error, kind fault.Kind, code string) *fault.Error {
	r.Helper()
	failure, ok := fault.As(err)
	if !ok || fault.KindOf(err) != kind || failure.Code != code {
		r.Fatalf("got %v, want %v %s", err, kind, code)
	}
	return failure
}
