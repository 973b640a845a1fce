package bulk

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
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

const selectKey = "SELECT hash, members, at, answer FROM bulk_key WHERE tenant = $1 AND endpoint = $2 AND key = $3"

// recall finds the answer that is remembered with a key, nil when there is none.
// The same key with another body is a conflict.
func (s *Bulks) recall(ctx context.Context, tx *sqldb.Tx, tenant string, once *wire.Once, now int64) (*Answer, error) {
	var hash []byte
	var members, stored string
	var at int64
	err := tx.Row(ctx, selectKey, tenant, once.Endpoint, once.Key).Scan(&hash, &members, &at, &stored)
	expires := at + s.cfg.KeyRetention.Milliseconds()
	switch {
	case errors.Is(err, sqldb.ErrNoRow):
		return nil, nil
	case err != nil:
		return nil, err
	case expires <= now:
		return nil, nil
	case string(hash) != string(once.Hash[:]):
		return nil, conflict(once, members, at, expires)
	}
	ans := &Answer{Replay: true}
	return ans, json.Unmarshal([]byte(stored), ans)
}

// conflict says that a key was used before with another body, and how they differ.
func conflict(once *wire.Once, members string, at, expires int64) error {
	var digests map[string]uint32
	if err := json.Unmarshal([]byte(members), &digests); err != nil {
		return err
	}
	var first []wire.Member
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		first = append(first, wire.Member{Name: name, Digest: digests[name]})
	}
	return fault.New(fault.Conflict, "IDEMPOTENCY_CONFLICT",
		"this idempotency key was used before with another body; repeat the first request unchanged or use a new key").
		With(map[string]any{
			"differs":     wire.Differing(first, once.Members),
			"firstUsedAt": text(at),
			"expiresAt":   text(expires),
		})
}

// text is an instant as it leaves the server.
func text(ms int64) string { return instant(ms).Format("2006-01-02T15:04:05.000Z") }

// once does a command the first time that its key is seen, and remembers the answer
// in the same transaction. An error is not remembered.
func (s *Bulks) once(
	ctx context.Context, tx *sqldb.Tx, tenant string, once *wire.Once, do func(now int64) (Answer, error),
) (Answer, error) {
	now, err := s.now(ctx, tx)
	if err != nil {
		return Answer{}, err
	}
	fresh, err := s.reserve(ctx, tx, tenant, once, now)
	if err != nil {
		return Answer{}, err
	}
	if !fresh {
		if known, err := s.recall(ctx, tx, tenant, once, now); err != nil || known != nil {
			return deref(known), err
		}
	}
	ans, err := do(now)
	if err != nil {
		return Answer{}, err
	}
	ans.Key = once.Key
	return ans, remember(ctx, tx, tenant, once, now, &ans)
}

func deref(ans *Answer) Answer {
	if ans == nil {
		return Answer{}
	}
	return *ans
}

// reserve puts a row down for a key, or holds the one that is there until the
// transaction ends. Another transaction at the same key is waited for here, so what
// recall reads afterwards is final, also of a key that has expired.
func (s *Bulks) reserve(ctx context.Context, tx *sqldb.Tx, tenant string, once *wire.Once, now int64) (fresh bool, err error) {
	var answer string
	err = tx.Row(ctx, `INSERT INTO bulk_key AS k (tenant, endpoint, key, hash, members, at, answer)
		VALUES ($1, $2, $3, $4, '{}', $5, '') ON CONFLICT (tenant, endpoint, key) DO UPDATE SET at = k.at RETURNING answer`,
		tenant, once.Endpoint, once.Key, once.Hash[:], now).Scan(&answer)
	return answer == "", err
}

func remember(ctx context.Context, tx *sqldb.Tx, tenant string, once *wire.Once, now int64, ans *Answer) error {
	digests := make(map[string]uint32, len(once.Members))
	for _, m := range once.Members {
		digests[m.Name] = m.Digest
	}
	members, err := json.Marshal(digests, json.Deterministic(true))
	if err != nil {
		return err
	}
	answer, err := json.Marshal(ans)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE bulk_key SET hash = $4, members = $5, at = $6, answer = $7
		WHERE tenant = $1 AND endpoint = $2 AND key = $3`,
		tenant, once.Endpoint, once.Key, once.Hash[:], string(members), now, string(answer))
	return err
}

// retainKeys deletes some keys that have expired and gives how many.
func (s *Bulks) retainKeys(ctx context.Context) (deleted int64, err error) {
	err = s.write(ctx, "bulk.retain", func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		deleted, err = tx.Exec(ctx, `DELETE FROM bulk_key WHERE (tenant, endpoint, key) IN
			(SELECT tenant, endpoint, key FROM bulk_key WHERE at < $1 ORDER BY at LIMIT $2) AND at < $1`, // none that is used anew meanwhile
			now-s.cfg.KeyRetention.Milliseconds(), s.cfg.limits.retain)
		return err
	})
	return deleted, err
}
