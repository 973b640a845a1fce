package bus

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
)

// Level is the state of a consumer over all partitions and tenants, for metrics.
type Level struct {
	Consumer                          string
	Pending                           int64 // events of the stream that it has not consumed, as last committed
	Retrying, Blocked                 int64 // blocked keys: for a retry, for a decision
	Dead                              int64 // dead letters that are open
	Applied, Duplicate, Stale, Failed int64 // what was done with events so far
}

// Levels gives the state of all consumers that have ever read.
func (b *Bus) Levels(ctx context.Context) (all []Level, err error) {
	err = b.read(ctx, "bus.levels", func(ctx context.Context, tx *sqldb.Tx) error {
		all = nil
		for row, err := range tx.Query(ctx,
			`SELECT consumer, CAST(sum(pending) AS BIGINT), CAST(sum(applied) AS BIGINT),
			CAST(sum(duplicate) AS BIGINT), CAST(sum(stale) AS BIGINT), CAST(sum(failed) AS BIGINT),
			(SELECT count(*) FROM bus_lane l WHERE l.consumer = r.consumer AND state = 0),
			(SELECT count(*) FROM bus_lane l WHERE l.consumer = r.consumer AND state = 1),
			(SELECT count(*) FROM bus_dead d WHERE d.consumer = r.consumer AND status = 0)
			FROM bus_reader r GROUP BY consumer ORDER BY consumer`) {
			if err != nil {
				return err
			}
			var l Level
			if err := row.Scan(&l.Consumer, &l.Pending, &l.Applied, &l.Duplicate, &l.Stale, &l.Failed, &l.Retrying,
				&l.Blocked,
				&l.Dead); err != nil {
				return err
			}
			all = append(all, l)
		}
		return nil
	})
	return all, err
}
