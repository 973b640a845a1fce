package runs

import (
	"context"
	"strings"
	"sync/atomic"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
)

// endedChunk is how many ended executions one transaction reads.
const endedChunk = 100

// Ends queues the executions of a service that have ended, in a table of the service with the columns
// tenant_id and execution, until the service has settled them.
type Ends struct {
	prefix, table string        // of the ids of its graphs; of the queue
	ended         atomic.Bool   // an execution has ended in a commit that is not known to be durable
	wakeup        chan struct{} // holds a token when there may be something to settle
}

// NewEnds is the queue in a table of the executions whose graphs have ids with a prefix.
func NewEnds(prefix, table string) *Ends {
	return &Ends{prefix: prefix, table: table, wakeup: make(chan struct{}, 1)}
}

// Ended is the statement that queues an execution, in the transaction that ends it; false when it is
// not one of the service. It is for the engine's store.
func (e *Ends) Ended(h *engine.Head) (sqldb.Stmt, bool) {
	if !strings.HasPrefix(h.GraphID, e.prefix) {
		return sqldb.Stmt{}, false
	}
	e.ended.Store(true)
	return sqldb.Stmt{
		Query: "INSERT INTO " + e.table + " (tenant_id, execution) VALUES ($1, $2) " +
			"ON CONFLICT (tenant_id, execution) DO NOTHING",
		Args: []any{h.Tenant, h.ID.String()},
	}, true
}

// Committed says that a commit is durable; executions that it ended can be settled.
func (e *Ends) Committed() {
	if e.ended.Swap(false) {
		e.Wake()
	}
}

// Wake lets whoever waits for Wakeup look.
func (e *Ends) Wake() {
	select {
	case e.wakeup <- struct{}{}:
	default:
	}
}

// Wakeup receives when there may be something to settle.
func (e *Ends) Wakeup() <-chan struct{} { return e.wakeup }

// Settled is the statement that takes an execution out of the queue.
func (e *Ends) Settled(tenant, execution string) sqldb.Stmt {
	return sqldb.Stmt{
		Query: "DELETE FROM " + e.table + " WHERE tenant_id = $1 AND execution = $2",
		Args:  []any{tenant, execution},
	}
}

// Each calls settle with every execution of the queue. One that cannot be settled does not hold up the
// others; its error comes at the end.
func (e *Ends) Each(
	ctx context.Context, db *sqldb.DB, settle func(ctx context.Context, tenant, execution string) error,
) (failed error) {
	type ended struct{ tenant, execution string }
	for at := (ended{}); ; {
		var found []ended
		err := db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
			found, err = sqldb.Collect(ctx, tx, func(row *sqldb.Row) (x ended, err error) {
				err = row.Scan(&x.tenant, &x.execution)
				return x, err
			}, "SELECT tenant_id, execution FROM "+e.table+" WHERE (tenant_id, execution) > ($1, $2) "+
				"ORDER BY tenant_id, execution LIMIT $3", at.tenant, at.execution, endedChunk)
			return err
		})
		if err != nil {
			return err
		}
		for _, x := range found {
			if err := settle(ctx, x.tenant, x.execution); err != nil {
				failed = err
			}
		}
		if len(found) < endedChunk {
			return failed
		}
		at = found[len(found)-1]
	}
}
