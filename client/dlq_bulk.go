package client

import (
	"context"
)

// DeadLetterBulks redrives or skips many dead letters at once.
type DeadLetterBulks struct {
	bulks[DeadLetterBulk, DeadLetterBulkItem]
}

// RedriveBulk and SkipBulk ask for a bulk that drives again, or skips, all dead letters
// which the filter selects and which are OPEN.
type (
	RedriveBulk struct {
		Key    string
		Filter DeadLetterFilter
		Reason string
	}
	SkipBulk struct {
		Key    string
		Filter DeadLetterFilter
		Reason string // it needs one
	}
)

// CreateRedrive freezes the set of a bulk and does nothing to it yet:
// Start does.
func (c DeadLetterBulks) CreateRedrive(ctx context.Context, b RedriveBulk) (BulkAnswer, error) {
	return c.create(ctx, "dlq.redrive", b.Key, b.Filter, b.Reason)
}

// CreateSkip freezes the set of a bulk and does nothing to it yet:
// Start does.
func (c DeadLetterBulks) CreateSkip(ctx context.Context, b SkipBulk) (BulkAnswer, error) {
	return c.create(ctx, "dlq.skip", b.Key, b.Filter, b.Reason)
}

func (c DeadLetterBulks) create(
	ctx context.Context, command, key string, f DeadLetterFilter, reason string,
) (BulkAnswer, error) {
	return c.command(ctx, "", key, createDeadLetterBulk{command, f, reason})
}
