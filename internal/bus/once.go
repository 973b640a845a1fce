package bus

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/once"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// request is what makes a request to the bus safe to repeat.
type request struct {
	tenant string
	once   *wire.Once
}

// keys are the keys of decisions and replays.
func (b *Bus) keys() once.Keys { return once.Keys{Table: "bus_once", Retention: b.cfg.KeyRetention} }

// answerOnce does a request the first time that its key is seen, and remembers the
// answer in the same transaction. An error is not remembered.
func answerOnce[T any](
	ctx context.Context, b *Bus, tx *sqldb.Tx, r request, do func(now wire.Stamp) (T, error),
) (answer T, replay bool, err error) {
	now, err := b.now(ctx, tx)
	if err != nil {
		return answer, false, err
	}
	stored, replay, err := b.keys().Do(ctx, tx, r.tenant, r.once, int64(now), func() ([]byte, error) {
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

// forgetChunk is how many rows one job deletes.
const forgetChunk = 500

// Forget deletes what is remembered of requests past its time, in short jobs: keys, and
// replays that ended long ago.
func (b *Bus) Forget(ctx context.Context) error {
	for {
		var n int64
		err := b.write(ctx, "bus.forget", func(ctx context.Context, tx *sqldb.Tx) error {
			now, err := b.now(ctx, tx)
			if err != nil {
				return err
			}
			if n, err = b.keys().Retain(ctx, tx, int64(now), forgetChunk); err != nil {
				return err
			}
			ended, err := tx.Exec(ctx, `DELETE FROM bus_replay WHERE status > 0 AND ended_at > 0 AND ended_at < $1 AND NOT EXISTS
				(SELECT 1 FROM bus_replay AS other WHERE other.id = bus_replay.id AND other.status = 0)`,
				int64(now)-(30*24*time.Hour).Milliseconds())
			n += ended
			return err
		})
		if err != nil || n == 0 {
			return err
		}
	}
}
