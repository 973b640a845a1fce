package webhooks

import (
	"context"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// How what was retained long enough is deleted.
const (
	retainAfter = 10 * time.Minute
	retainMost  = 5_000 // rows at a time
)

// retainEvery deletes now and then until ctx ends.
func (w *Webhooks) retainEvery(ctx context.Context) {
	tick := time.NewTicker(retainAfter)
	defer tick.Stop()
	for ctx.Err() == nil {
		w.complain(ctx, w.retain(ctx))
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// retain deletes what was retained long enough: deliveries that are settled, those of webhooks that are gone, events
// without a delivery, and attempts.
func (w *Webhooks) retain(ctx context.Context) error {
	for _, query := range []string{
		`DELETE FROM webhooks_delivery WHERE (tenant_id, hook, seq) IN (SELECT tenant_id, hook, seq
			FROM webhooks_delivery AS d WHERE planned_at < $1 AND (state IN (3, 5) OR NOT EXISTS (SELECT 1
			FROM webhooks_webhook AS w WHERE w.tenant_id = d.tenant_id AND w.hook = d.hook)) LIMIT $2)`,
		`DELETE FROM webhooks_event WHERE (tenant_id, event_id) IN (SELECT tenant_id, event_id FROM webhooks_event AS e
			WHERE planned_at < $1 AND NOT EXISTS (SELECT 1 FROM webhooks_delivery AS d WHERE d.tenant_id = e.tenant_id
			AND d.event_id = e.event_id) LIMIT $2)`,
		`DELETE FROM webhooks_attempt WHERE (tenant_id, hook, seq, attempt) IN (SELECT tenant_id, hook, seq, attempt
			FROM webhooks_attempt WHERE tried_at < $1 LIMIT $2)`,
	} {
		for n := int64(retainMost); n == retainMost && ctx.Err() == nil; {
			err := w.write(ctx, "retain", func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
				var err error
				n, err = tx.Exec(ctx, query, now-stamps(w.cfg.Retention), retainMost)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
