package bus

import (
	"context"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/once"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// idempotentRequest identifies a request to the bus that is safe to repeat.
type idempotentRequest struct {
	tenant string
	key    *wire.Once
}

// keys are the idempotency keys of decisions and replays.
func (b *Bus) keys() once.Keys { return once.Keys{Table: "bus_once", Retention: b.cfg.KeyRetention} }

// answerIdempotent carries out a request once per key and stores the answer in the same transaction. A repetition gets
// the stored answer. An error is not stored.
func answerIdempotent[T any](
	ctx context.Context, b *Bus, tx *sqldb.Tx, r idempotentRequest, do func(now wire.Stamp) (T, error),
) (answer T, replay bool, err error) {
	now, err := b.now(ctx, tx)
	if err != nil {
		return answer, false, err
	}
	stored, replay, err := b.keys().Do(ctx, tx, r.tenant, r.key, int64(now), func() ([]byte, error) {
		first, err := do(now)
		if err != nil {
			return nil, err
		}
		return json.Marshal(&first)
	})
	if err != nil {
		return answer, false, err
	}
	return answer, replay, json.Unmarshal(stored, &answer)
}

// retainKeys deletes keys that have expired.
func (r *retention) retainKeys(ctx context.Context, tx *sqldb.Tx, now wire.Stamp) (int64, error) {
	return r.bus.keys().Retain(ctx, tx, int64(now), retainRows)
}
