package store

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/test/stalltest"
)

// TestAnExecutionThatSomebodyHoldsIsLeftOut has a commit want two executions, one of
// which somebody outside does not let go.
func TestAnExecutionThatSomebodyHoldsIsLeftOut(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: pgtest.New(t), Migrations: []sqldb.Migration{Migration()}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := New(db, Config{})
	s.patience = time.Millisecond
	free, held := engine.Head{Num: 1, ID: flow.ID{1}, Tenant: "t", GraphID: "g"}, engine.Head{
		Num: 2, ID: flow.ID{2},
		Tenant: "t", GraphID: "g",
	}
	row := engine.LogRow{Execution: 1, CommitNo: 1, FirstSeq: 1, LastSeq: 1, Body: []byte("x")}
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	must(s.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		return tx.Write(ctx, &engine.Batch{Create: []engine.Head{free, held}, Log: []engine.LogRow{row}})
	}))
	locked, release, released := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(released)
		must(db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "SELECT FROM engine_execution WHERE num = 2 FOR UPDATE")
			close(locked)
			<-release
			return err
		}))
	}()
	stalltest.Within(t, "the other process holds the row", locked)
	wants := []engine.Want{
		{Tenant: "t", ID: held.ID},
		{Tenant: "t", ID: free.ID},
		{Tenant: "other", ID: held.ID},
		{Tenant: "t", Num: 2, Known: 1},
	}
	tries := 0
	var got []engine.History
	must(s.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		tries++
		_, err := tx.SQL().Exec(ctx, "SET LOCAL lock_timeout = '20ms'")
		if err == nil {
			got, err = tx.Fetch(ctx, wants)
		}
		return err
	}))
	close(release)
	stalltest.Within(t, "the other process lets it go", released)
	left := engine.History{Found: true, Locked: true, Head: held}
	want := []engine.History{left, {Found: true, Head: free, Rows: []engine.LogRow{row}}, {}, left}
	if diff := cmp.Diff(want, got); diff != "" || tries != 2 {
		t.Errorf("after %d tries (-want +got):\n%s", tries, diff)
	}
}

// TestOneCompactsAtATime folds counts while another process does: it leaves the work to it, and
// waits for nobody.
func TestOneCompactsAtATime(t *testing.T) {
	db := sqltest.Open(t, sqldb.Config{URL: pgtest.New(t)}, Migration())
	s := New(db, Config{})
	err := s.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		return tx.Write(ctx, &engine.Batch{Create: []engine.Head{{Num: 1, ID: flow.ID{1}, Tenant: "t", GraphID: "g"}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	folded := -1
	waits, err := sqltest.During(t, db, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", compactLock)
		return err
	}, func() (err error) {
		folded, err = s.CompactCounts(t.Context())
		return err
	})
	if err != nil || waits || folded != 0 {
		t.Errorf("it waits: %t, %d changes were folded, %v; want none", waits, folded, err)
	}
	if folded, err = s.CompactCounts(t.Context()); folded != 1 || err != nil {
		t.Errorf("afterwards: %d changes, %v; want 1", folded, err)
	}
}
