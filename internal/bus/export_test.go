package bus

import "context"

// Retain deletes everything that is past its time now, as Run does now and then.
func (b *Bus) Retain(ctx context.Context) error { return b.retainAll(ctx) }

// PrepareDays makes and drops the tables of days, as Run does now and then.
func (b *Bus) PrepareDays(ctx context.Context) error { return b.prepareDays(ctx) }
