package sharing

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/store"
)

// fewChecks is how often properties are looked at, unless a flag or RENGA_LONG says
// otherwise: each look is a tenant in a real database.
const fewChecks = "20"

func TestMain(m *testing.M) {
	if os.Getenv("RENGA_LONG") == "" {
		if err := flag.Set("rapid.checks", fewChecks); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m) // it parses the flags, which then count
}

// rig is sharing over a database, an engine and a bus that hands nothing out by itself.
type rig struct {
	testing.TB
	*Sharing
	bus  *bus.Bus
	kept *records.Records // with this sharing
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}, limits{
			chunk: 2, sweep: 3, few: 5,
			unreached: 2,
		}))
	})
	t.Run("postgres", func(t *testing.T) {
		test(t, newRig(t, sqldb.Config{URL: pgtest.New(t)}, limits{chunk: 2, sweep: 3, few: 5, unreached: 2}))
	})
}

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

func newRig(t testing.TB, where sqldb.Config, most limits) *rig {
	t.Helper()
	where.Migrations = []sqldb.Migration{
		store.Migration(), audit.Migration(), bus.Migration(), metadata.Migration(), records.Migration(), Migration(),
		idempotency.Migration(),
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
	r := &rig{TB: t, Sharing: New(db, Config{
		Models: models, Records: records.Reads{}, Engine: e, Worker: "test", limits: most,
	})}
	r.bus = bus.New(db, memory.New(), bus.Config{Instance: "test", Consumers: []bus.Consumer{r.Consumer()}})
	r.Announce(r.bus)
	r.kept = records.New(db, records.Config{Models: models, Visible: r.Sharing, Publisher: r.bus})
	return r
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
