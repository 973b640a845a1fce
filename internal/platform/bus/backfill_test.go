package bus_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/test/stalltest"
)

// fill puts many events of another tenant into the outbox, written at an instant and
// published since.
func (r *rig) fill(n int, created canonical.Stamp) {
	r.Helper()
	r.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		INSERT INTO outbox_events (published_at, created_at, occurred_at, part, event_id, tenant_id, event_type,
		partition_key, service, body)
		SELECT $5, $2, $2, i % 4, 'e' || i, $3, 'RecordDeleted', 'k', 's', $4 FROM n`, n, created, tenantB,
		[]byte("{}"), lately())
}

// lately is when something was published that the bus does not delete yet, as it begins to do
// ten seconds after its start.
func lately() canonical.Stamp { return canonical.Stamp(time.Now().Add(-time.Hour).UnixMilli()) }

// replaying is a consumer that has taken something from every partition, and how many
// pages of replays it has taken.
func (r *rig) replaying() (b *bus.Bus, pages *atomic.Int64) {
	r.Helper()
	pages = new(atomic.Int64)
	b, _ = r.launch(r.carrier, bus.Config{
		Consumers: []bus.Consumer{newCrew().consumer("c")},
		Passed: func(point string) {
			if point == "reader.replay" {
				pages.Add(1)
			}
		},
	})
	var all []events.Event
	for i := range 20 {
		all = append(all, r.event(fmt.Sprint("seen", i)))
	}
	r.publishAll(b, all...)
	r.took("c", all)
	r.published()
	return b, pages
}

// replayed waits for a replay of a range of time.
func (r *rig) replayed(b *bus.Bus, from, to canonical.Stamp) {
	r.Helper()
	ans, err := r.startReplay(b, "k", "c", from, to)
	r.must(err)
	r.eventually("the end of it", func() bool {
		found, err := b.Replay(r.Context(), tenantA, ans.ID)
		r.must(err)
		return found.Status == bus.ReplayDone
	})
}

// TestAReplayLooksAtItsOwnPartOfTheOutbox is about few events among very many: it reads
// from where its range begins to where that ends, a part at a time.
func TestAReplayLooksAtItsOwnPartOfTheOutbox(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		b, pages := r.replaying()
		first, last := r.event("x"), r.event("x")
		r.exec("DELETE FROM outbox_events")
		r.fill(30_000, 10_000)
		r.announce(200_000, lately(), first)
		r.fill(50_000, 200_000)
		r.announce(200_000, lately(), last)
		r.fill(100_000, 500_000)
		r.replayed(b, 150_000, 300_000)
		if got := r.ids("c", first.Key); !slices.Equal(got, idsOf(first, last)) {
			t.Errorf("got %v, want the two of its range", got)
		}
		if got := pages.Load(); got < 3*events.Partitions || got > 4*events.Partitions {
			t.Errorf("it took %d pages", got)
		}
	})
}

// TestAReplayTakesLargeEventsAFewAtATime: a page is also bounded by what it holds.
func TestAReplayTakesLargeEventsAFewAtATime(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		b, pages := r.replaying()
		var all []events.Event
		for range 20 {
			e := r.event("x")
			e.Type = "RecordUpdated"
			e.Payload = fmt.Appendf(nil,
				`{"objectName":"Account","recordId":"%s","ownerId":"%[1]s","changedFields":["n"],`+
					`"fieldChanges":{"n":{"old":null,"new":"%s"}},"recordVersion":"%v"}`,
				strings.Split(e.Key, ":")[2], strings.Repeat("x", 1_000_000), e.Version)
			r.must(e.CheckPublished())
			all = append(all, e)
			r.announce(100_000, lately(), e)
		}
		r.replayed(b, 1, 200_000)
		if got := r.ids("c", all[0].Key); !slices.Equal(got, idsOf(all...)) {
			t.Errorf("%d events were taken, want all of the range in order", len(got))
		}
		if got := pages.Load(); got < 3+events.Partitions-1 {
			t.Errorf("it took %d pages, for 20 MB", got)
		}
	})
}

// TestAReplayReachesTheEndOfWhatWasPublished is about the newest events: those that were
// sent together with the last one that a consumer took, and all of them after a stream
// was filled again, when the last one carries an old time.
func TestAReplayReachesTheEndOfWhatWasPublished(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		consumer := c.consumer("c")
		consumer.Types = []string{"RecordDeleted"}
		b, stop := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{consumer}})
		var all []events.Event
		for i := range 20 { // in every partition
			all = append(all, r.owned(fmt.Sprint("missed", i)))
		}
		for i := range 20 {
			all = append(all, r.event(fmt.Sprint("seen", i)))
		}
		r.publishAll(b, all...)
		r.took("c", all[20:])
		r.published()
		stop()
		consumer.Types = nil
		counts := func(key string) bus.ReplayCounts {
			b, stop := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{consumer}})
			defer stop()
			ans, err := r.startReplay(b, key, "c", 1, 0)
			r.must(err)
			var found bus.Replay
			r.eventually("the end of it", func() bool {
				found, err = b.Replay(t.Context(), tenantA, ans.ID)
				r.must(err)
				return found.Status == bus.ReplayDone
			})
			return found.Counts
		}
		if got, want := counts("one"), (bus.ReplayCounts{Applied: 20, Duplicate: 20}); got != want {
			t.Errorf("the first replay: %+v, want %+v", got, want)
		}
		r.exec("UPDATE bus_reader SET relayed_at = 1")
		if got, want := counts("two"), (bus.ReplayCounts{Duplicate: 40}); got != want {
			t.Errorf("after a loss: %+v, want %+v", got, want)
		}
	})
}

// TestAReplayEndsBehindEventsThatItsConsumerDoesNotTake is about a stream that ends with such
// ones, which come together with the last one that is taken.
func TestAReplayEndsBehindEventsThatItsConsumerDoesNotTake(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		b, stop := r.launch(r.carrier, bus.Config{})
		taken := r.event("x")
		r.publishAll(b, taken, r.owned("x"))
		r.published()
		stop()
		consumer := newCrew().consumer("c")
		consumer.Types = []string{"RecordDeleted"}
		b, _ = r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{consumer}})
		r.took("c", []events.Event{taken})
		r.replayed(b, 1, 0)
	})
}

// TestAReplayRestsHoweverOftenItsReaderIsWoken is about the time that it leaves to others.
func TestAReplayRestsHoweverOftenItsReaderIsWoken(t *testing.T) {
	const page = 100 * time.Millisecond
	onEvery(t, func(t *testing.T, r *rig) {
		consumer := newCrew().consumer("c")
		b, stop := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{consumer}})
		seen := r.event("x")
		r.publishAll(b, seen)
		r.took("c", []events.Event{seen})
		r.published()
		stop()
		r.exec("DELETE FROM outbox_events")
		r.fill(100_000, 100_000)
		ans, err := r.startReplay(b, "k", "c", 1, 200_000)
		r.must(err)
		r.exec("DELETE FROM bus_replay WHERE part <> 0") // others would work while it rests
		var mu sync.Mutex
		var began []time.Time
		committed := map[int]bool{} // a page that fails, as when the database is busy, is begun again without a rest
		b, stop = r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{consumer}, Passed: func(point string) {
			mu.Lock()
			defer mu.Unlock()
			switch point {
			case "reader.replay":
				began = append(began, time.Now())
				<-time.After(page)
			case "reader.committed":
				committed[len(began)-1] = true
			}
		}})
		stalltest.Until(t, "the end of the replay", func() bool {
			b.WakeReaders("c")
			found, err := b.Replay(t.Context(), tenantA, ans.ID)
			r.must(err)
			return found.Status == bus.ReplayDone
		})
		stop()
		for i := 1; i < len(began); i++ {
			if got := began[i].Sub(began[i-1]); committed[i-1] && got < 2*page {
				t.Errorf("page %d began %v after the one before, which took %v", i, got, page)
			}
		}
		if len(began) < 3 || len(committed) < 2 {
			t.Errorf("it took %d pages, of which %d were committed", len(began), len(committed))
		}
	})
}
