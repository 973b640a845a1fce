package crmtest

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
)

// Main runs the tests of a package and fails when goroutines are left. checks is how often rapid
// checks a property unless RENGA_LONG is set: each check is a tenant in a real database; "": it is
// not used.
func Main(m *testing.M, checks string) {
	if checks != "" && os.Getenv("RENGA_LONG") == "" {
		if err := flag.Set("rapid.checks", checks); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m) // it parses the flags, which then count
}

// OnEvery runs a test on SQLite and on PostgreSQL.
func OnEvery(t *testing.T, test func(t *testing.T, where sqldb.Config)) {
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, sqldb.Config{URL: pgtest.New(t)}) })
}

// SQLite is a database in a file of its own.
func SQLite(t testing.TB) sqldb.Config {
	return sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}
}

// Engine is an engine that works until its test ends.
type Engine interface {
	Do(ctx context.Context, unit engine.Unit) ([]engine.Result, error)
	Submit(ctx context.Context, requests []engine.Request) []engine.Result
	Claim(ctx context.Context, request engine.ClaimRequest) (engine.Claimed, error)
	PutGraph(ctx context.Context, tenant, id string, g flow.Graph) (engine.GraphRow, bool, error)
	Execution(ctx context.Context, tenant string, id flow.ID, at uint64) (engine.View, error)
	Run(ctx context.Context) error
}

// Rig is what services stand on in tests. Its bus delivers nothing by itself: tests read Events and
// give them to the handlers.
type Rig struct {
	testing.TB
	DB     *sqldb.DB
	Engine Engine
	Bus    *bus.Bus
	Models *metadata.Models
	Clock  *Clock
}

// New is a rig over a database with the tables of the platform, of metadata and of some services.
func New(t testing.TB, where sqldb.Config, tables ...sqldb.Migration) *Rig {
	t.Helper()
	return NewStored(t, where, store.Config{}, tables...)
}

// NewStored is New with a configuration of the engine's tables.
func NewStored(t testing.TB, where sqldb.Config, stored store.Config, tables ...sqldb.Migration) *Rig {
	t.Helper()
	db := sqltest.Open(t, where, append([]sqldb.Migration{
		store.Migration(), audit.Migration(), bus.Migration(), idempotency.Migration(), metadata.Migration(),
	}, tables...)...)
	stored.Silent = true
	r := &Rig{TB: t, DB: db, Models: metadata.NewModels(), Clock: NewClock()}
	if st := store.New(db, stored); where.Path != "" {
		r.Engine = engine.New(st, wall{}, engine.Config{Exclusive: true})
	} else {
		r.Engine = engine.NewShards(st, wall{}, engine.Config{}, 2)
	}
	r.Bus = bus.New(db, memory.New(), bus.Config{Instance: "test", Sensitive: r.Models.Sensitive})
	Serve(t, r.Engine.Run)
	return r
}

// Serve runs a loop until the test ends, before the database is closed.
func Serve(t testing.TB, run func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

// Clock is a clock that tests set. It starts at noon of 10 January 2026.
type Clock struct{ ms atomic.Int64 }

// NewClock is a clock.
func NewClock() *Clock {
	c := &Clock{}
	c.ms.Store(time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC).UnixMilli())
	return c
}

// Now is its time.
func (c *Clock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// Add advances it by some milliseconds and gives its time in milliseconds.
func (c *Clock) Add(ms int64) int64 { return c.ms.Add(ms) }

// At sets it to an instant such as 2026-01-10T14:00:00Z.
func (c *Clock) At(t testing.TB, text string) {
	t.Helper()
	s, err := canonical.ParseStamp(text)
	if err != nil {
		t.Fatal(err)
	}
	c.ms.Store(int64(s))
}

// Change runs fn in a transaction that must succeed.
func (r *Rig) Change(fn func(ctx context.Context, tx *sqldb.Tx) error) {
	r.Helper()
	if err := r.DB.Write(r.Context(), sqldb.Other, fn); err != nil {
		r.Fatal(err)
	}
}

// See runs fn in a transaction that cannot write and must succeed.
func (r *Rig) See(fn func(ctx context.Context, tx *sqldb.Tx) error) {
	r.Helper()
	if err := r.DB.Read(r.Context(), fn); err != nil {
		r.Fatal(err)
	}
}

// Exec runs a statement that must succeed.
func (r *Rig) Exec(query string, args ...any) {
	r.Helper()
	r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

// Handle gives an event to those consumers that handle its type, in order, in one transaction.
func (r *Rig) Handle(e *events.Event, consumers ...bus.Consumer) {
	r.Helper()
	r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		for _, c := range consumers {
			if slices.Contains(c.Types, e.Type) {
				if err := c.Handle(ctx, tx, e); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// HandleAll gives events to each consumer that handles them, together, in a transaction for each.
func (r *Rig) HandleAll(batch []events.Event, consumers ...bus.Consumer) {
	r.Helper()
	for _, c := range consumers {
		var some []*events.Event
		for i := range batch {
			if slices.Contains(c.Types, batch[i].Type) {
				some = append(some, &batch[i])
			}
		}
		r.Change(func(ctx context.Context, tx *sqldb.Tx) error { return c.HandleAll(ctx, tx, some) })
	}
}

// CodeOf is the code of a refusal, "" of another error.
func CodeOf(err error) string {
	if e, ok := fault.As(err); ok {
		return e.Code
	}
	return ""
}

// Plan is how the database would execute a query, on SQLite a line a step.
func (r *Rig) Plan(query string, args ...any) string {
	r.Helper()
	var plan strings.Builder
	r.See(func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "EXPLAIN QUERY PLAN "+query, args...) {
			var id, parent, unused int64
			var detail string
			if err == nil {
				err = row.Scan(&id, &parent, &unused, &detail)
			}
			if err != nil {
				return err
			}
			plan.WriteString(detail + "\n")
		}
		return nil
	})
	return plan.String()
}
