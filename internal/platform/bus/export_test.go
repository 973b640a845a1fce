package bus

import (
	"context"

	"renga.dev/renga/internal/platform/events"
)

// Retain deletes everything that is past its time now, as Run does now and then.
func (b *Bus) Retain(ctx context.Context) error { return (&retention{b}).retainAll(ctx) }

// PrepareDays makes and drops the tables of days, as Run does now and then.
func (b *Bus) PrepareDays(ctx context.Context) error { return (&retention{b}).prepareDays(ctx) }

// Wake wakes the relays after something else published.
func (b *Bus) Wake() {
	b.recent.invalidate()
	for part := range events.Partitions {
		b.wakes.wake(assignment{relayOutbox, part})
	}
}

// WakeReaders has the readers of a consumer look whether there is something to do.
func (b *Bus) WakeReaders(consumer string) { b.wakeReaders(consumer) }

// OpenSubscription opens what a reader has of its stream.
func (b *Bus) OpenSubscription(ctx context.Context, from From) (*subscription, error) {
	return b.openSubscription(ctx, from)
}

// Next gives the ids of events as a reader gets them.
func (br *subscription) Next(ctx context.Context, limit int) (ids []string, err error) {
	items, err := br.next(ctx, limit)
	for i := range items {
		ids = append(ids, items[i].ID)
	}
	return ids, err
}

// Shares reports whether it uses the shared feed, Upto how far it is, and Pending what
// is behind that.
func (br *subscription) Shares() bool    { return br.shared != nil }
func (br *subscription) Upto() uint64    { return br.upto }
func (br *subscription) Pending() uint64 { return br.pending }

// SharedMaxEvents is how many events a shared feed keeps, SharedPatience how long it waits for a reader.
const (
	SharedMaxEvents = sharedMaxEvents
	SharedPatience  = sharedPatience
)

// invalidate makes every relay read the table.
func (h *recentRows) invalidate() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop()
}
