package bus

import (
	"context"
	"errors"
	"fmt"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// assignment is a unit of work that one process at a time does: a partition of a relay or of a consumer.
type assignment struct {
	name string
	part int
}

// The names of assignments.
const (
	relayOutbox    = "relay:outbox"
	relayLog       = "relay:log"
	homeAssignment = "home"
)

// readerAssignment is a partition of a consumer.
func readerAssignment(consumer string, part int) assignment {
	return assignment{"reader:" + consumer, part}
}

func (p assignment) String() string { return fmt.Sprintf("%s/%d", p.name, p.part) }

// lease is the right to work on an assignment. Its epoch rises with every change of hands.
type lease struct {
	assignment
	epoch int64
}

// errLeaseLost says that another process has the lease, or that a relay ended it after a loss.
var errLeaseLost = errors.New("the lease was taken by another")

// fence verifies inside a transaction that a lease still stands, and gives the time. It is the transaction's first
// statement; on PostgreSQL it holds the row, so that the lease cannot change hands before the end of the transaction.
// It fails with errLeaseLost.
func (b *Bus) fence(ctx context.Context, tx *sqldb.Tx, l lease) (now wire.Stamp, err error) {
	return queriesIn(tx).fence(ctx, tx, &b.cfg, l)
}
