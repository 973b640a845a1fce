package bus_test

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/test/tier"
)

// steady is a carrier whose connection never breaks, whatever becomes of its streams:
// one to another server of a cluster.
type steady struct{ *memory.Carrier }

func (steady) Connections() uint64 { return 1 }

// losses are the ways in which a stream loses something.
var losses = []struct {
	name    string
	carrier func(*memory.Carrier) bus.Carrier
	lose    func(t *testing.T, c *memory.Carrier)
}{
	{"deleted", plain, func(_ *testing.T, c *memory.Carrier) { c.Lose(events.Events) }},
	{"deleted and made by somebody else", plain, func(t *testing.T, c *memory.Carrier) {
		c.Lose(events.Events)
		if _, err := c.Ensure(t.Context(), events.Events); err != nil {
			t.Fatal(err)
		}
	}},
	{"truncated", plain, func(_ *testing.T, c *memory.Carrier) { c.Truncate(events.Events, 25) }},
	{"truncated to nothing", plain, func(_ *testing.T, c *memory.Carrier) { c.Truncate(events.Events, 1_000_000) }},
	{
		"truncated without a new connection", func(c *memory.Carrier) bus.Carrier { return steady{c} },
		func(_ *testing.T, c *memory.Carrier) { c.Truncate(events.Events, 25) },
	},
}

func plain(c *memory.Carrier) bus.Carrier { return c }

// TestWhatAStreamLosesIsPublishedAgain loses a part of the stream while one consumer
// has seen all of it and another is behind, and while events come.
func TestWhatAStreamLosesIsPublishedAgain(t *testing.T) {
	tier.System(t)
	onEvery(t, func(t *testing.T, r *rig) {
		for _, tt := range losses {
			t.Run(tt.name, func(t *testing.T) {
				r := r.again(t)
				carrier := &heldCarrier{Carrier: tt.carrier(r.carrier)}
				c := newCrew()
				slow := c.consumer("slow")
				slow.Types = someTypes
				b, _ := r.launch(carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("quick"), slow}})
				all := r.events(100, 9)
				r.publishAll(b, all[:50]...)
				r.took("slow", all[:50])
				carrier.close()
				r.publishAll(b, all[50:]...)
				r.took("quick", all)
				r.published()
				tt.lose(t, r.carrier)
				carrier.open()
				more := r.events(40, 9)
				r.publish(b, more...)
				all = append(all, more...)
				r.took("quick", all)
				r.took("slow", all)
				r.published()
				inOrderAtLast(t, messages(t, r.carrier, events.Events), all)
			})
		}
	})
}

// TestALossIsFoundAlsoWhenNothingIsPublished waits for what the relays do by themselves.
func TestALossIsFoundAlsoWhenNothingIsPublished(t *testing.T) {
	tier.System(t)
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	b, _ := r.launch(r.carrier, bus.Config{})
	all := r.events(30, 9)
	r.publishAll(b, all...)
	r.published()
	r.carrier.Lose(events.Events)
	r.eventually("the loss is found",
		func() bool { return r.count("SELECT count(*) FROM bus_relay WHERE epoch > 1") == events.Partitions })
	r.published()
	inOrderAtLast(t, messages(t, r.carrier, events.Events), all)
}

// TestAReplayGoesOnWhereItsRelayDied takes the lease away at pages of a replay, and
// loses the stream once more.
func TestAReplayGoesOnWhereItsRelayDied(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		all := r.events(3000, 40)
		var mu sync.Mutex
		crash := map[string]int{}
		passed := func(point string) {
			mu.Lock()
			crash[point]--
			left := crash[point]
			mu.Unlock() // some points are passed in a job
			if left >= 0 {
				r.exec("UPDATE bus_lease SET epoch = epoch + 1 WHERE name = 'relay:outbox'")
			}
			if point == "relay.replay-page" && left == 0 {
				r.carrier.Truncate(events.Events, 100)
			}
		}
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("c")}, Passed: passed})
		r.publishAll(b, all...)
		r.took("c", all)
		mu.Lock()
		crash["relay.loss-found"], crash["relay.loss-noted"], crash["relay.replay-page"] = 2, 2, 3
		mu.Unlock()
		r.carrier.Lose(events.Events)
		more := r.events(100, 40)
		r.publishAll(b, more...)
		all = append(all, more...)
		r.published()
		r.took("c", all)
		hasAll(t, messages(t, r.carrier, events.Events), all)
	})
}

// hasAll demands that the stream has every event, in whatever order.
func hasAll(t testing.TB, msgs []bus.Message, batch []events.Event) {
	t.Helper()
	has := map[string]bool{}
	for _, m := range msgs {
		has[m.ID] = true
	}
	for _, e := range batch {
		if !has[e.ID] {
			t.Errorf("the stream has no event %s", e.ID)
		}
	}
}

// TestADatabaseThatPublishedFillsAStreamThatItDoesNotKnow forgets what the relays knew.
func TestADatabaseThatPublishedFillsAStreamThatItDoesNotKnow(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		b, stop := r.launch(r.carrier, bus.Config{})
		all := r.events(30, 9)
		r.publishAll(b, all...)
		r.published()
		stop()
		r.exec("DELETE FROM bus_relay")
		r.exec("DELETE FROM bus_trail")
		c := newCrew()
		r.carrier = memory.New()
		r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		r.took("c", all)
		inOrder(t, messages(t, r.carrier, events.Events), all)
	})
}

// TestWhatAStreamHeldBeforeIsNoLoss begins with a stream that has messages of others.
func TestWhatAStreamHeldBeforeIsNoLoss(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		others := r.events(10, 3)
		r.send(others...)
		b, _ := r.launch(r.carrier, bus.Config{})
		all := r.events(10, 3)
		r.publishAll(b, all...)
		r.published()
		msgs := messages(t, r.carrier, events.Events)
		inOrder(t, msgs[10:], all)
		for _, m := range msgs[10:] {
			if m.Relay.Epoch != 2 && m.Relay.Epoch != 1 {
				t.Errorf("message %d has epoch %d", m.Seq, m.Relay.Epoch)
			}
		}
		if n := r.count("SELECT count(*) FROM bus_relay WHERE replay_to > 0"); n != 0 {
			t.Errorf("%d relays publish again", n)
		}
	})
}

// TestNothingIsLostOrDoneTwiceWhateverBecomesOfTheStream does things to the stream, the
// processes and the consumers at random.
func TestNothingIsLostOrDoneTwiceWhateverBecomesOfTheStream(t *testing.T) {
	tier.System(t)
	base := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	rapid.Check(t, func(rt *rapid.T) {
		r := base.again(t)
		c, carrier := newCrew(), &heldCarrier{Carrier: r.carrier}
		slow := c.consumer("slow")
		slow.Types = someTypes
		var crash atomic.Pointer[string]
		cfg := bus.Config{Consumers: []bus.Consumer{c.consumer("quick"), slow}, Passed: func(point string) {
			if p := crash.Load(); p != nil && *p == point && crash.CompareAndSwap(p, nil) {
				r.exec("UPDATE bus_lease SET epoch = epoch + 1 WHERE name = 'relay:outbox'")
			}
		}}
		b, stop := r.launch(carrier, cfg)
		defer func() { stop() }()
		var all []events.Event
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch step := rapid.SampledFrom([]string{
				"events", "events", "events", "truncate", "lose", "forget",
				"gate", "restart", "away", "crash", "expire",
			}).Draw(rt, "step"); step {
			case "events":
				more := r.events(rapid.IntRange(1, 30).Draw(rt, "n"), 5)
				r.publishAll(b, more...)
				all = append(all, more...)
			case "truncate":
				if _, err := r.carrier.Ensure(rt.Context(), events.Events); err == nil {
					n := rapid.IntRange(1, 20).Draw(rt, "n")
					carrier.between(func() { r.carrier.Truncate(events.Events, n) })
				}
			case "lose":
				r.carrier.Lose(events.Events)
			case "forget":
				if _, err := r.carrier.Ensure(rt.Context(), events.Events); err == nil {
					r.carrier.EndDedupeWindow(events.Events)
				}
			case "gate":
				if rapid.Bool().Draw(rt, "closed") {
					carrier.close()
				} else {
					carrier.open()
				}
			case "restart":
				stop()
				b, stop = r.launch(carrier, cfg)
			case "away":
				r.carrier.Leave()
				r.carrier.Return()
			case "crash":
				p := rapid.SampledFrom([]string{
					"relay.read", "relay.wave", "relay.before-mark", "relay.loss-found",
					"relay.loss-noted", "relay.replay-page",
				}).Draw(rt, "point")
				crash.Store(&p)
			case "expire": // a consumer that is new begins with what the stream has
				known := r.count("SELECT count(*) FROM bus_reader WHERE relayed_at > 0 OR part NOT IN (SELECT part " +
					"FROM outbox_events)")
				if info, err := r.carrier.Ensure(rt.Context(), events.Events); err == nil &&
					known == 2*events.Partitions {
					r.carrier.Expire(events.Events, info.First+uint64(rapid.IntRange(1, 5).Draw(rt, "n")))
				}
			}
		}
		carrier.open()
		r.took("quick", all)
		r.took("slow", all)
	})
}
