package bus

import (
	"context"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// queries is the SQL that differs between the databases: queriesSQLite, queriesPostgres.
type queries struct {
	shared    bool // by several processes, with concurrent transactions
	limit     bool // pages have relayBytes as last argument: a result is read as a whole
	dayTables bool // processed_events has a table per day

	unpublished   string // page of the outbox
	published     string // page of the outbox
	backfill      string // page of the outbox for a consumer
	tail          string // page of a tail
	lastPosition  string // highest id ever of the outbox
	renewLease    string
	holdDead      string // locks selected dead letters
	trimProcessed string // deletes expired rows

	fence        func(context.Context, *sqldb.Tx, *Config, lease) (canonical.Stamp, error)
	insertOutbox func(context.Context, *sqldb.Tx, Clock, []Message) ([]int64, error)
	nextVersion  func(ctx context.Context, tx *sqldb.Tx, c Clock, key string) (canonical.Stamp, error)
	markOutbox   func(ids []int64, at canonical.Stamp) sqldb.Stmt
	markEvents   func(tx *sqldb.Tx, consumer string, todo []*item) ([]sqldb.Stmt, error)
}

func queriesOf(db interface{ Dialect() sqldb.Dialect }) *queries {
	if db.Dialect() == sqldb.Postgres {
		return &queriesPostgres
	}
	return &queriesSQLite
}

func (q *queries) page(args ...any) []any {
	if q.limit {
		args = append(args, relayBytes)
	}
	return args
}
