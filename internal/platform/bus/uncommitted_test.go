package bus_test

import (
	"context"
	"testing"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/sqldb"
)

// TestADatabaseThatIsOlderThanItsStreamsShows takes a database back to an earlier state, as a
// backup does, and as a crash does that only loses what relays have not noted.
func TestADatabaseThatIsOlderThanItsStreamsShows(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		l := &ledger{}
		b, stop := r.launch(r.carrier, bus.Config{Log: l})
		publish := func(n int) {
			all := r.events(n, 8)
			l.add(all...)
			b.WakeLog()
			r.publishAll(b, all...)
			r.published()
			r.noted(l)
		}
		publish(20)
		var earlier int
		r.must(r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "CREATE TABLE test_relay AS SELECT source, part, last_seq FROM bus_relay")
			return err
		}))
		earlier = r.count("SELECT max(id) FROM outbox_events")
		publish(20)
		stop()
		unknown := func() int {
			t.Helper()
			ends, err := bus.New(r.db, r.carrier, bus.Config{Log: l, Instance: "starts"}).Uncommitted(t.Context())
			r.must(err)
			return len(ends)
		}
		if n := unknown(); n != 0 {
			t.Errorf("%d ends of partitions are unknown to the database that published them", n)
		}
		r.must(r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE bus_relay SET last_seq = (SELECT t.last_seq FROM test_relay AS t
				WHERE t.source = bus_relay.source AND t.part = bus_relay.part)`)
			return err
		}))
		if n := unknown(); n != 0 {
			t.Errorf("%d ends of partitions are unknown, though only notes of relays are missing", n)
		}
		r.must(r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "DELETE FROM outbox_events WHERE id > $1", earlier)
			return err
		}))
		l.mu.Lock()
		l.events = l.events[:20]
		l.mu.Unlock()
		if n := unknown(); n < 2 {
			t.Errorf("%d ends of partitions are unknown to a database that is older, want some of both streams", n)
		}
	})
}
