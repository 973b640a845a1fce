package bulk

import (
	"context"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/once"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// Answer is what a command on a bulk led to: accepted, or refused by a guard. It is
// what is remembered with the key, so a replay gives an equal one.
type Answer struct {
	Replay        bool   `json:"-"` // answered from memory; nothing happened now
	BulkID        string `json:"bulk"`
	Status        Status `json:"status"`
	Total         int    `json:"total"`
	CorrelationID string `json:"corr"`
	Key           string `json:"key"`
	Refused       Guard  `json:"refused,omitempty"` // "" when accepted
}

// keys are the keys of commands on bulks.
func (s *Bulks) keys() once.Keys { return once.Keys{Table: "bulk_key", Retention: s.cfg.KeyRetention} }

// recall finds the answer that is remembered with a key, nil when there is none.
func (s *Bulks) recall(ctx context.Context, tx *sqldb.Tx, tenant string, key *wire.Once, now int64) (*Answer, error) {
	stored, err := s.keys().Recall(ctx, tx, tenant, key, now)
	if stored == nil || err != nil {
		return nil, err
	}
	ans := &Answer{Replay: true}
	return ans, json.Unmarshal(stored, ans)
}

// once does a command the first time that its key is seen, and remembers the answer
// in the same transaction. An error is not remembered.
func (s *Bulks) once(
	ctx context.Context, tx *sqldb.Tx, tenant string, key *wire.Once, do func(now int64) (Answer, error),
) (ans Answer, err error) {
	now, err := s.now(ctx, tx)
	if err != nil {
		return Answer{}, err
	}
	stored, replay, err := s.keys().Do(ctx, tx, tenant, key, now, func() ([]byte, error) {
		ans, err := do(now)
		if err != nil {
			return nil, err
		}
		ans.Key = key.Key
		return json.Marshal(&ans)
	})
	if err != nil {
		return Answer{}, err
	}
	err = json.Unmarshal(stored, &ans)
	ans.Replay = replay
	return ans, err
}

func deref(ans *Answer) Answer {
	if ans == nil {
		return Answer{}
	}
	return *ans
}

// retainKeys deletes some keys that have expired and gives how many.
func (s *Bulks) retainKeys(ctx context.Context) (deleted int64, err error) {
	err = s.write(ctx, "bulk.retain", func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		deleted, err = s.keys().Retain(ctx, tx, now, s.cfg.limits.retain)
		return err
	})
	return deleted, err
}
