package bus

import (
	"context"

	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

type idempotentRequest struct {
	tenant string
	key    *wire.Once
}

// answerIdempotent runs a request once per key and stores the answer in the same transaction. An error is not stored.
func answerIdempotent[T any](
	ctx context.Context, b *Bus, tx *sqldb.Tx, r idempotentRequest, do func(now wire.Stamp) (T, error),
) (answer T, replay bool, err error) {
	now, err := b.now(ctx, tx)
	if err != nil {
		return answer, false, err
	}
	keys := idempotency.Keys{Service: "bus", Retention: b.cfg.KeyRetention}
	request := idempotency.Request{Tenant: r.tenant, Key: r.key, At: now}
	return idempotency.DoJSON(ctx, tx, keys, request, func() (T, error) { return do(now) })
}
