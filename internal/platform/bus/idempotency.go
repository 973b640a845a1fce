package bus

import (
	"context"

	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// idempotent executes a request the first time that its key is used, and stores the answer in the
// same transaction. An error is not stored.
func idempotent[T any](
	ctx context.Context, b *Bus, tx *sqldb.Tx, tenant string, key *wire.Once, do func(now wire.Stamp) (T, error),
) (answer T, replay bool, err error) {
	now, err := b.now(ctx, tx)
	if err != nil {
		return answer, false, err
	}
	keys := idempotency.Keys{Service: "bus", Retention: b.cfg.KeyRetention}
	r := idempotency.Request{Tenant: tenant, Key: key, At: now}
	return idempotency.DoJSON(ctx, tx, keys, r, func() (T, error) { return do(now) })
}
