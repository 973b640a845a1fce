package bus

import (
	"context"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

const (
	subscriptionIdle = time.Second // for an event
	joinEvery        = time.Second
)

// subscription is a reader's view of its stream: an own feed while it lags, the shared feed once it has caught up. It
// promises what a Feed does.
type subscription struct {
	carrier     Carrier
	sharedFeeds *sharedFeeds // nil: the only reader
	from        From
	feed        Feed // nil while shared
	shared      *sharedFeed
	joinTried   time.Time

	upto    uint64
	pending uint64
	last    uint64 // last delivered event
	lastID  string // its id
}

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

// next waits for events and returns up to limit of them.
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
	items := examineAll(msgs)
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

// nextShared is next on the shared feed; not ok: the next ones are not cached.
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

// detach changes to an own feed.
func (br *subscription) detach(ctx context.Context) error {
	br.shared.leave(br)
	br.shared = nil
	from := br.resumeFrom()
	info, err := br.carrier.Ensure(ctx, from.Stream)
	if err != nil {
		return err
	}
	if from.After+1 < info.First { // that expired; later ones were not wanted
		from.After, from.AfterID = br.upto, ""
	}
	own, err := br.carrier.Read(ctx, from)
	if err != nil {
		return err
	}
	br.feed, br.upto = own, own.Upto()
	return nil
}

// resumeFrom is after the last event, which verifies the stream.
func (br *subscription) resumeFrom() From {
	from := br.from
	from.After, from.AfterID = br.upto, ""
	if br.lastID != "" {
		from.After, from.AfterID = br.last, br.lastID
	}
	return from
}

// continues reports whether the last event is in the shared feed, or, if older, in the stream. The shared feed
// notices later losses.
func (br *subscription) continues(ctx context.Context, t *sharedFeed) bool {
	if br.lastID == "" {
		return true
	}
	t.mu.Lock()
	i, there := t.find(br.last)
	if there || br.last > t.first {
		defer t.mu.Unlock()
		return there && t.items[i].ID == br.lastID
	}
	t.mu.Unlock()
	m, err := br.carrier.At(ctx, br.from.Stream, br.last)
	return err == nil && m.ID == br.lastID || err != nil && fault.KindOf(err) == fault.NotFound && br.expired(ctx)
}

// expired reports whether the last event has expired.
func (br *subscription) expired(ctx context.Context) bool {
	info, err := br.carrier.Ensure(ctx, br.from.Stream)
	return err == nil && br.last < info.First
}

func (br *subscription) wants(typ string) bool {
	return len(br.from.Types) == 0 || slices.Contains(br.from.Types, typ)
}

func (br *subscription) Close() {
	if br.shared != nil {
		br.shared.leave(br)
	}
	if br.feed != nil {
		br.feed.Close()
	}
}
