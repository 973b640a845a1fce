package bus_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

const hour = canonical.Stamp(time.Hour / time.Millisecond)

// ago is the instant that is so long before now.
func ago(d time.Duration) canonical.Stamp { return canonical.Stamp(time.Now().Add(-d).UnixMilli()) }

func TestWhatIsPastItsTimeIsDeletedInChunks(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		var chunks atomic.Int64
		b := bus.New(r.db, r.carrier, bus.Config{Instance: "x", Passed: func(string) { chunks.Add(1) }})
		put := func(n int, created canonical.Stamp, published any) {
			for range n {
				r.announce(created, published, r.event("x"))
			}
		}
		old, young := ago(bus.Horizon)-hour, ago(bus.Horizon)+hour
		put(1200, old, old)
		put(7, old, nil)   // never published
		put(5, old, young) // published late
		put(3, young, young)
		dead := func(id string, ended canonical.Stamp) {
			r.exec(`INSERT INTO bus_dead (id, tenant_id, consumer, part, status, partition_key, event_id, event_type,
				version, idx, reason_class,
				reason_code, retry_advice, error, attempts, errors, first_failed_at, dead_at, redrive_at, decided_by,
				decided_at, reason, ended_at, body)
				VALUES ($1, 't', 'c', 0, 0, 'k', $1, 'T', 1, 0, '', '', '', '', 1, '[]', 1, 1, 0, '', 0, '', $2, $3)`,
				id, ended, []byte("{}"))
		}
		dead("open", 0)
		dead("young", ago(bus.DeadFor)+hour)
		dead("old", ago(bus.DeadFor)-hour)
		replay := func(id string, status int, ended canonical.Stamp) {
			r.exec(`INSERT INTO bus_replay (id, part, tenant_id, consumer, from_at, to_at, pos, status, applied,
				duplicate, stale, failed, created_by, created_at, ended_at)
				VALUES ($1, 0, 't', 'c', 0, 1, 0, $2, 0, 0, 0, 0, '', 1, $3)`, id, status, ended)
		}
		replay("running", 0, 0)
		replay("young", 1, ago(bus.ReplayFor)+hour)
		replay("old", 1, ago(bus.ReplayFor)-hour)
		for name, until := range map[string]canonical.Stamp{
			"process:a": ago(0) + hour, "process:b": ago(48 * time.Hour),
			"relay:outbox": ago(48 * time.Hour),
		} {
			r.exec("INSERT INTO bus_lease (name, part, epoch, holder, until) VALUES ($1, 0, 1, '', $2)", name, until)
		}
		r.must(b.Retain(t.Context()))
		for query, want := range map[string]int{
			"SELECT count(*) FROM outbox_events":                                         15,
			"SELECT count(*) FROM outbox_events WHERE published_at IS NULL":              7,
			"SELECT count(*) FROM bus_dead WHERE id IN ('open', 'young')":                2,
			"SELECT count(*) FROM bus_dead":                                              2,
			"SELECT count(*) FROM bus_replay WHERE id IN ('running', 'young')":           2,
			"SELECT count(*) FROM bus_replay":                                            2,
			"SELECT count(*) FROM bus_lease WHERE name IN ('process:a', 'relay:outbox')": 2,
			"SELECT count(*) FROM bus_lease":                                             2,
		} {
			if got := r.count(query); got != want {
				t.Errorf("%s: got %d, want %d", query, got, want)
			}
		}
		if got := chunks.Load(); got != 3+3 { // of the outbox, and one of each other table
			t.Errorf("it took %d jobs, want 6", got)
		}
	})
}

// today is the day of now, as the table of processed events counts them.
func today() int { return int(time.Now().UnixMilli() / (24 * time.Hour).Milliseconds()) }

func (r *rig) processed(day, n int) {
	r.Helper()
	r.must(r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		for i := range n {
			if _, err := tx.Exec(ctx,
				"INSERT INTO processed_events (day, consumer, tenant_id, event_id) VALUES ($1, 'c', 't', $2)", day,
				fmt.Sprint(i)); err != nil {
				return err
			}
		}
		return nil
	}))
}

func TestDaysOfProcessedEventsGoWhenNothingCanComeAgain(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		b := r.asleep()
		r.processed(today()-30, 700)
		r.processed(today()-9, 3)
		r.processed(today()-8, 4)
		r.processed(today(), 5)
		r.processed(today()+40, 6)
		r.must(b.Retain(t.Context()))
		for day, want := range map[int]int{today() - 30: 0, today() - 9: 0, today() - 8: 4, today(): 5, today() +
			40: 6} {
			if got := r.count("SELECT count(*) FROM processed_events WHERE day = $1", day); got != want {
				t.Errorf("day %+d has %d events, want %d", day-today(), got, want)
			}
		}
	})
}

// days are the days that have a table of their own, as far from today as they are.
func (r *rig) days() (n int) {
	r.Helper()
	return r.count("SELECT count(*) FROM pg_inherits WHERE inhparent = 'processed_events'::regclass") - 1
}

func TestDaysHaveTablesThatAreMadeAheadAndDropped(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	b := r.asleep()
	r.processed(today(), 3) // before its table is made: it stays in the rest
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if err := b.PrepareDays(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := r.days(); got != 4 { // yesterday and the next three
		t.Errorf("%d days have tables, want 4", got)
	}
	r.processed(today()+1, 5)
	if n := r.count("SELECT count(*) FROM processed_events_rest"); n != 3 {
		t.Errorf("the rest has %d rows, want 3", n)
	}
	old := today() - 12
	r.exec(fmt.Sprintf("CREATE TABLE processed_events_d%d PARTITION OF processed_events FOR VALUES FROM (%d) TO (%d)",
		old, old, old+1))
	r.processed(old, 5)
	r.must(b.PrepareDays(t.Context()))
	if got := r.days(); got != 4 {
		t.Errorf("%d days have tables, want 4", got)
	}
	if n := r.count("SELECT count(*) FROM processed_events WHERE day = $1", old); n != 0 {
		t.Errorf("%d rows of the old day are left", n)
	}
	if n := r.count("SELECT count(*) FROM processed_events"); n != 8 {
		t.Errorf("%d rows are left, want 8", n)
	}
}

// TestReadersGoOnWhileDaysAreMadeAndDropped takes events while tables come and go.
func TestReadersGoOnWhileDaysAreMadeAndDropped(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	c := newCrew()
	b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
	var all []events.Event
	for i := range 20 {
		more := r.events(30, 7)
		r.publishAll(b, more...)
		all = append(all, more...)
		old := today() - 20 - i
		r.exec(fmt.Sprintf("CREATE TABLE processed_events_d%d PARTITION OF processed_events FOR VALUES FROM (%d) TO "+
			"(%d)", old, old, old+1))
		r.must(b.PrepareDays(t.Context()))
	}
	r.took("c", all)
}
