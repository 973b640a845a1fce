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
	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

var errSick = errors.New("the service is not well")

// ids of events.
func idsOf(events ...wire.Event) (ids []string) {
	for _, e := range events {
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
		var all []wire.Event
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
		consumer.HandleAll = func(ctx context.Context, tx *sqldb.Tx, events []*wire.Event) error {
			for _, e := range events {
				if err := consumer.Handle(ctx, tx, e); err != nil {
					return err
				}
			}
			tx.OnCommit(func() { together.Add(int64(len(events))) })
			return nil
		}
		bad := r.event("bad")
		c.fail(bad.Key, errors.New("not this one"))
		all, byKey := []wire.Event{}, map[string][]string{}
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
		events := []wire.Event{r.eventAt("x", v, 0), r.eventAt("x", v, 1), r.eventAt("x", v, 2)}
		r.send(events...)
		r.eventually("three effects", func() bool { return slices.Equal(r.ids("c", ""), idsOf(events...)) })
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
			return r.count("SELECT count(*) FROM bus_dead WHERE event_id = $1 AND reason_code = 'EVENT_CONFLICT' AND "+
				"status = 0", second.ID) == 1
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
		sick := []wire.Event{r.event("sick"), r.event("sick"), r.event("sick")}
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
		c := bus.Consumer{Name: "c", MaxTries: 2, Handle: func(context.Context, *sqldb.Tx, *wire.Event) error {
			panic("boo")
		}}
		r.start(bus.Config{Consumers: []bus.Consumer{c}})
		r.send(r.event("x"))
		r.eventually("a dead letter",
			func() bool { return r.count("SELECT count(*) FROM bus_dead WHERE error LIKE '%boo%'") == 1 })
	})
}

func TestWhatNobodyCanReadIsADeadLetter(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		r.start(bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		good := r.event("good")
		unknown, invalid := r.event("unknown"), r.event("invalid")
		unknown.Type = "SomethingElse"
		invalid.Payload = []byte(`{"objectName":7}`)
		r.send(unknown, invalid, good)
		r.sendMessage(bus.Message{
			ID: "odd", Tenant: tenantA, Part: 1, Type: "RecordDeleted",
			Body: []byte("{not json"),
		})
		r.sendMessage(bus.Message{
			ID: "odd", Tenant: tenantA, Part: 1, Type: "RecordDeleted",
			Body: []byte("{not json"),
		})
		moved := r.event("moved") // it says that it is of another tenant than its subject
		r.sendMessage(bus.Message{
			ID: moved.ID, Tenant: tenantB, Part: wire.Partition(moved.Key), Type: moved.Type,
			Key: moved.Key, Body: moved.AppendJSON(nil),
		})
		r.eventually("four dead letters", func() bool { return r.count("SELECT count(*) FROM bus_dead") >= 4 })
		r.eventually("the good one", func() bool { return slices.Equal(r.ids("c", ""), idsOf(good)) })
		for _, want := range []struct{ id, code string }{
			{unknown.ID, "EVENT_TYPE_UNKNOWN"},
			{invalid.ID, "EVENT_INVALID"},
			{moved.ID, "EVENT_INVALID"},
		} {
			if n := r.count("SELECT count(*) FROM bus_dead WHERE event_id = $1 AND reason_code = $2 AND reason_class "+
				"= 'validation'", want.id, want.code); n != 1 {
				t.Errorf("%d dead letters are of %s with code %s, want 1", n, want.id, want.code)
			}
		}
	})
}

// TestADeadLetterThatBreaksItsSchemaBlocksItsKey sends events that no consumer can read, also as a
// foreign publisher does, without the key among the headers, and with a version of its own
// making. What comes after waits for a decision, and is taken after it.
func TestADeadLetterThatBreaksItsSchemaBlocksItsKey(t *testing.T) {
	for name, change := range map[string]func(e *wire.Event, m *bus.Message){
		"its payload":          func(*wire.Event, *bus.Message) {},
		"no key in a header":   func(_ *wire.Event, m *bus.Message) { m.Key = "" },
		"a version to come":    func(e *wire.Event, _ *bus.Message) { e.Version += 1_000_000_000 },
		"an odd schema number": func(e *wire.Event, _ *bus.Message) { e.SchemaVersion = 9 },
	} {
		t.Run(name, func(t *testing.T) {
			onEvery(t, func(t *testing.T, r *rig) {
				c := newCrew()
				cfg := bus.Config{Consumers: []bus.Consumer{c.consumer("c")}}
				stop := r.start(cfg)
				broken, next, other := r.event("x"), r.event("x"), r.event("y")
				broken.Payload = []byte(`{"objectName":7}`)
				m := bus.Message{
					ID: broken.ID, Tenant: tenantA, Part: wire.Partition(broken.Key), Type: broken.Type,
					Key: broken.Key,
				}
				change(&broken, &m)
				m.Body = broken.AppendJSON(nil)
				r.sendMessage(m)
				r.send(next, other, next) // it is delivered twice
				r.eventually("the event of another key", func() bool {
					return slices.Equal(r.ids("c", other.Key),
						idsOf(other))
				})
				r.eventually("the event of its key waits",
					func() bool { return r.count("SELECT count(*) FROM bus_parked WHERE event_id = $1", next.ID) == 1 })
				if got := r.ids("c", next.Key); len(got) > 0 {
					t.Fatalf("%v was taken past a dead letter of its key", got)
				}
				r.decide(broken.ID, 2)
				stop()
				r.start(cfg)
				r.eventually("the event of its key", func() bool {
					return slices.Equal(r.ids("c", next.Key),
						idsOf(next))
				})
			})
		})
	}
}

// Messages that nobody can read may name any key, also one key in two partitions. The
// readers of these must not meet at its key.
func TestWhatNobodyCanReadHoldsUpNoOtherPartition(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		cfg := bus.Config{Consumers: []bus.Consumer{c.consumer("c")}}
		stop := r.start(cfg)
		var good []wire.Event
		var odd []string
		for part := range wire.Partitions {
			for range 2 {
				id := uuid.NewString()
				r.sendMessage(bus.Message{
					ID: id, Tenant: tenantA, Part: part, Type: "RecordDeleted", Key: "one key",
					Body: []byte("{not json"),
				})
				odd = append(odd, id)
			}
			for i := 0; len(good) == part; i++ {
				if e := r.event(fmt.Sprint("good ", i)); wire.Partition(e.Key) == part {
					good = append(good, e)
					r.send(e)
				}
			}
		}
		r.eventually("the good ones", func() bool { return len(r.ids("c", "")) == len(good) })
		waiting := "SELECT count(*) FROM bus_parked WHERE event_id = $1"
		for _, id := range odd {
			r.eventually("a dead letter, or one that waits behind it", func() bool {
				return r.count("SELECT count(*) FROM bus_dead WHERE status = 0 AND event_id = $1", id)+r.count(waiting,
					id) == 1
			})
		}
		for _, id := range odd {
			if r.count(waiting, id) == 0 {
				r.decide(id, 1)
			}
		}
		stop()
		r.start(cfg)
		r.eventually("they die again",
			func() bool { return r.count("SELECT count(*) FROM bus_dead WHERE status = 0 AND attempts = 2") == 7 })
	})
}

func TestAConsumerMayContinueAfterADeadLetter(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		consumer := c.consumer("c")
		consumer.Continue = true
		cfg := bus.Config{Consumers: []bus.Consumer{consumer}}
		stop := r.start(cfg)
		first, second := r.event("x"), r.event("x")
		c.fail(first.Key, bus.Permanent(errSick))
		r.send(first)
		r.eventually("a dead letter", func() bool { return r.count("SELECT count(*) FROM bus_dead") == 1 })
		c.fail(first.Key, nil)
		r.send(second)
		r.eventually("the event behind", func() bool { return slices.Equal(r.ids("c", ""), idsOf(second)) })
		r.decide(first.ID, 1)
		stop()
		r.start(cfg)
		r.eventually("the letter is stale now",
			func() bool { return r.count("SELECT count(*) FROM bus_dead WHERE status = 5 AND ended_at > 0") == 1 })
	})
}

// A stream may bring an event again that died, when its consumer could take it by now.
// The letter is open, so nobody takes it but by a decision.
func TestARedeliveredDeadLetterIsLeftToADecision(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		consumer := c.consumer("c")
		consumer.Continue = true
		cfg := bus.Config{Consumers: []bus.Consumer{consumer}}
		stop := r.start(cfg)
		dead := r.event("x")
		c.fail(dead.Key, bus.Permanent(errSick))
		r.send(dead)
		r.eventually("a dead letter",
			func() bool { return r.count("SELECT count(*) FROM bus_dead WHERE status = 0") == 1 })
		c.fail(dead.Key, nil)
		again := func(times int) {
			t.Helper()
			r.carrier.EndDedupeWindow(wire.Events) // that it had it
			r.send(dead)
			r.eventually("it came again",
				func() bool { return r.count("SELECT sum(duplicate) FROM bus_reader") == times })
			if got := r.ids("c", ""); len(got) > 0 {
				t.Errorf("it was taken: %v", got)
			}
		}
		again(1)
		stop()
		stop = r.start(cfg)
		again(2)
		r.decide(dead.ID, 1)
		stop()
		r.start(cfg)
		r.eventually("the letter is applied",
			func() bool { return r.count("SELECT count(*) FROM bus_dead WHERE status = 3") == 1 })
		if got := r.ids("c", ""); !slices.Equal(got, idsOf(dead)) {
			t.Errorf("taken: %v", got)
		}
	})
}

// decide writes a decision about a dead letter: 1 redrive, 2 skip.
func (r *rig) decide(event string, status int) {
	r.Helper()
	if n := r.exec("UPDATE bus_dead SET status = $2, decided_by = 'ann', reason = 'test' WHERE event_id = $1 AND "+
		"status = 0", event, status); n != 1 {
		r.Fatalf("%d letters could be decided about, want 1", n)
	}
}

func TestARedriveAppliesTheDeadLetterAndTheEventsParkedAfterIt(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		cfg := bus.Config{Consumers: []bus.Consumer{c.consumer("c")}}
		stop := r.start(cfg)
		all := []wire.Event{r.event("x"), r.event("x"), r.event("x")}
		c.fail(all[0].Key, bus.Permanent(errSick))
		r.send(all...)
		r.eventually("one letter and two behind", func() bool {
			return r.count("SELECT count(*) FROM bus_dead") == 1 && r.count("SELECT count(*) FROM bus_parked") == 2
		})
		r.decide(all[0].ID, 1) // while it still fails
		stop()
		stop = r.start(cfg)
		r.eventually("the letter is open again",
			func() bool { return r.count("SELECT count(*) FROM bus_dead WHERE status = 0 AND attempts = 2") == 1 })
		c.fail(all[0].Key, nil)
		r.decide(all[0].ID, 1)
		stop()
		r.start(cfg)
		r.eventually("all three", func() bool { return slices.Equal(r.ids("c", ""), idsOf(all...)) })
		if n := r.count("SELECT count(*) FROM bus_dead WHERE status = 3"); n != 1 {
			t.Errorf("%d letters are applied, want 1", n)
		}
	})
}

func TestASkipEndsTheDeadLetterAlone(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		cfg := bus.Config{Consumers: []bus.Consumer{c.consumer("c")}}
		stop := r.start(cfg)
		all := []wire.Event{r.event("x"), r.event("x"), r.event("x")}
		c.fail(all[0].Key, bus.Permanent(errSick))
		r.send(all...)
		r.eventually("one letter and two behind", func() bool {
			return r.count("SELECT count(*) FROM bus_dead") == 1 && r.count("SELECT count(*) FROM bus_parked") == 2
		})
		c.fail(all[0].Key, nil)
		r.decide(all[0].ID, 2)
		stop()
		r.start(cfg)
		r.eventually("the two behind", func() bool { return slices.Equal(r.ids("c", ""), idsOf(all[1:]...)) })
		r.send(all[0]) // it comes again
		last := r.event("x")
		r.send(last)
		r.eventually("the last", func() bool { return slices.Contains(r.ids("c", ""), last.ID) })
		if got := r.ids("c", ""); slices.Contains(got, all[0].ID) {
			t.Errorf("what was skipped was applied: %v", got)
		}
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
		missed := []wire.Event{r.event("x"), r.event("x"), r.event("x")}
		for _, e := range missed {
			r.exec(`INSERT INTO outbox_events (published_at, created_at, occurred_at, part, event_id, tenant_id,
				event_type, partition_key, service, body)
				VALUES ($1, $1, $1, $2, $3, $4, $5, $6, 'x', $7)`, int64(r.now)+1_000_000, wire.Partition(e.Key), e.ID,
				e.Tenant, e.Type, e.Key, e.AppendJSON(nil))
		}
		r.send(missed...)
		r.carrier.Expire(wire.Events, 4)
		r.start(cfg)
		r.eventually("all", func() bool {
			return slices.Equal(r.ids("c", ""),
				idsOf(append([]wire.Event{first}, missed...)...))
		})
	})
}

func TestAReplayAppliesWhatWasNeverApplied(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		cfg := bus.Config{Consumers: []bus.Consumer{c.consumer("c")}}
		stop := r.start(cfg)
		seen, missed := r.event("seen"), r.event("missed")
		for wire.Partition(missed.Key) != wire.Partition(seen.Key) {
			missed = r.event("missed" + missed.ID)
		}
		r.send(seen)
		r.eventually("the first", func() bool { return len(r.ids("c", "")) == 1 })
		r.eventually("the relays", func() bool { return r.count("SELECT count(*) FROM bus_relay") == wire.Partitions })
		stop()
		// published before the reader's place, say by a process that had no such consumer
		for _, e := range []wire.Event{seen, missed} {
			r.exec(`INSERT INTO outbox_events (published_at, created_at, occurred_at, part, event_id, tenant_id,
				event_type, partition_key, service, body)
				VALUES ($7, 50, 50, $1, $2, $3, $4, $5, 'x', $6)`, wire.Partition(e.Key), e.ID, e.Tenant, e.Type, e.Key,
				e.AppendJSON(nil), int64(r.now)-60_000)
		}
		r.exec(`INSERT INTO bus_replay (id, part, tenant_id, consumer, from_at, to_at, pos, status, applied,
			duplicate, stale, failed, created_by, created_at, ended_at)
			VALUES ('r', $1, $2, 'c', 0, 100, 0, 0, 0, 0, 0, 0, 'ann', 1, 0)`, wire.Partition(seen.Key), tenantA)
		r.start(cfg)
		r.eventually("what was missed", func() bool { return same(r.ids("c", ""), idsOf(seen, missed)) })
		r.eventually("the end of the replay", func() bool {
			return r.count("SELECT count(*) FROM bus_replay WHERE status = 1 AND applied = 1 AND duplicate = 1 AND "+
				"ended_at > 0") == 1
		})
	})
}

func TestADeadLetterThatRanOutOfTriesIsRedrivenAutomatically(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		consumer := c.consumer("c")
		consumer.MaxTries, consumer.AutoRedrive = 1, 1
		r.start(bus.Config{Consumers: []bus.Consumer{consumer}})
		e := r.event("x")
		c.fail(e.Key, errSick)
		r.send(e)
		r.eventually("a dead letter", func() bool { return r.count("SELECT count(*) FROM bus_dead") == 1 })
		c.fail(e.Key, nil)
		r.eventually("the event", func() bool {
			return slices.Equal(r.ids("c", ""), idsOf(e)) ||
				r.count("SELECT count(*) FROM bus_dead WHERE status = 0 AND attempts = 2") == 1
		})
		if n := r.count("SELECT count(*) FROM audit_log WHERE action = 'dlq.redrive' AND actor = $1",
			bus.Automatic); n != 1 {
			t.Errorf("%d decisions are in the audit log, want 1", n)
		}
	})
}

// Letters of one key that are due together go in turn, as decisions about them would have
// to, and one behind a letter that somebody must decide about waits for that.
func TestDeadLettersOfOneKeyAreRedrivenAutomaticallyInTurn(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		consumer := c.consumer("c")
		consumer.MaxTries, consumer.AutoRedrive, consumer.Continue = 1, time.Hour, true
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{consumer}})
		poison, first, second := r.event("y"), r.event("x"), r.event("x")
		for wire.Partition(poison.Key) != wire.Partition(first.Key) || poison.Key == first.Key {
			poison = r.event("y" + poison.ID)
		}
		behind := r.eventAt("y", r.now, 0)
		behind.Key, behind.Payload = poison.Key, poison.Payload
		behind.Version, behind.Index = poison.Version, 1
		c.fail(first.Key, errSick)
		c.fail(poison.Key, bus.Permanent(errSick))
		r.send(poison)
		r.eventually("one that somebody must decide about",
			func() bool { return r.count("SELECT count(*) FROM bus_dead WHERE redrive_at = 0") == 1 })
		c.fail(poison.Key, errSick)
		r.send(first, second, behind)
		r.eventually("those that need nobody",
			func() bool { return r.count("SELECT count(*) FROM bus_dead WHERE redrive_at > 0") == 3 })
		c.fail(first.Key, nil)
		c.fail(poison.Key, nil)
		due := func() { r.exec("UPDATE bus_dead SET redrive_at = 1 WHERE status = 0 AND redrive_at > 0") }
		status := func(e wire.Event) string {
			page, _, err := b.DeadLetters(t.Context(), tenantA, bus.DeadFilter{
				Key:    e.Key,
				Status: []bus.Status{bus.Open, bus.Redriving, bus.Applied, bus.Stale},
			}, 0, 10)
			r.must(err)
			i := slices.IndexFunc(page, func(l bus.DeadLetter) bool { return l.EventID == e.ID })
			return page[i].Status.String()
		}
		due()
		r.eventually("the first", func() bool { return status(first) == "APPLIED" })
		if got := status(second); got != "OPEN" {
			t.Errorf("the second is %s beside the first", got)
		}
		due()
		r.eventually("the second", func() bool { return status(second) == "APPLIED" })
		if got := r.ids("c", first.Key); !slices.Equal(got, idsOf(first, second)) {
			t.Errorf("effects of %v", got)
		}
		if got := status(behind); got != "OPEN" {
			t.Errorf("the one behind a decision is %s", got)
		}
		if n := r.count("SELECT count(*) FROM audit_log WHERE outcome = 'accepted' AND detail LIKE " +
			"'%\"consumer\":\"c\"%'"); n != 2 || len(r.audited(tenantA)) != 2 {
			t.Errorf("the audit log has %q, want the two", r.audited(tenantA))
		}
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
		events := slices.DeleteFunc(r.events(200, 200), func(e wire.Event) bool {
			return wire.Partition(e.Key) != 0
		})[:20]
		var fine []wire.Event
		for i, e := range events { // whatever batches they come in
			if i%2 == 0 {
				c.fail(e.Key, bus.Permanent(errors.New("no")))
			} else {
				fine = append(fine, e)
			}
		}
		slow := c.consumer("c")
		handle := slow.Handle
		slow.Handle = func(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
			select {
			case <-time.After(25 * time.Millisecond): // it is as slow as that
			case <-ctx.Done():
			}
			return handle(ctx, tx, e)
		}
		var commits atomic.Int64
		b := bus.New(r.db, r.carrier, bus.Config{Instance: "p"})
		r.publishAll(b, events...)
		r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{slow}, Passed: func(point string) {
			if point == "reader.before-commit" {
				commits.Add(1)
			}
		}})
		r.took("c", fine)
		if n := commits.Load(); n < 15 {
			t.Errorf("%d events that took 25ms each were committed in %d transactions", len(events), n)
		}
	})
}
