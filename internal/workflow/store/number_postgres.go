package store

import (
	"context"
	"errors"
	"sync"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// blockSize is how many numbers the sequence engine_execution_num gives at a time.
const blockSize = 1000

// maxBlocks is how many times blocks are reserved that turn out not to be adjacent.
const maxBlocks = 100

type block struct{ next, end int64 }

func (b *block) reserve(n int) (first int64, ok bool) {
	if b.end-b.next < int64(n) {
		return 0, false
	}
	first = b.next
	b.next += int64(n)
	return first, true
}

type numbers struct {
	mu   sync.Mutex
	left block
}

func (n *numbers) reserve(count int) (first int64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.left.reserve(count)
}

// release gives numbers back. The larger rest is kept.
func (n *numbers) release(b block) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if b.end-b.next > n.left.end-n.left.next {
		n.left = b
	}
}

// Number gives numbers that no execution has. What is left of a block is for others only when this commit is durable:
// should the server lose it, it would give them out again.
func (t *pgTx) Number(ctx context.Context, n int) (int64, error) {
	if first, ok := t.spare.reserve(n); ok {
		return first, nil
	}
	if first, ok := t.store.numbers.reserve(n); ok {
		return first, nil
	}
	for range maxBlocks {
		got, err := t.blocks(ctx, (n+blockSize-1)/blockSize)
		if err != nil {
			return 0, fault.Wrap("store.number", err)
		}
		if first, ok := got.reserve(n); ok {
			t.spare = got
			return first, nil
		}
	}
	return 0, fault.Wrap("store.number", errors.New("no numbers that follow one another"))
}

// blocks reserves blocks of the sequence and gives the longest run at their end.
func (t *pgTx) blocks(ctx context.Context, n int) (got block, err error) {
	err = t.sql.Batch(ctx, sqldb.Stmt{
		Query: "SELECT nextval('engine_execution_num') FROM generate_series(1, $1::bigint)", Args: []any{n},
		Row: func(r *sqldb.Row) error {
			var first int64
			if err := r.Scan(&first); err != nil {
				return err
			}
			if first != got.end {
				got.next = first
			}
			got.end = first + blockSize
			return nil
		},
	})
	return got, err
}
