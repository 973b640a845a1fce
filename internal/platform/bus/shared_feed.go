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

// What a trunk keeps for its branches.
const (
	sharedMaxEvents = 1024                   // events
	sharedMaxBytes  = 2 << 20                // and their texts, unless those that came together are longer
	sharedPatience  = 250 * time.Millisecond // with a branch that does not come on, before it is left behind
)

// trunk reads a partition once for all readers of this process that have come to its end,
// and decodes and checks each event once. It keeps the newest. A reader that is further
// behind has a feed of its own until it has caught up.
//
// It has everything of one stream from its first place on, in order and without a gap,
// because its feed gives nothing else. When that breaks, for whatever reason, the trunk
// is of no use any more: each reader opens a feed at its own place and finds out for
// itself what has become of it. So it does when the feed, which was cut off and went on
// behind its last message, gives one from where there was none before: the stream lost
// messages of other partitions, and that is in the place of one of them.
type sharedFeed struct {
	created time.Time // of the stream
	stop    func()
	ended   chan struct{}

	mu        sync.Mutex
	first     uint64 // all that came behind this is in items
	upto      uint64 // and nothing is missing up to here
	pending   uint64 // messages behind that
	items     []item
	bytes     int
	positions map[*subscription]uint64 // how far its branches are that were not left behind
	broken    bool
	more      chan struct{} // closed when there is more, or it broke
	advanced  chan struct{} // holds a token when a branch came on or left
}

// trunks are those of a bus.
type sharedFeeds struct {
	mu  sync.Mutex
	all map[feedKey]*sharedFeed
}

type feedKey struct {
	stream wire.Stream
	part   int
}

// join lets a branch, which has come to the end of its stream, go on with the trunk of its
// partition; it makes one at the place of the branch when there is none. It reports
// whether it could.
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
	feed, err := br.carrier.Read(ctx, from) // at the last message of the branch, which it recognises
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

// add lets a branch read on from its place, unless the trunk does not reach back to it. It
// looks again at what it was not given, which may be there since.
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

// leave takes a branch off. With the last one the trunk ends.
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

// grow reads until it is stopped or the feed fails.
func (t *sharedFeed) fill(ctx context.Context, feed Feed) {
	defer close(t.ended)
	defer feed.Close()
	for {
		msgs, err := feed.Next(ctx, batchMost)
		if err != nil || ctx.Err() != nil || len(msgs) > 0 && msgs[0].Seq <= t.upto { // branches are past that
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

// room forgets what must go for some more. It waits a little for branches that have not
// read it.
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
				t.items = t.items[k:]                                                                       // to move the others up each time costs more than what they are appended to
				maps.DeleteFunc(t.positions, func(_ *subscription, at uint64) bool { return at < t.first }) // nobody waits for these again
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

// after gives events behind the place of a branch that it wants, and notes how far the
// branch is then and what there is behind that; grown tells when there is more. ok is
// false when the trunk does not have what follows.
func (t *sharedFeed) read(br *subscription, limit int) (got []item, grown <-chan struct{}, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken || br.upto < t.first {
		return nil, nil, false
	}
	i, _ := slices.BinarySearchFunc(t.items, br.upto+1, func(it item, seq uint64) int { return cmp.Compare(it.Seq, seq) })
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
	br.upto = max(br.upto, upto) // it may be ahead of the trunk still
	t.positions[br] = br.upto
	wake(t.advanced)
	return got, t.more, true
}
