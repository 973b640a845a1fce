package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

var errSick = errors.New("the service is not well")

// idsOf are the ids of events.
func idsOf(batch ...events.Event) (ids []string) {
	for _, e := range batch {
		ids = append(ids, e.ID)
	}
	return ids
}

// same compares lists without regard to order.
func same(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func TestEveryConsumerTakesEveryEventOnceAndInOrderOfItsKey(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		var all []events.Event
		byKey := map[string][]string{}
		for i := range 300 {
			e := r.event(fmt.Sprint("record ", i%17))
			all = append(all, e)
			byKey[e.Key] = append(byKey[e.Key], e.ID)
		}
		r.send(all[:100]...)
		stop := r.start(bus.Config{Consumers: []bus.Consumer{c.consumer("one"), c.consumer("two")}})
		r.send(all[100:200]...)
		r.send(all[:50]...) // again
		stop()
		r.start(bus.Config{Consumers: []bus.Consumer{c.consumer("one"), c.consumer("two")}})
		r.send(all[200:]...)
		for _, name := range []string{"one", "two"} {
			r.eventually("all events", func() bool { return len(r.ids(name, "")) >= len(all) })
			for key, want := range byKey {
				if diff := cmp.Diff(want, r.ids(name, key)); diff != "" {
					t.Errorf("%s, %s (-want +got):\n%s", name, key, diff)
				}
			}
			if n := r.count("SELECT count(*) FROM processed_events WHERE consumer = $1", name); n != len(all) {
				t.Errorf("%d events of %s are noted as processed, want %d", n, name, len(all))
			}
		}
	})
}

// TestAConsumerThatTakesEventsTogetherTakesEachOnce has a handler of batches that fails
// when an event of one key is among them: all of its work is undone, and the others are
// taken one by one.
func TestAConsumerThatTakesEventsTogetherTakesEachOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		consumer := c.consumer("one")
		var together atomic.Int64
		consumer.HandleAll = func(ctx context.Context, tx *sqldb.Tx, batch []*events.Event) error {
			for _, e := range batch {
				if err := consumer.Handle(ctx, tx, e); err != nil {
					return err
				}
			}
			tx.OnCommit(func() { together.Add(int64(len(batch))) })
			return nil
		}
		bad := r.event("bad")
		c.fail(bad.Key, errors.New("not this one"))
		all, byKey := []events.Event{}, map[string][]string{}
		for i := range 200 {
			e := r.event(fmt.Sprint("record ", i%17))
			all = append(all, e)
			byKey[e.Key] = append(byKey[e.Key], e.ID)
		}
		r.send(all[:100]...)
		r.send(bad)
		r.send(all[100:]...)
		r.start(bus.Config{Consumers: []bus.Consumer{consumer}})
		r.eventually("all events but one", func() bool { return len(r.ids("one", "")) >= len(all) })
		for key, want := range byKey {
			if diff := cmp.Diff(want, r.ids("one", key)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", key, diff)
			}
		}
		if n := r.count("SELECT count(*) FROM bus_lane WHERE consumer = 'one'"); n != 1 {
			t.Errorf("%d keys wait, want 1", n)
		}
		r.eventually("those of the other partitions are taken together", func() bool { return together.Load() > 0 })
		if n := together.Load(); n >= int64(len(all)) {
			t.Errorf("%d of %d events were taken together, also with the one that fails", n, len(all))
		}
		c.fail(bad.Key, nil)
		r.eventually("the last one", func() bool { return len(r.ids("one", bad.Key)) == 1 })
	})
}

func TestAConsumerGetsOnlyTheTypesItAsksFor(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		only, none := c.consumer("only"), c.consumer("none")
		only.Types, none.Types = []string{"RecordDeleted"}, []string{"RecordCreated", "StageChanged"}
		r.start(bus.Config{Consumers: []bus.Consumer{only, none}})
		e := r.event("x")
		r.send(e)
		r.eventually("the event", func() bool { return slices.Equal(r.ids("only", ""), idsOf(e)) })
		if got := r.ids("none", ""); len(got) > 0 {
			t.Errorf("the other consumer got %v", got)
		}
	})
}

func TestTheEventsOfOneChangeAreAllTaken(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		r.start(bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		v := r.now + 10
		batch := []events.Event{r.eventAt("x", v, 0), r.eventAt("x", v, 1), r.eventAt("x", v, 2)}
		r.send(batch...)
		r.eventually("three effects", func() bool { return slices.Equal(r.ids("c", ""), idsOf(batch...)) })
	})
}

func TestAStaleEventIsSkippedAndCounted(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		r.start(bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		v := r.now + 10
		newer, older, last := r.eventAt("x", v, 1), r.eventAt("x", v, 0), r.eventAt("x", v+1, 0)
		r.send(newer, older, last)
		r.eventually("the newest", func() bool { return slices.Equal(r.ids("c", ""), idsOf(newer, last)) })
		if n := r.count("SELECT CAST(sum(stale) AS BIGINT) FROM bus_reader"); n != 1 {
			t.Errorf("%d events are counted as stale, want 1", n)
		}
	})
}

func TestTwoEventsInOnePlaceAreAConflict(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		r.start(bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		v := r.now + 10
		first, second := r.eventAt("x", v, 0), r.eventAt("x", v, 0)
		r.send(first, second)
		r.eventually("a dead letter", func() bool {
			return r.count(
				"SELECT count(*) FROM bus_dead WHERE event_id = $1 AND reason_code = 'EVENT_CONFLICT' AND "+
					"status = 0",
				second.ID,
			) == 1
		})
		if got := r.ids("c", ""); !slices.Equal(got, idsOf(first)) {
			t.Errorf("effects are of %v, want the first", got)
		}
	})
}

func TestAFailingKeyWaitsAndTheOthersGoOn(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		r.start(bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		sick := []events.Event{r.event("sick"), r.event("sick"), r.event("sick")}
		c.fail(sick[0].Key, errSick)
		r.send(sick[0], r.event("a"), sick[1], r.event("b"), sick[2], r.event("c"))
		r.eventually("the other keys", func() bool { return len(r.ids("c", "")) == 3 })
		r.eventually("the sick key waits", func() bool { return r.count("SELECT count(*) FROM bus_parked") == 3 })
		if got := r.ids("c", sick[0].Key); len(got) > 0 {
			t.Fatalf("the sick key has effects: %v", got)
		}
		c.fail(sick[0].Key, nil)
		r.eventually("the key that is well again", func() bool {
			return slices.Equal(r.ids("c", sick[0].Key),
				idsOf(sick...))
		})
		r.eventually("no blocked key", func() bool { return r.count("SELECT count(*) FROM bus_lane") == 0 })
	})
}

func TestTriesGoOnAfterARestartAndEndAsADeadLetter(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		consumer := c.consumer("c")
		consumer.MaxTries = 4
		cfg := bus.Config{Consumers: []bus.Consumer{consumer}}
		stop := r.start(cfg)
		e := r.event("x")
		c.fail(e.Key, errSick)
		r.send(e)
		r.eventually("a first try",
			func() bool { return r.count("SELECT count(*) FROM bus_lane WHERE attempt >= 1") == 1 })
		stop()
		r.start(cfg)
		r.eventually("a dead letter", func() bool { return r.count("SELECT count(*) FROM bus_dead") == 1 })
		if n := r.count("SELECT attempts FROM bus_dead WHERE reason_class = 'infra' AND retry_advice = " +
			"'retry_with_backoff'"); n != 4 {
			t.Errorf("it has %d attempts, want 4", n)
		}
		if n := r.count("SELECT count(*) FROM bus_lane WHERE state = 1"); n != 1 {
			t.Errorf("%d keys are blocked, want 1", n)
		}
		if got := r.ids("c", ""); len(got) > 0 {
			t.Errorf("there are effects: %v", got)
		}
	})
}

func TestAPermanentErrorIsADeadLetterAtOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		r.start(bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		e := r.event("x")
		c.fail(e.Key, bus.Permanent(errSick))
		r.send(e, r.event("x"))
		r.eventually("a dead letter",
			func() bool { return r.count("SELECT count(*) FROM bus_dead WHERE attempts = 1") == 1 })
		if n := r.count("SELECT count(*) FROM bus_dead WHERE reason_class = 'validation' AND retry_advice = " +
			"'retry_after_fix'"); n != 1 {
			t.Error("the dead letter is classed as an outage that passes")
		}
		r.eventually("the event behind it", func() bool { return r.count("SELECT count(*) FROM bus_parked") == 1 })
	})
}

func TestAHandlerThatPanicsFails(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := bus.Consumer{Name: "c", MaxTries: 2, Handle: func(context.Context, *sqldb.Tx, *events.Event) error {
			panic("boo")
		}}
		r.start(bus.Config{Consumers: []bus.Consumer{c}})
		r.send(r.event("x"))
		r.eventually("a dead letter",
			func() bool { return r.count("SELECT count(*) FROM bus_dead WHERE error LIKE '%boo%'") == 1 })
	})
}

func TestAReaderThatWasAwayTooLongReadsTheOutbox(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		cfg := bus.Config{Consumers: []bus.Consumer{c.consumer("c")}}
		stop := r.start(cfg)
		first := r.event("x")
		r.send(first)
		r.eventually("the first", func() bool { return len(r.ids("c", "")) == 1 })
		stop()
		missed := []events.Event{r.event("x"), r.event("x"), r.event("x")}
		for _, e := range missed {
			r.exec(`INSERT INTO outbox_events (published_at, created_at, occurred_at, part, event_id, tenant_id,
				event_type, partition_key, service, body)
				VALUES ($1, $1, $1, $2, $3, $4, $5, $6, 'x', $7)`, int64(r.now)+1_000_000, events.Partition(e.Key),
				e.ID,
				e.Tenant, e.Type, e.Key, e.AppendJSON(nil))
		}
		r.send(missed...)
		r.carrier.Expire(events.Events, 4)
		r.start(cfg)
		r.eventually("all", func() bool {
			return slices.Equal(r.ids("c", ""),
				idsOf(append([]events.Event{first}, missed...)...))
		})
	})
}

func TestAReplayAppliesWhatWasNeverApplied(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		cfg := bus.Config{Consumers: []bus.Consumer{c.consumer("c")}}
		stop := r.start(cfg)
		seen, missed := r.event("seen"), r.event("missed")
		for events.Partition(missed.Key) != events.Partition(seen.Key) {
			missed = r.event("missed" + missed.ID)
		}
		r.send(seen)
		r.eventually("the first", func() bool { return len(r.ids("c", "")) == 1 })
		r.eventually(
			"the relays",
			func() bool { return r.count("SELECT count(*) FROM bus_relay") == events.Partitions },
		)
		stop()
		// published before the reader's place, say by a process that had no such consumer
		for _, e := range []events.Event{seen, missed} {
			r.exec(`INSERT INTO outbox_events (published_at, created_at, occurred_at, part, event_id, tenant_id,
				event_type, partition_key, service, body)
				VALUES ($7, 50, 50, $1, $2, $3, $4, $5, 'x', $6)`, events.Partition(e.Key),
				e.ID, e.Tenant, e.Type, e.Key,
				e.AppendJSON(nil), int64(r.now)-60_000)
		}
		r.exec(`INSERT INTO bus_replay (id, part, tenant_id, consumer, from_at, to_at, pos, status, applied,
			duplicate, stale, failed, created_by, created_at, ended_at)
			VALUES ('r', $1, $2, 'c', 0, 100, 0, 0, 0, 0, 0, 0, 'ann', 1, 0)`, events.Partition(seen.Key), tenantA)
		r.start(cfg)
		r.eventually("what was missed", func() bool { return same(r.ids("c", ""), idsOf(seen, missed)) })
		r.eventually("the end of the replay", func() bool {
			return r.count("SELECT count(*) FROM bus_replay WHERE status = 1 AND applied = 1 AND duplicate = 1 AND "+
				"ended_at > 0") == 1
		})
	})
}

func TestLevelsCountWhatWaitsAndWhatWasDone(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		cfg := bus.Config{
			Consumers: []bus.Consumer{c.consumer("c")}, Exclusive: r.db.Dialect() == sqldb.SQLite,
			Instance: "x",
		}
		r.start(cfg)
		dead, sick, good := r.event("dead"), r.event("sick"), r.event("good")
		c.fail(dead.Key, bus.Permanent(errSick))
		c.fail(sick.Key, errSick)
		r.send(dead, sick, good, good)
		b := bus.New(r.db, r.carrier, cfg)
		r.eventually("the levels", func() bool {
			levels, err := b.Levels(t.Context())
			r.must(err)
			if len(levels) != 1 {
				return false
			}
			levels[0].Failed = min(levels[0].Failed, 2) // tries go on
			return levels[0] == bus.Level{
				Consumer: "c", Retrying: 1, Blocked: 1, Dead: 1, Applied: 1, Duplicate: 1,
				Failed: 2,
			}
		})
	})
}

func TestAnErrorMayHoldAnything(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		r.start(bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		e := r.event("x")
		c.fail(e.Key, bus.Permanent(errors.New("a NUL \x00, no UTF-8 \xff and 日本語 ")))
		r.send(e)
		r.eventually("a dead letter", func() bool {
			return r.count("SELECT count(*) FROM bus_dead WHERE error = $1",
				"a NUL \uFFFD, no UTF-8 \uFFFD and 日本語 ") == 1
		})
	})
}

// TestEventsThatTakeLongAreCommittedInPortions has a batch that must be taken event by
// event, since every other one fails, and whose handler is slow.
func TestEventsThatTakeLongAreCommittedInPortions(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		batch := slices.DeleteFunc(r.events(200, 200), func(e events.Event) bool {
			return events.Partition(e.Key) != 0
		})[:20]
		var fine []events.Event
		for i, e := range batch { // whatever batches they come in
			if i%2 == 0 {
				c.fail(e.Key, bus.Permanent(errors.New("no")))
			} else {
				fine = append(fine, e)
			}
		}
		slow := c.consumer("c")
		handle := slow.Handle
		slow.Handle = func(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
			select {
			case <-time.After(25 * time.Millisecond): // it is as slow as that
			case <-ctx.Done():
			}
			return handle(ctx, tx, e)
		}
		var commits atomic.Int64
		b := bus.New(r.db, r.carrier, bus.Config{Instance: "p"})
		r.publishAll(b, batch...)
		r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{slow}, Passed: func(point string) {
			if point == "reader.before-commit" {
				commits.Add(1)
			}
		}})
		r.took("c", fine)
		if n := commits.Load(); n < 15 {
			t.Errorf("%d events that took 25ms each were committed in %d transactions", len(batch), n)
		}
	})
}
