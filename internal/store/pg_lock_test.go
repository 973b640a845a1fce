package store

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/engine"
	"renga.dev/renga/internal/flow"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/sqldb/pgtest"
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
	free, held := engine.Head{Num: 1, ID: flow.ID{1}, Tenant: "t", GraphID: "g"}, engine.Head{Num: 2, ID: flow.ID{2}, Tenant: "t", GraphID: "g"}
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
	<-locked
	wants := []engine.Want{{Tenant: "t", ID: held.ID}, {Tenant: "t", ID: free.ID}, {Tenant: "other", ID: held.ID}, {Tenant: "t", Num: 2, Known: 1}}
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
	<-released
	left := engine.History{Found: true, Locked: true, Head: held}
	want := []engine.History{left, {Found: true, Head: free, Rows: []engine.LogRow{row}}, {}, left}
	if diff := cmp.Diff(want, got); diff != "" || tries != 2 {
		t.Errorf("after %d tries (-want +got):\n%s", tries, diff)
	}
}
