package idempotency

import (
	"context"
	"log/slog"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

const (
	sweepEvery = 10 * time.Minute
	sweepRows  = 500                    // of one transaction
	maxRest    = 100 * time.Millisecond // after a transaction; otherwise as long as it took
)

// Retention deletes expired keys of all services, in any number of processes.
type Retention struct {
	DB  *sqldb.DB
	For time.Duration // as in Keys
	Log *slog.Logger
}

// Run deletes expired keys every ten minutes until ctx ends.
func (r *Retention) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		n, err := r.Sweep(ctx)
		switch {
		case err != nil && ctx.Err() == nil && !fault.Passes(err):
			r.Log.Warn("expired idempotency keys could not be deleted", "error", err)
		case n > 0:
			r.Log.Info("expired idempotency keys deleted", "keys", n)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// Sweep deletes all keys that have expired, in short transactions, and returns their number.
func (r *Retention) Sweep(ctx context.Context) (deleted int64, err error) {
	for ctx.Err() == nil {
		began, n := time.Now(), int64(0)
		err := r.DB.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			now, err := tx.Now(ctx)
			if err == nil {
				n, err = Retain(ctx, tx, canonical.Stamp(now), r.For, sweepRows)
			}
			return err
		})
		deleted += n
		if err != nil || n < sweepRows {
			return deleted, fault.Wrap("idempotency.retain", err)
		}
		select {
		case <-time.After(min(time.Since(began), maxRest)):
		case <-ctx.Done():
		}
	}
	return deleted, nil
}

// Retain deletes up to limit expired keys.
func Retain(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp, retention time.Duration, limit int) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM idempotency_request WHERE (tenant, service, endpoint, key) IN
		(SELECT tenant, service, endpoint, key FROM idempotency_request WHERE at < $1 ORDER BY at LIMIT $2)
		AND at < $1`, // none that is used again meanwhile
		now-stamps(retention), limit)
}
