package bus_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
)

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
			ID: moved.ID, Tenant: tenantB, Part: events.Partition(moved.Key), Type: moved.Type,
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
	for name, change := range map[string]func(e *events.Event, m *bus.Message){
		"its payload":          func(*events.Event, *bus.Message) {},
		"no key in a header":   func(_ *events.Event, m *bus.Message) { m.Key = "" },
		"a version to come":    func(e *events.Event, _ *bus.Message) { e.Version += 1_000_000_000 },
		"an odd schema number": func(e *events.Event, _ *bus.Message) { e.SchemaVersion = 9 },
	} {
		t.Run(name, func(t *testing.T) {
			onEvery(t, func(t *testing.T, r *rig) {
				c := newCrew()
				cfg := bus.Config{Consumers: []bus.Consumer{c.consumer("c")}}
				stop := r.start(cfg)
				broken, next, other := r.event("x"), r.event("x"), r.event("y")
				broken.Payload = []byte(`{"objectName":7}`)
				m := bus.Message{
					ID: broken.ID, Tenant: tenantA, Part: events.Partition(broken.Key), Type: broken.Type,
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
		var good []events.Event
		var odd []string
		for part := range events.Partitions {
			for range 2 {
				id := uuid.NewString()
				r.sendMessage(bus.Message{
					ID: id, Tenant: tenantA, Part: part, Type: "RecordDeleted", Key: "one key",
					Body: []byte("{not json"),
				})
				odd = append(odd, id)
			}
			for i := 0; len(good) == part; i++ {
				if e := r.event(fmt.Sprint("good ", i)); events.Partition(e.Key) == part {
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
			r.carrier.EndDedupeWindow(events.Events) // that it had it
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
		all := []events.Event{r.event("x"), r.event("x"), r.event("x")}
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
		all := []events.Event{r.event("x"), r.event("x"), r.event("x")}
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
		for events.Partition(poison.Key) != events.Partition(first.Key) || poison.Key == first.Key {
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
		status := func(e events.Event) string {
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
