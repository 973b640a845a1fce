package bus

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"renga.dev/renga/internal/platform/events"
)

// The cache of a shared feed.
const (
	sharedMaxEvents = 1024
	sharedMaxBytes  = 2 << 20                // of bodies, unless one fetch has more
	sharedPatience  = 250 * time.Millisecond // with a slow subscription before it is detached
)

// sharedFeed reads, decodes and checks a partition once for all readers of this process that have caught up, and
// caches the newest events. A reader that lags further has a feed of its own.
//
// It has every message from its first position on, in order and without a gap, because its feed gives nothing else.
// When the feed fails, the shared feed ends, and each subscription learns the reason from a feed at its own position.
// After a reconnect, a message at or below upto means that the stream lost its tail and reused sequence numbers; the
// shared feed ends then too.
type sharedFeed struct {
	created time.Time // of the stream
	stop    func()
	ended   chan struct{}

	mu        sync.Mutex
	first     uint64 // items has every later message
	upto      uint64 // up to here
	pending   uint64 // in the stream after upto
	items     []item
	bytes     int
	positions map[*subscription]uint64 // of attached ones
	broken    bool
	more      chan struct{} // closed at new events or the end
	advanced  chan struct{} // holds a token after progress
}

type sharedFeeds struct {
	mu  sync.Mutex
	all map[feedKey]*sharedFeed
}

type feedKey struct {
	stream events.Stream
	part   int
}

// join attaches a subscription that has caught up to its partition's shared feed, or to a new one at its position,
// and reports whether it could.
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
	feed, err := br.carrier.Read(ctx, from) // verifies its last message
	if err != nil {
		return false // its own feed will say why
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

// find is the index of the first event at or after a sequence.
func (t *sharedFeed) find(seq uint64) (i int, exact bool) {
	return slices.BinarySearchFunc(t.items, seq, func(it item, seq uint64) int { return cmp.Compare(it.Seq, seq) })
}

func (t *sharedFeed) alive() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.broken
}

// add attaches a subscription, unless its position is before the cache. After its last event, unwanted messages are
// delivered again: others may be there now.
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

// leave detaches a subscription; after the last one the shared feed ends.
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

func (t *sharedFeed) fill(ctx context.Context, feed Feed) {
	defer close(t.ended)
	defer feed.Close()
	for {
		msgs, err := feed.Next(ctx, batchMost)
		if err != nil || ctx.Err() != nil || len(msgs) > 0 && msgs[0].Seq <= t.upto { // lost its tail
			t.mu.Lock()
			t.broken, t.items = true, nil
			close(t.more)
			t.more = make(chan struct{})
			t.mu.Unlock()
			return
		}
		items, bytes := examineAll(msgs), 0
		for i := range items {
			bytes += len(items[i].Body)
		}
		t.evict(ctx, len(items), bytes)
		t.mu.Lock()
		t.items, t.bytes = append(t.items, items...), t.bytes+bytes
		t.upto, t.pending = max(t.upto, feed.Upto()), feed.Pending()
		if t.broken { // being stopped
			t.items = nil
		}
		close(t.more)
		t.more = make(chan struct{})
		t.mu.Unlock()
	}
}

// evict makes room. It waits up to sharedPatience for subscriptions that have not read the evicted events.
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
				t.items = t.items[k:] // copying each time costs more than append
				// They are detached.
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

// read returns the wanted events after a subscription's position and advances it; grown is closed when there is more.
// Not ok: the next ones are not cached.
func (t *sharedFeed) read(br *subscription, limit int) (got []item, grown <-chan struct{}, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken || br.upto < t.first {
		return nil, nil, false
	}
	i, _ := t.find(br.upto + 1)
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
	br.upto = max(br.upto, upto) // it may be ahead
	t.positions[br] = br.upto
	wake(t.advanced)
	return got, t.more, true
}
