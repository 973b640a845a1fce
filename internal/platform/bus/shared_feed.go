package bus

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"renga.dev/renga/internal/platform/wire"
)

// What a shared feed keeps in memory for its subscriptions.
const (
	sharedMaxEvents = 1024                   // events
	sharedMaxBytes  = 2 << 20                // and their texts, unless those that came together are longer
	sharedPatience  = 250 * time.Millisecond // with a slow subscription, before it is detached
)

// sharedFeed reads a partition once for all readers of this process that have caught up, and decodes and checks each
// event once. It keeps the newest events in memory. A reader that lags further behind has a feed of its own until it
// has caught up.
//
// It has every message of one stream from its first position on, in order and without a gap, because its feed gives
// nothing else. When the feed fails, the shared feed ends: each subscription opens a feed at its own position and
// learns the reason there. After a reconnect, a message at or below upto means that the stream lost its tail and reused
// sequence numbers; the shared feed ends then too.
type sharedFeed struct {
	created time.Time // of the stream
	stop    func()
	ended   chan struct{}

	mu        sync.Mutex
	first     uint64 // every later message is in items
	upto      uint64 // and nothing is missing up to here
	pending   uint64 // messages in the stream after that
	items     []item
	bytes     int
	positions map[*subscription]uint64 // of the subscriptions that were not detached
	broken    bool
	more      chan struct{} // closed when there is more, or it ended
	advanced  chan struct{} // holds a token when a subscription advanced or left
}

// sharedFeeds are those of a bus.
type sharedFeeds struct {
	mu  sync.Mutex
	all map[feedKey]*sharedFeed
}

type feedKey struct {
	stream wire.Stream
	part   int
}

// join lets a subscription that has caught up use the shared feed of its partition, and makes one at its position when
// there is none. It reports whether it could.
func (ts *sharedFeeds) join(ctx context.Context, br *subscription) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	place := feedKey{br.from.Stream, br.from.Part}
	t := ts.all[place]
	if t != nil && !t.alive() {
		t = nil
	}
	if t != nil {
		return t.created.Equal(br.from.Created) && br.continues(ctx, t) && t.add(br)
	}
	from := br.resumeFrom()
	from.Types = nil
	feed, err := br.carrier.Read(ctx, from) // at the subscription's last message, which it verifies
	if err != nil {
		return false // its own feed says why
	}
	run, stop := context.WithCancel(context.Background())
	t = &sharedFeed{
		created: from.Created, stop: stop, ended: make(chan struct{}), first: feed.Upto(), upto: feed.Upto(),
		positions: map[*subscription]uint64{}, more: make(chan struct{}), advanced: make(chan struct{}, 1),
	}
	if ts.all == nil {
		ts.all = map[feedKey]*sharedFeed{}
	}
	ts.all[place] = t
	joined := t.add(br)
	go t.fill(run, feed)
	if !joined {
		t.shutdown()
	}
	return joined
}

func (t *sharedFeed) alive() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.broken
}

// add adds a subscription at its position, unless the shared feed does not reach back to it. Messages after its last
// event are delivered again if they were not wanted: there may be others there now.
func (t *sharedFeed) add(br *subscription) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken || br.upto < t.first {
		return false
	}
	if br.lastID != "" {
		br.upto = max(br.last, t.first)
	}
	t.positions[br] = br.upto
	br.shared = t
	return true
}

// leave removes a subscription. With the last one the shared feed ends.
func (t *sharedFeed) leave(br *subscription) {
	t.mu.Lock()
	delete(t.positions, br)
	last := len(t.positions) == 0
	if last {
		t.broken, t.items = true, nil
	}
	t.mu.Unlock()
	wake(t.advanced)
	if last {
		t.shutdown()
	}
}

func (t *sharedFeed) shutdown() {
	t.stop()
	<-t.ended
}

// fill reads until it is stopped or the feed fails.
func (t *sharedFeed) fill(ctx context.Context, feed Feed) {
	defer close(t.ended)
	defer feed.Close()
	for {
		msgs, err := feed.Next(ctx, batchMost)
		if err != nil || ctx.Err() != nil || len(msgs) > 0 && msgs[0].Seq <= t.upto { // the stream lost its tail
			t.mu.Lock()
			t.broken, t.items = true, nil
			close(t.more)
			t.more = make(chan struct{})
			t.mu.Unlock()
			return
		}
		items, bytes := make([]item, len(msgs)), 0
		for i := range msgs {
			items[i] = examine(msgs[i])
			bytes += len(msgs[i].Body)
		}
		t.evict(ctx, len(items), bytes)
		t.mu.Lock()
		t.items, t.bytes = append(t.items, items...), t.bytes+bytes
		t.upto, t.pending = max(t.upto, feed.Upto()), feed.Pending()
		if t.broken { // all have left; it is being stopped
			t.items = nil
		}
		close(t.more)
		t.more = make(chan struct{})
		t.mu.Unlock()
	}
}

// evict makes room for more events. It waits up to sharedPatience for subscriptions that have not read the evicted
// ones.
func (t *sharedFeed) evict(ctx context.Context, n, bytes int) {
	patience := time.NewTimer(sharedPatience)
	defer patience.Stop()
	for out := false; ; {
		t.mu.Lock()
		k, left := 0, t.bytes
		for ; k < len(t.items) && (len(t.items)-k+n > sharedMaxEvents || left+bytes > sharedMaxBytes); k++ {
			left -= len(t.items[k].Body)
		}
		waits := false
		for _, at := range t.positions {
			waits = waits || k > 0 && at < t.items[k-1].Seq
		}
		if !waits || out {
			if k > 0 {
				t.first, t.bytes = t.items[k-1].Seq, left
				clear(t.items[:k])
				t.items = t.items[k:] // moving the others up each time costs more than what append copies
				// Nobody waits for these again.
				maps.DeleteFunc(t.positions, func(_ *subscription, at uint64) bool { return at < t.first })
			}
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		select {
		case <-t.advanced:
		case <-patience.C:
			out = true
		case <-ctx.Done():
			return
		}
	}
}

// read gives the events after a subscription's position that it wants, advances it, and counts what is left in the
// stream; more is closed when there is more. ok is false when the shared feed does not have what follows.
func (t *sharedFeed) read(br *subscription, limit int) (got []item, grown <-chan struct{}, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken || br.upto < t.first {
		return nil, nil, false
	}
	i, _ := slices.BinarySearchFunc(t.items, br.upto+1, func(it item, seq uint64) int {
		return cmp.Compare(it.Seq,
			seq)
	})
	upto := t.upto
	br.pending = t.pending
	for ; i < len(t.items); i++ {
		switch {
		case !br.wants(t.items[i].Type):
		case len(got) < limit:
			got = append(got, t.items[i])
		default:
			if br.pending++; upto == t.upto {
				upto = t.items[i].Seq - 1
			}
		}
	}
	br.upto = max(br.upto, upto) // it may be ahead of the shared feed still
	t.positions[br] = br.upto
	wake(t.advanced)
	return got, t.more, true
}
