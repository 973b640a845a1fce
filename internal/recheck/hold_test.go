package recheck

import (
	"context"
	"errors"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

// TestACancelSeesTheEndThatIsBeingWritten cancels a request while the results of its last batch
// are written, on PostgreSQL: what has ended stays as it is.
func TestACancelSeesTheEndThatIsBeingWritten(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		if r.db.Dialect() == sqldb.SQLite {
			t.Skip("SQLite has one writer")
		}
		const id, execution = "01M7P32G2PAKEB067FGFC6CEV9", "01a1ec31-4056-7048-8bb0-9d0670dd8e78"
		r.exec(
			`INSERT INTO pdca_request (tenant_id, id, status, dry_run, body, total, batch_size, batch, execution, actor,
			correlation_id, created_at, updated_at)
			VALUES ($1, $2, $3, 0, '{}', 1, 1, 1, $4, 'u', 'c', 1, 1)`,
			tenantA,
			id,
			int64(Running),
			execution,
		)
		key, err := canonical.ParseIdempotencyKey("k", "POST /pdca/recheck/"+id+"/cancel", nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &canceling{
			r: NewRechecks(r.Strategies, RecheckConfig{Now: time.Now}), call: Caller{Tenant: tenantA},
			id: id, key: key, execution: execution,
		}
		waits, err := sqltest.During(t, r.db, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE pdca_request SET status = $3, execution = '' WHERE tenant_id = $1 AND id "+
				"= $2",
				tenantA, id, int64(Succeeded))
			return err
		}, func() error { return c.r.write(t.Context(), "test", c.save) })
		if !waits || !errors.Is(err, errMoved) {
			t.Errorf("it waits: %t, %v; want that it looks again", waits, err)
		}
	})
}
