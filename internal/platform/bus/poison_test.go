package bus_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/tier"
)

func onPostgreSQL(t *testing.T, test func(t *testing.T, r *rig)) {
	test(t, newRig(t, sqldb.Config{URL: pgtest.New(t)}))
}

// ruins has a handler that ruins the transaction of one event, without failing, between
// others of the same partition. The others must be taken and that one must become a dead
// letter that says why.
func ruins(t *testing.T, r *rig, why string, ruin func(ctx context.Context, tx *sqldb.Tx) error) {
	t.Helper()
	c := newCrew()
	var batch []events.Event
	for _, e := range r.events(60, 60) {
		if events.Partition(e.Key) == 1 && len(batch) < 7 {
			batch = append(batch, e)
		}
	}
	bad := batch[3]
	consumer := c.consumer("c")
	consumer.MaxTries = 2
	handle := consumer.Handle
	consumer.Handle = func(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
		if e.ID == bad.ID {
			return ruin(ctx, tx)
		}
		return handle(ctx, tx, e)
	}
	r.publishAll(bus.New(r.db, r.carrier, bus.Config{Instance: "p"}), batch...)
	r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{consumer}})
	r.eventually("the event is a dead letter", func() bool { return r.count("SELECT count(*) FROM bus_dead") == 1 })
	r.took("c", append(append([]events.Event{}, batch[:3]...), batch[4:]...))
	var said string
	var attempts int
	r.patient(func() error {
		return r.db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.Row(ctx, "SELECT error, attempts FROM bus_dead WHERE event_id = $1", bad.ID).Scan(&said,
				&attempts)
		})
	})
	if !strings.Contains(said, why) || attempts != 2 {
		t.Errorf("the letter says %q after %d tries, want %q after 2", said, attempts, why)
	}
}

func TestAHandlerThatGoesOnAfterAFailedStatementHasFailed(t *testing.T) {
	onPostgreSQL(t, func(t *testing.T, r *rig) { // SQLite goes on with the transaction
		ruins(t, r, "cannot be committed", func(ctx context.Context, tx *sqldb.Tx) error {
			_, _ = tx.Exec(ctx, "INSERT INTO no_such_table VALUES (1)") // this is the mistake
			return nil
		})
	})
}

func TestAHandlerWhoseWorkIsRefusedAtTheCommitHasFailed(t *testing.T) {
	onPostgreSQL(t, func(t *testing.T, r *rig) { // SQLite enforces nothing of the kind
		r.exec("CREATE TABLE test_parent (id TEXT PRIMARY KEY)")
		r.exec("CREATE TABLE test_child (id TEXT REFERENCES test_parent (id) DEFERRABLE INITIALLY DEFERRED)")
		ruins(t, r, "cannot be committed", func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO test_child VALUES ('nobody')")
			return err
		})
	})
}

func TestAHandlerThatTakesTooLongHasFailed(t *testing.T) {
	tier.System(t)
	if testing.Short() {
		t.Skip("SKIP: it waits for time-outs")
	}
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	ruins(t, r, "deadline exceeded", func(ctx context.Context, _ *sqldb.Tx) error {
		<-ctx.Done()
		return ctx.Err()
	})
}

// TestAHandlerThatMindsNoDeadlineHasFailed has one that is still at it when PostgreSQL has
// ended its transaction.
func TestAHandlerThatMindsNoDeadlineHasFailed(t *testing.T) {
	tier.System(t)
	if testing.Short() {
		t.Skip("SKIP: it waits for time-outs")
	}
	onPostgreSQL(t, func(t *testing.T, r *rig) {
		ruins(t, r, "s, and it has 4s", func(context.Context, *sqldb.Tx) error {
			<-time.After(5500 * time.Millisecond) // it is as slow as that
			return nil
		})
	})
}
