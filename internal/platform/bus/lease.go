package bus

import (
	"context"
	"errors"
	"fmt"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
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
func (b *Bus) fence(ctx context.Context, tx *sqldb.Tx, l lease) (now wire.Stamp, err error) {
	return queriesIn(tx).fence(ctx, tx, &b.cfg, l)
}
