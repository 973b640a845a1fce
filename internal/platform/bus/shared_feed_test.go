package bus_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// grove is a stream that several readers of one process read.
type grove struct {
	*testing.T
	*memory.Carrier
	bus    *bus.Bus
	sent   []bus.Message
	others int           // messages of another partition
	open   atomic.Int64  // feeds
	deaf   atomic.Bool   // those that are open give nothing, and do not say why
	heard  atomic.Uint64 // where those say that they are
	next   func()        // what happens before the next feed is opened
	again  chan struct{} // closed when feeds may go on in a stream that was cut; nil: they do not
}

// Read counts the feeds that are open.
func (g *grove) Read(ctx context.Context, from bus.From) (bus.Feed, error) {
	if do := g.next; do != nil {
		g.next = nil
		do()
	}
	f, err := g.Carrier.Read(ctx, from)
	if err != nil {
		return nil, err
	}
	g.open.Add(1)
	return &countedFeed{f, g, g.deaf.Load(), from}, nil
}

type countedFeed struct {
	bus.Feed
	g    *grove
	was  bool // made since they are deaf
	from bus.From
}

func (f *countedFeed) Next(ctx context.Context, limit int) ([]bus.Message, error) {
	if f.g.deaf.Load() && !f.was {
		<-time.After(time.Second) // as when there is nothing
		return nil, nil
	}
	got, err := f.Feed.Next(ctx, limit)
	if fault.KindOf(err) == fault.Conflict && err != nil && f.g.again != nil {
		<-f.g.again
		return nil, f.rewind(ctx)
	}
	if n := len(got); n > 0 {
		f.from.After, f.from.AfterID = got[n-1].Seq, got[n-1].ID
	}
	return got, err
}

// rewind goes on behind the last message, as a feed of JetStream does when it was cut off.
func (f *countedFeed) rewind(ctx context.Context) error {
	feed, err := f.g.Carrier.Read(ctx, f.from)
	if err == nil {
		f.Feed = feed
	}
	return err
}

func (f *countedFeed) Pending() uint64 {
	if f.g.deaf.Load() && !f.was {
		return 0
	}
	return f.Feed.Pending()
}

func (f *countedFeed) Upto() uint64 {
	if f.g.deaf.Load() && !f.was {
		return max(f.Feed.Upto(), f.g.heard.Load())
	}
	return f.Feed.Upto()
}

func (f *countedFeed) Close() {
	f.g.open.Add(-1)
	f.Feed.Close()
}

func newGrove(t *testing.T) *grove {
	g := &grove{T: t, Carrier: memory.New()}
	handle := func(context.Context, *sqldb.Tx, *events.Event) error { return nil }
	g.bus = bus.New(nil, g, bus.Config{Instance: "test", Consumers: []bus.Consumer{
		{Name: "one", Handle: handle},
		{Name: "two", Handle: handle},
	}})
	return g
}

// send publishes messages of a type.
func (g *grove) send(typ string, n int) {
	g.Helper()
	for range n {
		g.sent = append(g.sent, g.publish(0, typ, len(g.sent)))
	}
}

// elsewhere publishes messages of another partition.
func (g *grove) elsewhere(n int) {
	g.Helper()
	for range n {
		g.others++
		g.publish(1, "elsewhere", g.others)
	}
}

func (g *grove) publish(part int, typ string, n int) bus.Message {
	g.Helper()
	m := bus.Message{
		Stream: events.Events, ID: fmt.Sprintf("%s-%d", typ, n), Tenant: "t", Part: part, Type: typ,
		Key: fmt.Sprint(n), Relay: bus.Relay{Epoch: 1},
	}
	acks := g.Publish(g.Context(), []bus.Message{m})
	if acks[0].Err != nil {
		g.Fatal(acks[0].Err)
	}
	m.Seq = acks[0].Seq
	return m
}

// reads is a reader and what it has to get.
type reads struct {
	g *grove
	b interface {
		Next(ctx context.Context, limit int) ([]string, error)
		Shares() bool
		Upto() uint64
		Pending() uint64
		Close()
	}
	types []string
	got   []string
}

func (g *grove) reader(types ...string) *reads {
	g.Helper()
	info, err := g.Ensure(g.Context(), events.Events)
	if err != nil {
		g.Fatal(err)
	}
	b, err := g.bus.OpenSubscription(g.Context(), bus.From{Stream: events.Events, Created: info.Created, Types: types})
	if err != nil {
		g.Fatal(err)
	}
	return &reads{g: g, b: b, types: types}
}

func (r *reads) next(limit int) {
	r.g.Helper()
	ids, err := r.b.Next(r.g.Context(), limit)
	if err != nil {
		r.g.Fatal(err)
	}
	r.got = append(r.got, ids...)
}

// all reads until nothing comes any more, and holds it against what was sent.
func (r *reads) all() {
	r.g.Helper()
	for before := -1; before < len(r.got); {
		before = len(r.got)
		r.next(100)
	}
	var want []string
	for _, m := range r.g.sent {
		if len(r.types) == 0 || slices.Contains(r.types, m.Type) {
			want = append(want, m.ID)
		}
	}
	if !slices.Equal(r.got, want) {
		r.g.Fatalf("got %d events, want %d, or in another order", len(r.got), len(want))
	}
	if r.b.Pending() != 0 {
		r.g.Errorf("%d are pending", r.b.Pending())
	}
}

// TestReadersAtTheEndOfAStreamReadItTogether has one feed for all of them.
func TestReadersAtTheEndOfAStreamReadItTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrove(t)
		one, two, three := g.reader(), g.reader("a"), g.reader("b", "c")
		g.send("a", 10)
		for _, r := range []*reads{one, two, three} {
			r.all()
			if !r.b.Shares() {
				t.Error("a reader that has read everything does not use the shared feed")
			}
		}
		if n := g.open.Load(); n != 1 {
			t.Errorf("%d feeds are open, want 1", n)
		}
		for range 50 {
			g.send("b", 7)
			g.send("a", 5)
			g.send("d", 3)
			one.next(4)
			two.next(2)
		}
		for _, r := range []*reads{one, two, three} {
			r.all()
			if got, want := r.b.Upto(), g.sent[len(g.sent)-1].Seq; got != want {
				t.Errorf("a reader is at %d, the stream at %d", got, want)
			}
			r.b.Close()
		}
		if n := g.open.Load(); n != 0 {
			t.Errorf("%d feeds are open behind the last reader", n)
		}
	})
}

// TestASlowReaderIsDetached goes on with a feed of its own, misses nothing,
// and comes back to the others.
func TestASlowReaderIsDetached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrove(t)
		fast, slow := g.reader(), g.reader()
		fast.all()
		slow.all()
		g.send("a", 5*bus.SharedMaxEvents)
		for began := time.Now(); len(fast.got) < len(g.sent); {
			if fast.next(100); time.Since(began) > bus.SharedPatience {
				t.Fatal("a reader waits again and again for one that was left behind")
			}
		}
		fast.all()
		slow.all()
		if n := g.open.Load(); n != 1 || !slow.b.Shares() {
			t.Errorf("%d feeds are open, want 1, with which the slow reader goes on", n)
		}
		fast.b.Close()
		slow.b.Close()
	})
}

// TestASharedFeedOfALostStreamDeliversNothing lets each reader find out what became of its
// own place.
func TestASharedFeedOfALostStreamDeliversNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrove(t)
		ahead, behind := g.reader(), g.reader()
		g.send("a", 20)
		ahead.next(100)
		behind.next(5)
		ahead.all()
		behind.all()
		g.send("a", 20)
		for len(ahead.got) < len(g.sent) {
			ahead.next(20)
		}
		behind.next(5)
		synctest.Wait()
		g.Truncate(events.Events, 10) // of which behind has none, and the shared feed has them
		g.sent = g.sent[:30]
		g.send("b", 15) // its places are taken again
		if _, err := ahead.b.Next(t.Context(), 100); fault.KindOf(err) != fault.Conflict {
			t.Errorf("a reader whose last event is gone got %v", err)
		}
		behind.all()
		ahead.b.Close()
		behind.b.Close()
	})
}

// TestAReaderOfALostStreamUsesNoSharedFeed lets no reader use a shared feed when its
// last event is another one in that, or in the stream before: something was lost.
func TestAReaderOfALostStreamUsesNoSharedFeed(t *testing.T) {
	for name, tt := range map[string]struct {
		read   int    // events that it has
		heard  uint64 // it knows that there are no others up to here
		before int    // events in the stream when the shared feed is made
	}{
		"in the shared feed":     {9, 0, 7},
		"before the shared feed": {5, 12, 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGrove(t)
				old := g.reader("a")
				g.send("a", 10) // of which it does not read all: at the end it would use a shared feed
				old.next(tt.read)
				g.heard.Store(tt.heard)
				g.deaf.Store(true)
				g.Truncate(events.Events, 6)
				g.sent = g.sent[:4]
				g.send("b", tt.before-4)
				fresh := g.reader()
				fresh.all()
				g.send("b", 10)
				fresh.all()
				if !fresh.b.Shares() {
					t.Fatal("there is no shared feed")
				}
				for range 3 { // it tries again
					if old.next(100); old.b.Shares() {
						t.Fatal("a reader whose last event is another one now uses the shared feed")
					}
				}
				old.b.Close()
				fresh.b.Close()
			})
		})
	}
}

// TestWhatComesWhereOthersWereLostIsNotMissed loses messages of another partition, behind
// which the readers are already. A feed that was cut off goes on behind its last message,
// which is still there; what it gives then lies where those were.
func TestWhatComesWhereOthersWereLostIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrove(t)
		g.again = make(chan struct{})
		one, two := g.reader(), g.reader("a")
		g.send("a", 10)
		one.all()
		two.all()
		g.elsewhere(20)
		for range 5 { // until they have heard of it
			one.next(100)
			two.next(100)
		}
		if one.b.Upto() != 30 || two.b.Upto() != 30 || !one.b.Shares() || !two.b.Shares() {
			t.Errorf("the readers are at %d and %d, want 30, in the shared feed", one.b.Upto(), two.b.Upto())
		}
		g.lose()
		close(g.again)
		one.all()
		two.all()
		one.b.Close()
		two.b.Close()
	})
}

// TestWhatComesWhereOthersWereLostBeforeASharedFeedIsNotMissed loses them when a reader is about
// to join a shared feed.
func TestWhatComesWhereOthersWereLostBeforeASharedFeedIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrove(t)
		one := g.reader()
		g.send("a", 10)
		g.elsewhere(20)
		g.next = g.lose
		one.all()
		if g.next != nil || !one.b.Shares() {
			t.Error("the reader does not use a shared feed")
		}
		one.b.Close()
	})
}

// lose loses twenty messages of the other partition, after which the stream grows again.
func (g *grove) lose() {
	g.Truncate(events.Events, 20)
	g.elsewhere(5)
	g.send("a", 1)
	g.elsewhere(20)
}

// TestReadersOfASharedFeedMissNothing does anything in any order.
func TestReadersOfASharedFeedMissNothing(t *testing.T) {
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			g, rnd := newGrove(t), rand.New(rand.NewPCG(seed, 1))
			all := []*reads{g.reader(), g.reader("a"), g.reader("a", "b")}
			for range 100 {
				i := rnd.IntN(len(all))
				switch rnd.IntN(10) {
				case 0:
					g.send("c", 1+rnd.IntN(2*bus.SharedMaxEvents/3))
				case 1, 2, 3:
					g.send(string(rune('a'+rnd.IntN(3))), 1+rnd.IntN(30))
				case 4: // ends, and another one begins
					all[i].b.Close()
					all[i] = g.reader(all[i].types...)
				default:
					all[i].next(1 + rnd.IntN(256))
				}
			}
			for _, r := range all {
				r.all()
				r.b.Close()
			}
			if n := g.open.Load(); n != 0 {
				t.Errorf("%d feeds are open behind the last reader", n)
			}
		})
	}
}
