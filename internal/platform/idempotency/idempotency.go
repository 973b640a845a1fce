// Package idempotency makes requests safe to repeat: the first request with a key is executed and its answer stored
// in the same transaction; the same key and body get that answer again, another body is a conflict. All services
// share one table, and Retention deletes expired keys.
//
// The engine keeps its own keys in engine_key.
//
// The invariant: a key and the effect of its request are committed together, and a concurrent request with the key
// waits for the outcome.
package idempotency

import (
	"context"
	"embed"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

//go:embed migrations
var files embed.FS

// Migration takes over the key tables that services used to have, so it comes after theirs.
func Migration() sqldb.Migration { return sqldb.Tables("idempotency", files) }

const DefaultRetention = 30 * 24 * time.Hour

// Keys are the idempotency keys of one service.
type Keys struct {
	Service   string        // a namespace for keys and endpoints
	Retention time.Duration // 0: DefaultRetention
}

// Request identifies a request.
type Request struct {
	Tenant string
	Key    *canonical.IdempotencyKey // nil: not idempotent, nothing is stored
	At     canonical.Stamp           // now
}

// Select looks a key up.
const Select = `SELECT hash, members, at, answer FROM idempotency_request
	WHERE tenant = $1 AND service = $2 AND endpoint = $3 AND key = $4`

// Recall returns the answer stored with a key; nil: none. Another body is fault.Conflict.
func (k Keys) Recall(ctx context.Context, tx *sqldb.Tx, r Request) ([]byte, error) {
	if r.Key == nil {
		return nil, nil
	}
	var hash []byte
	var members, answer string
	var at canonical.Stamp
	err := tx.Row(ctx, Select, r.Tenant, k.Service, r.Key.Endpoint, r.Key.Key).Scan(&hash, &members, &at, &answer)
	expires := at + stamps(k.Retention)
	switch {
	case errors.Is(err, sqldb.ErrNoRow):
		return nil, nil
	case err != nil:
		return nil, err
	case expires <= r.At:
		return nil, nil
	case string(hash) != string(r.Key.Hash[:]):
		return nil, conflict(r.Key, members, at, expires)
	}
	return []byte(answer), nil
}

func stamps(retention time.Duration) canonical.Stamp {
	if retention == 0 {
		retention = DefaultRetention
	}
	return canonical.Stamp(retention.Milliseconds())
}

func conflict(key *canonical.IdempotencyKey, members string, at, expires canonical.Stamp) error {
	var digests map[string]uint32
	if err := json.Unmarshal([]byte(members), &digests); err != nil {
		return err
	}
	var first []canonical.Member
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		first = append(first, canonical.Member{Name: name, Digest: digests[name]})
	}
	return fault.New(fault.Conflict, "IDEMPOTENCY_CONFLICT",
		"this idempotency key was used before with another body; repeat the first request unchanged or use a new key").
		With(map[string]any{
			"differs":     canonical.Differing(first, key.Members),
			"firstUsedAt": text(at),
			"expiresAt":   text(expires),
		})
}

func text(at canonical.Stamp) string {
	return time.UnixMilli(int64(at)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// Do executes a request once per key and stores the answer in the same transaction. An error is not stored.
func (k Keys) Do(
	ctx context.Context, tx *sqldb.Tx, r Request, do func() ([]byte, error),
) (answer []byte, replay bool, err error) {
	if r.Key == nil {
		answer, err = do()
		return answer, false, err
	}
	fresh, err := k.reserve(ctx, tx, r)
	if err != nil {
		return nil, false, err
	}
	if !fresh {
		if known, err := k.Recall(ctx, tx, r); err != nil || known != nil {
			return known, known != nil, err
		}
	}
	if answer, err = do(); err != nil {
		return nil, false, err
	}
	return answer, false, k.store(ctx, tx, r, answer)
}

// DoJSON is Do with an answer of JSON. The first answer is decoded from what was stored too, so a replay equals it.
func DoJSON[T any](
	ctx context.Context, tx *sqldb.Tx, k Keys, r Request, do func() (T, error),
) (answer T, replay bool, err error) {
	stored, replay, err := k.Do(ctx, tx, r, func() ([]byte, error) {
		first, err := do()
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

// reserve inserts a row for a key or locks the existing one, so it waits for a concurrent transaction with the key,
// and what Recall reads next is final, also for an expired key.
func (k Keys) reserve(ctx context.Context, tx *sqldb.Tx, r Request) (fresh bool, err error) {
	var answer string
	err = tx.Row(ctx, `INSERT INTO idempotency_request AS k (tenant, service, endpoint, key, hash, members, at, answer)
		VALUES ($1, $2, $3, $4, $5, '{}', $6, '')
		ON CONFLICT (tenant, service, endpoint, key) DO UPDATE SET at = k.at RETURNING answer`,
		r.Tenant, k.Service, r.Key.Endpoint, r.Key.Key, r.Key.Hash[:], r.At).Scan(&answer)
	return answer == "", err
}

func (k Keys) store(ctx context.Context, tx *sqldb.Tx, r Request, answer []byte) error {
	digests := make(map[string]uint32, len(r.Key.Members))
	for _, m := range r.Key.Members {
		digests[m.Name] = m.Digest
	}
	members, err := json.Marshal(digests, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE idempotency_request SET hash = $5, members = $6, at = $7, answer = $8
		WHERE tenant = $1 AND service = $2 AND endpoint = $3 AND key = $4`,
		r.Tenant, k.Service, r.Key.Endpoint, r.Key.Key, r.Key.Hash[:], string(members), r.At, string(answer))
	return err
}
