package bulk

import (
	"context"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
)

// Answer is the result of a command: accepted, or refused by a guard. It is stored with the idempotency key.
type Answer struct {
	Replay        bool   `json:"-"` // a stored answer; nothing happened now
	BulkID        string `json:"bulk"`
	Status        Status `json:"status"`
	Total         int    `json:"total"`
	CorrelationID string `json:"corr"`
	Key           string `json:"key"`
	Refused       Guard  `json:"refused,omitempty"` // "" when accepted
}

func (s *Bulks) keys() idempotency.Keys {
	return idempotency.Keys{Service: "bulk", Retention: s.cfg.KeyRetention}
}

func (s *Bulks) request(tenant string, key *canonical.IdempotencyKey, now int64) idempotency.Request {
	return idempotency.Request{Tenant: tenant, Key: key, At: canonical.Stamp(now)}
}

// recall returns the answer stored with a key; nil: none.
func (s *Bulks) recall(ctx context.Context, tx *sqldb.Tx, r idempotency.Request) (*Answer, error) {
	stored, err := s.keys().Recall(ctx, tx, r)
	if stored == nil || err != nil {
		return nil, err
	}
	ans := &Answer{Replay: true}
	return ans, json.Unmarshal(stored, ans)
}

// idempotent runs a command once per key and stores the answer in the same transaction. An error is not stored.
func (s *Bulks) idempotent(
	ctx context.Context, tx *sqldb.Tx, r idempotency.Request, do func() (Answer, error),
) (ans Answer, err error) {
	ans, replay, err := idempotency.DoJSON(ctx, tx, s.keys(), r, func() (Answer, error) {
		ans, err := do()
		ans.Key = r.Key.Key
		return ans, err
	})
	ans.Replay = replay
	return ans, err
}
