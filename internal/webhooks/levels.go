package webhooks

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
)

// Levels are numbers for metrics, of all tenants.
type Levels struct {
	States map[State]int64 // webhooks by state
	Open   int64           // deliveries that are not settled
	Missed int64           // webhooks with too many of them
}

// Levels reads them.
func (w *Webhooks) Levels(ctx context.Context) (l Levels, err error) {
	err = w.read(ctx, "levels", func(ctx context.Context, tx *sqldb.Tx) error {
		l = Levels{States: map[State]int64{Active: 0, Parked: 0, Paused: 0, Disabled: 0}}
		for row, err := range tx.Query(ctx, `SELECT state, count(*), CAST(sum(open_count) AS bigint),
			sum(CASE WHEN missed_at > 0 THEN 1 ELSE 0 END) FROM webhooks_webhook GROUP BY state`) {
			var state State
			var n, open, missed int64
			if err == nil {
				err = row.Scan(&state, &n, &open, &missed)
			}
			if err != nil {
				return err
			}
			l.States[state] = n
			l.Open += open
			l.Missed += missed
		}
		return nil
	})
	return l, err
}
