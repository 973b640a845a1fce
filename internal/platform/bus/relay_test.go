package bus_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/tier"
)

func TestWhatIsCommittedIsPublishedInOrderOfItsKey(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		all := r.events(700, 9)
		r.publishAll(r.asleep(), all[:300]...) // nobody runs
		b, _ := r.launch(r.carrier, bus.Config{})
		r.publishAll(b, all[300:600]...)
		r.publish(b, all[600:]...)
		r.published()
		msgs := messages(t, r.carrier, events.Events)
		inOrder(t, msgs, all)
		if len(msgs) != len(all) {
			t.Errorf("the stream has %d messages, want %d", len(msgs), len(all))
		}
		for i, m := range msgs {
			e, err := events.ParseEvent(m.Body)
			if err != nil || e.ID != m.ID || e.Type != m.Type || e.Tenant != m.Tenant || e.Key != m.Key ||
				m.Part != events.Partition(e.Key) {
				t.Fatalf("message %d is %+v of %+v (%v)", i, m, e, err)
			}
			if at := r.count("SELECT published_at FROM outbox_events WHERE id = $1 AND event_id = $2", m.Relay.Source,
				m.ID); at != int(m.Relay.At) {
				t.Fatalf("message %d was sent at %d, its row says %d", i, m.Relay.At, at)
			}
		}
	})
}

// TestEventsThatAreNotInTheRecentRowsAreNotOvertaken has two publish in turn for the same
// keys, of which one is not in the process of the relays.
func TestEventsThatAreNotInTheRecentRowsAreNotOvertaken(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		all, other := r.events(300, 5), r.asleep()
		b, _ := r.launch(r.carrier, bus.Config{})
		for i, e := range all {
			if i%7 == 3 {
				r.publish(other, e)
			} else {
				r.publish(b, e)
			}
		}
		b.Wake()
		r.published()
		msgs := messages(t, r.carrier, events.Events)
		inOrder(t, msgs, all)
		if len(msgs) != len(all) {
			t.Errorf("the stream has %d messages, want %d", len(msgs), len(all))
		}
	})
}

// TestRecentRowsAreNotReadFromTheTable publishes one event after the other on SQLite.
func TestRecentRowsAreNotReadFromTheTable(t *testing.T) {
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	b, _ := r.launch(r.carrier, bus.Config{})
	all := r.events(200, 5)
	before := r.db.Stats().Reads
	for i, e := range all {
		r.publish(b, e)
		r.eventually("the stream has the event", func() bool {
			info, err := r.carrier.Ensure(t.Context(), events.Events)
			return err == nil && info.Last == uint64(i+1)
		})
	}
	if n := r.db.Stats().Reads - before; n > uint64(len(all)/2) {
		t.Errorf("%d reads for %d events, want few", n, len(all))
	}
	inOrder(t, messages(t, r.carrier, events.Events), all)
}

// TestACrashBetweenPublishingAndNotingRepeatsAndLosesNothing takes the lease away when
// everything is published and nothing noted, as the end of a process does. With a
// stream that remembers what it got, and with one that does not.
func TestACrashBetweenPublishingAndNotingRepeatsAndLosesNothing(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for _, forgets := range []bool{false, true} {
			r.carrier = memory.New()
			r.exec("DELETE FROM bus_relay")
			r.exec("DELETE FROM bus_trail")
			r.exec("DELETE FROM outbox_events")
			var crashes atomic.Int32
			all := r.events(60, 7)
			r.publishAll(r.asleep(), all...)
			_, stop := r.launch(r.carrier, bus.Config{Lease: time.Second, Passed: func(point string) {
				if point == "relay.before-mark" && crashes.Add(1) <= 8 {
					r.exec("UPDATE bus_lease SET epoch = epoch + 1 WHERE name = 'relay:outbox'")
					if forgets {
						r.carrier.EndDedupeWindow(events.Events)
					}
				}
			}})
			r.published()
			stop()
			msgs := messages(t, r.carrier, events.Events)
			inOrder(t, msgs, all)
			if again := len(msgs) > len(all); again != forgets {
				t.Errorf("the stream has %d messages of %d events", len(msgs), len(all))
			}
		}
	})
}

func TestAMarkOfAProcessThatLostItsLeaseDoesNotCount(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		var h hook
		refused := make(chan int, 1)
		h.on("relay.before-mark", func() {
			r.exec("UPDATE bus_lease SET epoch = epoch + 1, holder = 'other', until = $1 WHERE name = 'relay:outbox'",
				int64(r.now)+3_600_000)
		})
		h.on("relay.marked", func() { t.Error("it was marked") })
		e := r.event("x")
		r.publish(r.asleep(), e)
		_, stop := r.launch(r.carrier, bus.Config{Passed: h.passed, Logger: logTo(func(line string) {
			select {
			case refused <- 0:
			default:
			}
		})})
		within(t, "the end of the lease", refused)
		stop()
		if n := r.count("SELECT count(*) FROM outbox_events WHERE published_at IS NULL"); n != 1 {
			t.Errorf("%d events are unpublished, want 1", n)
		}
	})
}

// TestOrderOfKeysSurvivesFailingPublishes lets publishes fail at random: refused,
// stored without an answer, everything away, with and without a memory for
// repetitions.
func TestOrderOfKeysSurvivesFailingPublishes(t *testing.T) {
	tier.System(t)
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	rapid.Check(t, func(rt *rapid.T) {
		r.exec("DELETE FROM bus_relay")
		r.exec("DELETE FROM bus_trail")
		r.exec("DELETE FROM outbox_events")
		r.carrier = memory.New()
		n, keys := rapid.IntRange(1, 60).Draw(rt, "events"), rapid.IntRange(1, 6).Draw(rt, "keys")
		fates := rapid.SliceOfN(rapid.SampledFrom([]memory.Fate{
			memory.Stored, memory.Stored, memory.Refused,
			memory.Doubted,
		}), 0, 40).Draw(rt, "fates")
		forgets := rapid.Bool().Draw(rt, "forgets")
		var mu sync.Mutex
		r.carrier.Fate = func(*bus.Message) memory.Fate {
			mu.Lock()
			defer mu.Unlock()
			if len(fates) == 0 {
				return memory.Stored
			}
			f := fates[0]
			fates = fates[1:]
			if forgets && f != memory.Stored {
				r.carrier.EndDedupeWindow(events.Events)
			}
			return f
		}
		all := r.events(n, keys)
		cut := rapid.IntRange(0, n).Draw(rt, "before")
		r.publishAll(r.asleep(), all[:cut]...)
		b, stop := r.launch(r.carrier, bus.Config{})
		defer stop()
		r.publish(b, all[cut:]...)
		r.published()
		inOrder(t, messages(t, r.carrier, events.Events), all)
	})
}

func TestAKeyThatTheCarrierRefusesWaitsAloneAndIsTriedAgain(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		picky := &pickyCarrier{Carrier: r.carrier}
		sick, well := r.event("sick"), r.event("well")
		for events.Partition(well.Key) != events.Partition(sick.Key) {
			well = r.event("well" + well.ID)
		}
		picky.refuse.Store(&sick.Key)
		said := make(chan string, 100)
		b, _ := r.launch(picky, bus.Config{Logger: logTo(func(line string) { said <- line })})
		r.publishAll(b, sick, well)
		within(t, "a line in the log", said)
		r.eventually("the other key",
			func() bool { return r.count("SELECT count(*) FROM outbox_events WHERE published_at IS NULL") == 1 })
		picky.refuse.Store(nil)
		r.published()
		inOrder(t, messages(t, r.carrier, events.Events), []events.Event{sick, well})
	})
}

// pickyCarrier does not take the messages of one key.
type pickyCarrier struct {
	*memory.Carrier
	refuse atomic.Pointer[string]
}

func (c *pickyCarrier) Publish(ctx context.Context, msgs []bus.Message) []bus.Ack {
	acks := make([]bus.Ack, len(msgs))
	for i := range msgs {
		if key := c.refuse.Load(); key != nil && msgs[i].Key == *key {
			acks[i].Err = fault.New(fault.TooLarge, events.CodeEventTooLarge, "it is too large")
			continue
		}
		acks[i] = c.Carrier.Publish(ctx, msgs[i:i+1])[0]
	}
	return acks
}

func TestAnOutageIsLoggedOnceAndEnds(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		var lines []string
		away := make(chan struct{}, 100)
		b, stop := r.launch(r.carrier, bus.Config{Logger: logFrom(slog.LevelInfo, func(line string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, line)
			away <- struct{}{}
		})})
		first, second := r.event("x"), r.event("x")
		r.publish(b, first)
		r.published()
		r.carrier.Leave()
		r.publish(b, second)
		within(t, "a line in the log", away)
		r.carrier.Return()
		r.published()
		stop()
		inOrder(t, messages(t, r.carrier, events.Events), []events.Event{first, second})
		slices.Sort(lines)
		if got := slices.Compact(slices.Clone(lines)); len(got) > 2 {
			t.Errorf("the log says %q, want that it began and that it ended", lines)
		}
		if len(lines) > 2*events.Partitions {
			t.Errorf("the log has %d lines", len(lines))
		}
	})
}

// TestATransactionThatBeganFirstAndCommitsLastIsNotSkipped takes ids in one order and
// commits in the other, again and again.
func TestATransactionThatBeganFirstAndCommitsLastIsNotSkipped(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	b, _ := r.launch(r.carrier, bus.Config{})
	times := count(100, 1000)
	var all []events.Event
	for range times {
		slow, fast := []events.Event{
			r.event("slow"),
			r.event("slow"),
		}, []events.Event{
			r.event("fast"),
			r.event("other"),
		}
		written, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			done <- r.db.Write(t.Context(), sqldb.Engine, func(ctx context.Context, tx *sqldb.Tx) error {
				if err := b.Publish(ctx, tx, slow...); err != nil {
					return err
				}
				close(written)
				<-release
				return nil
			})
		}()
		within(t, "the slow transaction has written", written)
		r.publish(b, fast...)
		r.eventually("the later ids", func() bool {
			return r.count("SELECT count(*) FROM outbox_events WHERE published_at IS NULL") == 0
		})
		close(release)
		r.must(<-done)
		all = append(append(all, slow...), fast...)
	}
	r.published()
	inOrder(t, messages(t, r.carrier, events.Events), all)
}

// TestTwoProcessesShareTheRelays stops one of two processes again and again while both
// publish.
func TestTwoProcessesShareTheRelays(t *testing.T) {
	tier.System(t)
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	c := newCrew()
	cfg := func(name string) bus.Config {
		return bus.Config{Instance: name, Consumers: []bus.Consumer{c.consumer("c")}}
	}
	one, _ := r.launch(r.carrier, cfg("one"))
	var all []events.Event
	for range 3 {
		two, stop := r.launch(r.carrier, cfg("two"))
		r.eventually("both have assignments", func() bool {
			return r.count("SELECT count(DISTINCT holder) FROM bus_lease WHERE name NOT LIKE 'process:%' AND holder "+
				"<> ''") == 2
		})
		more := r.events(120, 11)
		for i, e := range more {
			r.publish([]*bus.Bus{one, two}[i%2], e)
			if i == 60 {
				stop()
			}
		}
		all = append(all, more...)
		r.published()
	}
	inOrder(t, messages(t, r.carrier, events.Events), all)
	r.took("c", all)
}

func TestTheStatusOfTheOutboxSaysWhatWaits(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		b := r.asleep()
		all := r.events(20, 5)
		r.publishAll(b, all...)
		s, err := b.Outbox(t.Context())
		r.must(err)
		if s.Unpublished != 20 || len(s.Parts) != events.Partitions {
			t.Errorf("got %+v", s)
		}
		r.launch(r.carrier, bus.Config{})
		r.published()
		r.eventually("also relays that have nothing to publish", func() bool {
			return r.count("SELECT count(*) FROM bus_relay WHERE source = 'outbox'") == events.Partitions
		})
		s, err = b.Outbox(t.Context())
		r.must(err)
		var last uint64
		for _, p := range s.Parts {
			last = max(last, p.LastSeq)
			if p.Unpublished != 0 || p.Oldest != 0 || p.Epoch != 1 || p.Replay != nil {
				t.Errorf("got %+v", p)
			}
		}
		if s.Unpublished != 0 || last != 20 {
			t.Errorf("got %+v, want nothing that waits and 20 messages", s)
		}
	})
}
