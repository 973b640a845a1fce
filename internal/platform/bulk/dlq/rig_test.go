package dlq

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/bustest"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

const tenant = "00000000-0000-0000-0000-00000000000a"

// maxWait is for anything that should come soon.
const maxWait = 30 * time.Second

// rig is bulks over a bus with a consumer that blocks keys (stop) and one that goes on
// (go); both fail for the keys that a test says.
type rig struct {
	*testing.T
	db    *sqldb.DB
	bus   *bus.Bus
	bulks *bulk.Bulks
	kinds map[string]bulk.Kind
	mail  *bustest.Events
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}))
	})
	t.Run("postgres", func(t *testing.T) { test(t, newRig(t, sqldb.Config{URL: pgtest.New(t)})) })
}

func newRig(t *testing.T, cfg sqldb.Config) *rig {
	t.Helper()
	cfg.Migrations = []sqldb.Migration{audit.Migration(), bus.Migration(), bulk.Migration(), idempotency.Migration()}
	db, err := sqldb.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	serving, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(serving) }()
	r := &rig{T: t, db: db, mail: bustest.NewEvents(t, time.Now)}
	r.bus = bus.New(db, memory.New(), bus.Config{
		Instance: "p1", Exclusive: true,
		Consumers: []bus.Consumer{
			{Name: "stop", Handle: r.mail.Handle, Types: []string{"RecordDeleted"}},
			{Name: "go", Handle: r.mail.Handle, Types: []string{"OwnerChanged"}, Continue: true},
		},
	})
	r.mail.Bus, r.mail.DB = r.bus, db
	r.kinds = Kinds(r.bus)
	r.bulks = bulk.New(db, bulk.Config{Kinds: r.kinds, Exclusive: true})
	ctx, stop := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() { _ = r.bus.Run(ctx) })
	working.Go(func() { r.bulks.Run(ctx) })
	t.Cleanup(func() {
		stop()
		working.Wait()
		end()
		if err := errors.Join(<-ended, db.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// event is an event of a record for one of the consumers.
func (r *rig) event(consumer, record string) events.Event {
	r.Helper()
	if consumer == "go" {
		return r.mail.OwnerChanged(tenant, record)
	}
	return r.mail.Deleted(tenant, record)
}

// deadLetter delivers events that fail and gives their dead letters, in the order of death.
func (r *rig) deadLetter(batch ...events.Event) []bus.DeadLetter {
	r.Helper()
	for _, e := range batch {
		r.mail.Kill(map[string]string{"OwnerChanged": "go", "RecordDeleted": "stop"}[e.Type], e)
	}
	letters, err := r.bus.WalkDead(r.Context(), tenant, bus.DeadFilter{}, 0, 1000)
	r.must(err)
	return letters
}

func (r *rig) eventually(what string, holds func() bool) {
	r.Helper()
	for began := time.Now(); !holds(); {
		if time.Since(began) > maxWait {
			r.Fatalf("%s: not within %v", what, maxWait)
		}
	}
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// create freezes a set.
func (r *rig) create(kind string, s Spec) string {
	r.Helper()
	raw, err := json.Marshal(&s)
	r.must(err)
	key, err := canonical.ParseIdempotencyKey(uuid.NewString(), "POST /x", raw)
	r.must(err)
	ans, err := r.bulks.Create(r.Context(), bulk.Request{
		Tenant: tenant, Kind: kind, Spec: raw, Actor: "ann",
		CorrelationID: "clean", Idempotency: key,
	})
	r.must(err)
	return ans.BulkID
}

// work starts a bulk and waits for its end.
func (r *rig) work(id string) bulk.Bulk {
	r.Helper()
	key, err := canonical.ParseIdempotencyKey(uuid.NewString(), "POST /x", nil)
	r.must(err)
	_, err = r.bulks.Start(r.Context(), bulk.Order{Tenant: tenant, ID: id, Actor: "bob", Idempotency: key})
	r.must(err)
	var b bulk.Bulk
	r.eventually("the end of the bulk", func() bool {
		b, err = r.bulks.Bulk(r.Context(), tenant, id)
		r.must(err)
		return b.Status == bulk.Done
	})
	return b
}

// items are the items of a bulk, as "outcome result" or "PENDING foreseen".
func (r *rig) items(id string) (lines []string) {
	r.Helper()
	page, _, err := r.bulks.Items(r.Context(), tenant, id, nil, 0, 1000)
	r.must(err)
	for _, it := range page {
		what := it.Detail
		if it.Outcome == bulk.Pending {
			what = it.Foreseen
		}
		lines = append(lines, fmt.Sprintf("%v %s", it.Outcome, what))
	}
	return lines
}
