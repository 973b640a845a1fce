package bus

import (
	"context"
	"errors"
	"fmt"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// post is a piece of work that one process at a time does.
type assignment struct {
	name string
	part int
}

// The names of posts.
const (
	relayOutbox    = "relay:outbox"
	relayLog       = "relay:log"
	homeAssignment = "home"
)

// readerPost is the post of a consumer's readers.
func readerAssignment(consumer string, part int) assignment {
	return assignment{"reader:" + consumer, part}
}

func (p assignment) String() string { return fmt.Sprintf("%s/%d", p.name, p.part) }

// lease is the right to work on a post.
type lease struct {
	assignment
	epoch int64
}

// errLost says that another process, or a relay that found a loss, took the post.
var errLeaseLost = errors.New("the post was taken by another")

// fence asks inside a transaction whether a lease still stands, and gives the time. It
// is the transaction's first statement, and on PostgreSQL holds the row, so that the
// post cannot change hands before the end of the transaction. It fails with errLost.
func (b *Bus) fence(ctx context.Context, tx *sqldb.Tx, l lease) (now wire.Stamp, err error) {
	return queriesIn(tx).fence(ctx, tx, &b.cfg, l)
}
