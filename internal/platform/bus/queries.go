package bus

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// queries is the SQL that differs between the databases: queriesSQLite, queriesPostgres.
type queries struct {
	dialect   sqldb.Dialect
	shared    bool // other processes write to the database, and transactions run side by side
	limit     bool // pages take relayBytes as their last argument: all rows of a result arrive at once
	dayTables bool // processed_events has a table for each day

	unpublished   string // a page of the outbox that is not published
	published     string // a page of the outbox that is published
	backfill      string // a page of the outbox for a consumer
	tail          string // a page of a tail
	lastPosition  string // the last id that the outbox has given
	renewLease    string
	holdDead      string // appended to a SELECT of dead letters that are to be decided about
	trimProcessed string // deletes rows of processed_events that are past their time

	now          func(context.Context, *sqldb.Tx, Clock) (wire.Stamp, error)
	fence        func(context.Context, *sqldb.Tx, *Config, lease) (wire.Stamp, error)
	insertOutbox func(context.Context, *sqldb.Tx, Clock, []Message) ([]int64, error)
	nextVersion  func(ctx context.Context, tx *sqldb.Tx, c Clock, key string) (wire.Stamp, error)
	markOutbox   func(ids []int64, at wire.Stamp) sqldb.Stmt
	markEvents   func(tx *sqldb.Tx, consumer string, todo []*item) ([]sqldb.Stmt, error)
}

// queriesOf chooses by dialect.
func queriesOf(d sqldb.Dialect) *queries {
	if d == sqldb.Postgres {
		return &queriesPostgres
	}
	return &queriesSQLite
}

// queriesIn is the SQL of a transaction's database.
func queriesIn(tx *sqldb.Tx) *queries { return queriesOf(tx.Dialect()) }

// queries is the SQL of the bus's database.
func (b *Bus) queries() *queries { return queriesOf(b.db.Dialect()) }

// page completes the arguments of a page.
func (q *queries) page(args ...any) []any {
	if q.limit {
		args = append(args, relayBytes)
	}
	return args
}
