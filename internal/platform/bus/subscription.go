package bus

import (
	"cmp"
	"context"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

const (
	subscriptionIdle = time.Second // how long next waits for an event
	joinEvery        = time.Second // how often a subscription tries to join a shared feed
)

// subscription is a reader's view of its stream: a feed of its own while it lags, a part of the shared feed once it has
// caught up. It promises what a Feed does.
type subscription struct {
	carrier     Carrier
	sharedFeeds *sharedFeeds // nil: it is the only reader of its stream
	from        From
	feed        Feed        // nil while it uses
	shared      *sharedFeed // this
	joinTried   time.Time

	upto    uint64
	pending uint64
	last    uint64 // sequence of the last event that it delivered
	lastID  string // and its id
}

// openSubscription opens a subscription at a reader's position.
func (b *Bus) openSubscription(ctx context.Context, from From) (*subscription, error) {
	own, err := b.carrier.Read(ctx, from)
	if err != nil {
		return nil, err
	}
	br := &subscription{
		carrier: b.carrier, from: from, feed: own, upto: own.Upto(), last: from.After,
		lastID: from.AfterID,
	}
	readers := 0
	for i := range b.cfg.Consumers {
		if b.cfg.Consumers[i].Stream == from.Stream {
			readers++
		}
	}
	if readers > 1 {
		br.sharedFeeds = &b.sharedFeeds
	}
	return br, nil
}

// next waits for events and gives up to limit of those that are there.
func (br *subscription) next(ctx context.Context, limit int) ([]item, error) {
	if br.shared != nil {
		got, ok := br.nextShared(ctx, limit)
		if ok {
			return br.delivered(got), nil
		}
		if err := br.detach(ctx); err != nil {
			return nil, err
		}
	}
	msgs, err := br.feed.Next(ctx, limit)
	if err != nil {
		return nil, err
	}
	items := make([]item, len(msgs))
	for i := range msgs {
		items[i] = examine(msgs[i])
	}
	br.upto, br.pending = br.feed.Upto(), br.feed.Pending()
	br.delivered(items)
	if br.sharedFeeds != nil && br.pending == 0 && ctx.Err() == nil && time.Since(br.joinTried) >= joinEvery {
		br.joinTried = time.Now()
		if br.sharedFeeds.join(ctx, br) {
			br.feed.Close()
			br.feed = nil
		}
	}
	return items, nil
}

func (br *subscription) delivered(items []item) []item {
	if n := len(items); n > 0 {
		br.last, br.lastID = items[n-1].Seq, items[n-1].ID
	}
	return items
}

// nextShared waits for events in the shared feed. ok is false when it does not have what follows.
func (br *subscription) nextShared(ctx context.Context, limit int) (got []item, ok bool) {
	idle := time.NewTimer(subscriptionIdle)
	defer idle.Stop()
	for {
		got, grown, ok := br.shared.read(br, limit)
		if !ok || len(got) > 0 {
			return got, ok
		}
		select {
		case <-grown:
		case <-idle.C:
			return nil, true
		case <-ctx.Done():
			return nil, true
		}
	}
}

// detach leaves the shared feed for a feed of its own.
func (br *subscription) detach(ctx context.Context) error {
	br.shared.leave(br)
	br.shared = nil
	from := br.resumeFrom()
	info, err := br.carrier.Ensure(ctx, from.Stream)
	if err != nil {
		return err
	}
	if from.After+1 < info.First { // that is gone for its age; what came since was not wanted
		from.After, from.AfterID = br.upto, ""
	}
	own, err := br.carrier.Read(ctx, from)
	if err != nil {
		return err
	}
	br.feed, br.upto = own, own.Upto()
	return nil
}

// resumeFrom is where a feed resumes: after the last event, by which it verifies that the stream is unchanged.
func (br *subscription) resumeFrom() From {
	from := br.from
	from.After, from.AfterID = br.upto, ""
	if br.lastID != "" {
		from.After, from.AfterID = br.last, br.lastID
	}
	return from
}

// continues reports whether the shared feed has the subscription's last event at its sequence. One from before the
// shared feed is looked up in the stream; later losses are noticed by the shared feed.
func (br *subscription) continues(ctx context.Context, t *sharedFeed) bool {
	if br.lastID == "" {
		return true
	}
	t.mu.Lock()
	i, there := slices.BinarySearchFunc(t.items, br.last,
		func(it item, seq uint64) int { return cmp.Compare(it.Seq, seq) })
	if there || br.last > t.first {
		defer t.mu.Unlock()
		return there && t.items[i].ID == br.lastID
	}
	t.mu.Unlock()
	m, err := br.carrier.At(ctx, br.from.Stream, br.last)
	return err == nil && m.ID == br.lastID || err != nil && fault.KindOf(err) == fault.NotFound && br.expired(ctx)
}

// expired reports whether the stream has dropped the subscription's last event for its age.
func (br *subscription) expired(ctx context.Context) bool {
	info, err := br.carrier.Ensure(ctx, br.from.Stream)
	return err == nil && br.last < info.First
}

func (br *subscription) wants(typ string) bool {
	return len(br.from.Types) == 0 || slices.Contains(br.from.Types, typ)
}

// Close releases the feed.
func (br *subscription) Close() {
	if br.shared != nil {
		br.shared.leave(br)
	}
	if br.feed != nil {
		br.feed.Close()
	}
}
