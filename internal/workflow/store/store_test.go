package store_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
	"renga.dev/renga/internal/workflow/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) engine.Store { return open(t, filepath.Join(t.TempDir(), "test.db")) })
}

func TestPostgreSQL(t *testing.T) {
	storetest.Run(t, func(t *testing.T) engine.Store { return open(t, pgtest.New(t)) })
}

// both runs a test on an empty store of each kind.
func both(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Run("sqlite", func(t *testing.T) { test(t, open(t, filepath.Join(t.TempDir(), "test.db"))) })
	t.Run("postgres", func(t *testing.T) { test(t, open(t, pgtest.New(t))) })
}

// open gives a store, served until the test ends.
func open(t testing.TB, where string) *store.Store {
	t.Helper()
	s, _, _ := serve(t, where)
	return s
}

// serve gives a store on a file, or on PostgreSQL, its database, and a function that
// ends it.
func serve(t testing.TB, where string) (*store.Store, *sqldb.DB, func()) {
	t.Helper()
	cfg := sqldb.Config{Path: where, Migrations: []sqldb.Migration{store.Migration()}}
	if strings.HasPrefix(where, "postgres://") {
		cfg.Path, cfg.URL = "", where
	}
	db, err := sqldb.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- db.Run(ctx) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return store.New(db, store.Config{KeyRetention: time.Duration(storetest.Retention) * time.Millisecond}), db, stop
}

func TestNumbersGoOnAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	take := func(s *store.Store) (first int64) {
		err := s.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) (err error) {
			if first, err = tx.Number(ctx, 2); err != nil {
				return err
			}
			return tx.Write(ctx, &engine.Batch{Create: []engine.Head{
				{Num: first, ID: flow.ID{1, byte(first)}, Tenant: "t"},
				{Num: first + 1, ID: flow.ID{1, byte(first + 1)}, Tenant: "t"},
			}})
		})
		if err != nil {
			t.Fatal(err)
		}
		return first
	}
	s, _, stop := serve(t, path)
	if got := take(s); got != 1 {
		t.Errorf("first number %d, want 1", got)
	}
	stop()
	if got := take(open(t, path)); got != 3 {
		t.Errorf("first number after a restart %d, want 3", got)
	}
}

func TestRetainDeletesTheOldestKeys(t *testing.T) { both(t, retainDeletesTheOldestKeys) }

func retainDeletesTheOldestKeys(t *testing.T, s *store.Store) {
	const n = 1200
	var keys []engine.KeyRow
	var refs []engine.KeyRef
	for i := range n {
		ref := engine.KeyRef{Tenant: "t", Endpoint: "POST /executions", Key: string(rune('a'+i%26)) +
			string(rune(0x4e00+i))}
		keys = append(keys, engine.KeyRow{KeyRef: ref, At: flow.Time(i), Body: []byte("{}")})
		refs = append(refs, ref)
	}
	// What one commit remembers is of one time, and in no order.
	for first, last := 0, 1; first < n; first, last = last, last+1 {
		if first == 20 {
			last = 1100
		} else if first > 20 {
			last = n
		}
		if err := s.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
			return tx.Write(ctx, &engine.Batch{Keys: keys[first:last]})
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		before          flow.Time
		limit           int
		deleted, oldest int
	}{{0, 10, 0, 0}, {5, 10, 5, 5}, {1000, 7, 7, 12}, {1100, 10_000, 1088, 1100}, {1100, 10_000, 0, 1100}} {
		got, err := s.Retain(t.Context(), step.before, step.limit)
		if err != nil || got != step.deleted {
			t.Errorf("Retain(%d, %d) = %d, %v; want %d", step.before, step.limit, got, err, step.deleted)
		}
		err = s.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
			rows, err := tx.Keys(ctx, refs)
			for i, row := range rows {
				if (row != nil) != (i >= step.oldest) {
					t.Fatalf("after Retain(%d, %d) key %d is there: %v", step.before, step.limit, i, row != nil)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

// TestAJobCannotWaitForTheEngine calls the engine inside of a job. It commits
// through the loop that the job holds up, so they would wait for each other, or the
// commands of others would fail with the caller's.
func TestAJobCannotWaitForTheEngine(t *testing.T) { both(t, aJobCannotWaitForTheEngine) }

func aJobCannotWaitForTheEngine(t *testing.T, s *store.Store) {
	e := engine.New(s, wall{}, engine.Config{Exclusive: true})
	err := s.Commit(t.Context(), func(ctx context.Context, _ engine.Tx) error {
		results := e.Submit(ctx, make([]engine.Request, 2))
		_, unit := e.Do(ctx, engine.Unit{})
		_, claim := e.Claim(ctx, engine.ClaimRequest{Wait: time.Hour})
		for _, err := range []error{results[0].Err, results[1].Err, unit, claim} {
			if err == nil || fault.KindOf(err) != fault.Internal {
				t.Errorf("got %v, want a refusal", err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestActiveIsAskedWithinATransaction asks about an execution where its change is not
// committed yet.
func TestActiveIsAskedWithinATransaction(t *testing.T) { both(t, activeIsAskedWithinATransaction) }

func activeIsAskedWithinATransaction(t *testing.T, s *store.Store) {
	h := engine.Head{ID: flow.ID{6: 0x70, 8: 0x80, 15: 1}, Tenant: "a", GraphID: "g", GraphVersion: 1, CreatedAt: 1}
	err := s.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) (err error) {
		expect := func(tenant string, want bool) {
			if got, err := store.Active(ctx, tx.SQL(), tenant, h.ID.String()); got != want || err != nil {
				t.Errorf("%s, status %v: got %v %v, want %v", tenant, h.Status, got, err, want)
			}
		}
		expect("a", false)
		if h.Num, err = tx.Number(ctx, 1); err != nil {
			return err
		}
		if err := tx.Write(ctx, &engine.Batch{Create: []engine.Head{h}}); err != nil {
			return err
		}
		expect("a", true)
		expect("b", false)
		h.Status, h.EndedAt = flow.Canceled, 2
		if err := tx.Write(ctx, &engine.Batch{Update: []engine.Update{{Head: h}}}); err != nil {
			return err
		}
		expect("a", false)
		if _, err := store.Active(ctx, tx.SQL(), "a", "x"); err == nil {
			t.Error("what is no id was looked for")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
