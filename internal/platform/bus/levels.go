package bus

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
)

// Level is the state of a consumer over all partitions and tenants, for metrics.
type Level struct {
	Consumer                          string
	Pending                           int64 // events not consumed yet
	Retrying, Blocked                 int64 // blocked keys: to retry, to decide
	Dead                              int64 // open dead letters
	Applied, Duplicate, Stale, Failed int64 // events so far
}

// Levels returns the state of all consumers that have ever read.
func (b *Bus) Levels(ctx context.Context) (all []Level, err error) {
	err = b.read(ctx, "bus.levels", func(ctx context.Context, tx *sqldb.Tx) error {
		all, err = sqldb.Collect(ctx, tx, func(row *sqldb.Row) (l Level, err error) {
			err = row.Scan(&l.Consumer, &l.Pending, &l.Applied, &l.Duplicate, &l.Stale, &l.Failed, &l.Retrying,
				&l.Blocked, &l.Dead)
			return l, err
		}, `SELECT consumer, CAST(sum(pending) AS BIGINT), CAST(sum(applied) AS BIGINT),
			CAST(sum(duplicate) AS BIGINT), CAST(sum(stale) AS BIGINT), CAST(sum(failed) AS BIGINT),
			(SELECT count(*) FROM bus_lane l WHERE l.consumer = r.consumer AND state = 0),
			(SELECT count(*) FROM bus_lane l WHERE l.consumer = r.consumer AND state = 1),
			(SELECT count(*) FROM bus_dead d WHERE d.consumer = r.consumer AND status = 0)
			FROM bus_reader r GROUP BY consumer ORDER BY consumer`)
		return err
	})
	return all, err
}
