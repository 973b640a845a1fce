package client

import (
	"context"
	"iter"
	"reflect"
)

// Bulks cancels or archives many executions at once.
type Bulks struct{ bulks[Bulk, BulkItem] }

// Settled is how many items have a result.
func (c BulkCounts) Settled() int { return c.Applied + c.Already + c.Refused + c.Failed }

// BulkAnswer is the answer to a command on a bulk: how the bulk stood then.
type BulkAnswer struct {
	AcceptedBulk
	Replay bool `json:"-"` // this key was answered before; nothing happened now
}

// CancelBulk asks for a bulk that cancels all executions which the filter selects
// and which have not ended; or those that it names, in place of the filter.
type CancelBulk struct {
	Key    string
	Filter BulkFilter
	IDs    []string
	Reason string
}

// ArchiveBulk asks for a bulk that archives all executions which the filter selects, which have
// ended and were not archived; or those that it names, in place of the filter.
type ArchiveBulk CancelBulk

// Create freezes the set of a bulk and does nothing to it yet: Start does.
func (c Bulks) Create(ctx context.Context, b CancelBulk) (BulkAnswer, error) {
	return c.create(ctx, "cancel", b)
}

// CreateArchive is Create for a bulk that archives.
func (c Bulks) CreateArchive(ctx context.Context, b ArchiveBulk) (BulkAnswer, error) {
	return c.create(ctx, "archive", CancelBulk(b))
}

func (c Bulks) create(ctx context.Context, command string, b CancelBulk) (BulkAnswer, error) {
	body := createBulk{Command: command, IDs: b.IDs, Reason: b.Reason}
	if b.IDs == nil || !reflect.ValueOf(b.Filter).IsZero() { // the server refuses both
		body.Filter = &b.Filter
	}
	return c.command(ctx, "", b.Key, body)
}

// BulkOrder names a bulk that is to be started or stopped.
type BulkOrder struct {
	Key    string
	BulkID string
}

// bulks are the bulks of one kind, with their items.
type bulks[B, I any] struct {
	*transport
	path string
}

// command sends a command on all bulks ("") or on one.
func (c bulks[B, I]) command(ctx context.Context, path, key string, body any) (BulkAnswer, error) {
	a, replay, err := post[BulkAnswer](ctx, c.transport, c.path+path, key, body)
	a.Replay = replay
	return a, err
}

// Start starts a bulk, or goes on with one that was stopped.
func (c bulks[B, I]) Start(ctx context.Context, o BulkOrder) (BulkAnswer, error) {
	return c.command(ctx, pathOf("/{bulkId}/start", o.BulkID), o.Key, struct{}{})
}

// Stop stops a bulk. What is pending stays so until it is started again.
func (c bulks[B, I]) Stop(ctx context.Context, o BulkOrder) (BulkAnswer, error) {
	return c.command(ctx, pathOf("/{bulkId}/stop", o.BulkID), o.Key, struct{}{})
}

// Get reads a bulk.
func (c bulks[B, I]) Get(ctx context.Context, id string) (*B, error) {
	return get[B](ctx, c.transport, c.path+pathOf("/{bulkId}", id), nil)
}

// List reads a page of bulks, newest first.
func (c bulks[B, I]) List(ctx context.Context, at Paging) (*Page[B], error) {
	return list[B](ctx, c.transport, c.path, nil, at)
}

// ListItems reads a page of a bulk's items, the oldest first: all, or those of one status.
func (c bulks[B, I]) ListItems(ctx context.Context, id string, only BulkItemStatus, at Paging) (*Page[I], error) {
	query := given(map[string]string{"status": string(only)})
	return list[I](ctx, c.transport, c.path+pathOf("/{bulkId}/items", id), query, at)
}

// Items reads all items of a bulk, the oldest first.
func (c bulks[B, I]) Items(ctx context.Context, id string) iter.Seq2[I, error] {
	return all[I](ctx, c.transport, c.path+pathOf("/{bulkId}/items", id), 1)
}
