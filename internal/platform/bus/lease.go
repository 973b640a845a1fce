package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// assignment is a unit of work of one process: a partition of a relay or of a consumer.
type assignment struct {
	name string
	part int
}

const (
	relayOutbox    = "relay:outbox"
	relayLog       = "relay:log"
	homeAssignment = "home"
)

func readerAssignment(consumer string, part int) assignment {
	return assignment{"reader:" + consumer, part}
}

func (p assignment) String() string { return fmt.Sprintf("%s/%d", p.name, p.part) }

// lease is the right to work on an assignment. Its epoch rises with every change of hands.
type lease struct {
	assignment
	epoch int64
}

// errLeaseLost: another process has the lease, or a relay ended it after a loss.
var errLeaseLost = errors.New("the lease was taken by another")

// fence verifies that a lease still stands, or fails with errLeaseLost, and returns the time. It is the first
// statement of a transaction; on PostgreSQL it locks the row, so that the lease cannot change hands before the end.
func (b *Bus) fence(ctx context.Context, tx *sqldb.Tx, l lease) (now canonical.Stamp, err error) {
	return queriesOf(tx).fence(ctx, tx, &b.cfg, l)
}

// wakes are wakeup channels of this process's workers, which also poll: wakeups get lost, in other processes for
// example.
type wakes struct {
	mu  sync.Mutex
	all map[assignment]chan struct{}
}

func (w *wakes) of(p assignment) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[assignment]chan struct{}{}
	}
	c := w.all[p]
	if c == nil {
		c = make(chan struct{}, 1)
		w.all[p] = c
	}
	return c
}

func (w *wakes) wake(p assignment) { wake(w.of(p)) }

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
