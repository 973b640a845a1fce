package bus_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/test/tier"
)

// ledger is a source of events by number: every third number has none.
type ledger struct {
	mu     sync.Mutex
	events []events.Event
	reads  atomic.Int64
}

func (l *ledger) add(batch ...events.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, batch...)
}

// number is the number of the i-th event.
func number(i int) int64 { return int64(i/2*3 + i%2 + 1) }

func (l *ledger) After(_ context.Context, after int64, limit int) (msgs []bus.Message, upto int64, err error) {
	l.reads.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	upto = after
	for i := range l.events {
		n := number(i)
		if n <= after {
			continue
		}
		if len(msgs) == limit {
			break
		}
		e := &l.events[i]
		upto = n
		msgs = append(msgs, bus.Message{
			Stream: events.Executions, ID: e.ID, Tenant: e.Tenant, Part: events.Partition(e.Key),
			Type: e.Type, Key: e.Key,
			OccurredAt: e.OccurredAt, Service: "renga", Body: e.AppendJSON(nil), Relay: bus.Relay{Source: n},
		})
	}
	return msgs, upto, nil
}

func (l *ledger) Before(_ context.Context, at canonical.Stamp) (n int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.events {
		if l.events[i].OccurredAt >= at {
			break
		}
		n = number(i)
	}
	return n, nil
}

// noted waits until the relay has noted the end of a ledger.
func (r *rig) noted(l *ledger) {
	r.Helper()
	l.mu.Lock()
	end := number(len(l.events) - 1)
	l.mu.Unlock()
	r.eventually("the end of the log is noted", func() bool {
		return r.count("SELECT count(*) FROM bus_relay WHERE source = 'log' AND position >= $1", end) == 1
	})
}

func TestTheLogIsPublishedInOrderAndWhereItIsIsNotedNowAndThen(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		l := &ledger{}
		all := r.events(3000, 40)
		l.add(all[:1500]...)
		var notes atomic.Int64
		cfg := bus.Config{Log: l, Passed: func(point string) {
			if point == "relay.log-noted" {
				notes.Add(1)
			}
		}}
		_, stop := r.launch(r.carrier, cfg)
		r.noted(l)
		stop()
		l.add(all[1500:2000]...)
		b, _ := r.launch(r.carrier, cfg)
		for _, e := range all[2000:] {
			l.add(e)
			b.WakeLog()
		}
		r.noted(l)
		msgs := messages(t, r.carrier, events.Executions)
		inOrder(t, msgs, all)
		if len(msgs) != len(all) {
			t.Errorf("the stream has %d messages, want %d", len(msgs), len(all))
		}
		if n := notes.Load(); n > 50 {
			t.Errorf("it was noted %d times", n)
		}
		seqs := map[string]uint64{}
		for _, m := range msgs {
			seqs[m.ID] = m.Seq
		}
		for _, m := range msgs {
			for i, e := range all {
				if number(i) <= m.Relay.Source && seqs[e.ID] >= m.Seq {
					t.Fatalf("message %d says that all up to %d was sent before, and event %d was not", m.Seq,
						m.Relay.Source, number(i))
				}
			}
		}
	})
}

func TestWhatWasNotNotedOfTheLogIsPublishedOnceMore(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		l := &ledger{}
		all := r.events(500, 11)
		l.add(all...)
		c := newCrew()
		consumer := c.consumer("c")
		consumer.Stream = events.Executions
		var crashes atomic.Int32
		r.launch(r.carrier, bus.Config{Log: l, Consumers: []bus.Consumer{consumer}, Passed: func(point string) {
			if point == "relay.log-published" && crashes.Add(1) <= 3 {
				r.carrier.EndDedupeWindow(events.Executions)
				r.exec("UPDATE bus_lease SET epoch = epoch + 1 WHERE name = 'relay:log'")
			}
		}})
		r.noted(l)
		r.took("c", all)
		msgs := messages(t, r.carrier, events.Executions)
		inOrder(t, msgs, all)
		if len(msgs) <= len(all) {
			t.Errorf("the stream has %d messages: nothing was repeated", len(msgs))
		}
	})
}

// TestWhatTheStreamLosesOfTheLogIsPublishedAgain loses parts of the stream of the log
// while one consumer has seen all and another is behind.
func TestWhatTheStreamLosesOfTheLogIsPublishedAgain(t *testing.T) {
	tier.System(t)
	onEvery(t, func(t *testing.T, base *rig) {
		for name, lose := range map[string]func(c *memory.Carrier){
			"deleted":              func(c *memory.Carrier) { c.Lose(events.Executions) },
			"truncated":            func(c *memory.Carrier) { c.Truncate(events.Executions, 25) },
			"truncated to nothing": func(c *memory.Carrier) { c.Truncate(events.Executions, 1_000_000) },
		} {
			t.Run(name, func(t *testing.T) {
				r, l := base.again(t), &ledger{}
				carrier, c := &heldCarrier{Carrier: r.carrier}, newCrew()
				quick, slow := c.consumer("quick"), c.consumer("slow")
				quick.Stream, slow.Stream, slow.Types = events.Executions, events.Executions, someTypes
				b, _ := r.launch(carrier, bus.Config{Log: l, Consumers: []bus.Consumer{quick, slow}})
				all := r.events(200, 9)
				l.add(all[:50]...)
				b.WakeLog()
				r.took("slow", all[:50])
				carrier.close()
				l.add(all[50:100]...)
				b.WakeLog()
				r.took("quick", all[:100])
				r.noted(l)
				carrier.between(func() { lose(r.carrier) })
				carrier.open()
				for i := 100; i < len(all); i += 20 {
					l.add(all[i : i+20]...)
					b.WakeLog()
				}
				r.took("quick", all)
				r.took("slow", all)
				r.noted(l)
				inOrderAtLast(t, messages(t, r.carrier, events.Executions), all)
			})
		}
	})
}
