package recheck

import (
	"context"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

const (
	lookEvery   = time.Second      // between two looks for batches that ended elsewhere
	retainEvery = 10 * time.Minute // between two looks for what is past its time
	retainMost  = 100              // requests that one transaction deletes
	retainItems = MaxTotal         // items of these: others write to the database too
)

// Run sees batches to their end and starts those that follow, until ctx ends. Any number
// of processes may do so.
func (r *Rechecks) Run(ctx context.Context) {
	var retained time.Time
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		r.attempt(ctx, "batches of re-checks could not be settled", r.sweep)
		if now := time.Now(); now.Sub(retained) >= retainEvery {
			retained = now
			r.attempt(ctx, "requests for re-checks that are past their time could not be deleted", r.retain)
		}
		select {
		case <-r.Wakeup():
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// attempt does what can be done again later. While the database is away nothing is logged: it does so itself.
func (r *Rechecks) attempt(ctx context.Context, failed string, do func(context.Context) error) {
	err := do(context.WithoutCancel(ctx))
	if err != nil && !fault.Passes(err) {
		r.cfg.Log.ErrorContext(ctx, failed, "error", err)
	}
}

// sweep settles all batches that have ended.
func (r *Rechecks) sweep(ctx context.Context) error {
	return fault.Wrap("recheck.sweep", r.Each(ctx, r.db, r.settle))
}

// Tenants are those who have requests that run, in order.
func (r *Rechecks) Tenants(ctx context.Context) (tenants []string, err error) {
	err = r.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		tenants, err = sqldb.Collect(ctx, tx, sqldb.Column[string],
			"SELECT DISTINCT tenant_id FROM pdca_request WHERE execution <> '' ORDER BY tenant_id")
		return err
	})
	return tenants, fault.Wrap("recheck.tenants", err)
}

// retain deletes requests that ended long ago, with all that belongs to them.
func (r *Rechecks) retain(ctx context.Context) error {
	for more := true; more; {
		err := r.write(ctx, "recheck.retain", func(ctx context.Context, tx *sqldb.Tx) error {
			now, err := r.now(ctx, tx)
			if err != nil {
				return err
			}
			more, err = r.deleteOld(ctx, tx, int64(now)-r.cfg.Retention.Milliseconds())
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteOld deletes some requests that ended before an instant and says whether there may
// be more.
func (r *Rechecks) deleteOld(ctx context.Context, tx *sqldb.Tx, before int64) (more bool, err error) {
	type place struct{ tenant, id string }
	var old []place
	found, items := 0, 0
	err = tx.Batch(ctx, sqldb.Stmt{
		Query: "SELECT tenant_id, id, total FROM pdca_request WHERE execution = '' AND updated_at < $1 ORDER BY " +
			"updated_at LIMIT $2",
		Args: []any{before, retainMost},
		Row: func(row *sqldb.Row) error {
			var p place
			var total int
			err := row.Scan(&p.tenant, &p.id, &total)
			found++
			if items += total; items <= retainItems {
				old = append(old, p)
			}
			return err
		},
	})
	if err != nil {
		return false, err
	}
	var stmts []sqldb.Stmt
	for _, p := range old {
		for _, table := range []string{"pdca_artifact", "pdca_result", "pdca_item"} {
			stmts = append(stmts, sqldb.Stmt{
				Query: "DELETE FROM " + table + " WHERE tenant_id = $1 AND request_id = $2",
				Args:  []any{p.tenant, p.id},
			})
		}
		stmts = append(stmts, sqldb.Stmt{
			Query: "DELETE FROM pdca_request WHERE tenant_id = $1 AND id = $2",
			Args:  []any{p.tenant, p.id},
		})
	}
	return found == retainMost || len(old) < found, tx.Batch(ctx, stmts...)
}
