// Package once makes requests safe to repeat, for whoever keeps their answers in a
// table of its own: the first time that a key is seen the request is done and its
// answer remembered, in the same transaction; afterwards the answer is given again.
//
// The table belongs to the package that uses it, and so do its migrations:
//
//	tenant, endpoint, key, hash, members, at, answer; PRIMARY KEY (tenant, endpoint, key)
//
// The engine does not use it: keys of executions are in their logs.
package once

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// Keys are the keys in a table.
type Keys struct {
	Table     string
	Retention time.Duration // how long a key is remembered
}

// Select is the statement that looks a key up, for tests that ask for its plan.
func (k Keys) Select() string {
	return "SELECT hash, members, at, answer FROM " + k.Table + " WHERE tenant = $1 AND endpoint = $2 AND key = $3"
}

// Recall finds the answer that is remembered with a key, nil when there is none. The
// same key with another body is a conflict. now is in milliseconds since 1970.
func (k Keys) Recall(ctx context.Context, tx *sqldb.Tx, tenant string, once *wire.Once, now int64) ([]byte, error) {
	var hash []byte
	var members, answer string
	var at int64
	err := tx.Row(ctx, k.Select(), tenant, once.Endpoint, once.Key).Scan(&hash, &members, &at, &answer)
	expires := at + k.Retention.Milliseconds()
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
	return []byte(answer), nil
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
func text(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// Do does a request the first time that its key is seen, and remembers the answer
// in the same transaction. It gives the answer and whether it was remembered from
// before. An error is not remembered.
func (k Keys) Do(
	ctx context.Context, tx *sqldb.Tx, tenant string, once *wire.Once, now int64, do func() ([]byte, error),
) (answer []byte, replay bool, err error) {
	fresh, err := k.reserve(ctx, tx, tenant, once, now)
	if err != nil {
		return nil, false, err
	}
	if !fresh {
		if known, err := k.Recall(ctx, tx, tenant, once, now); err != nil || known != nil {
			return known, known != nil, err
		}
	}
	if answer, err = do(); err != nil {
		return nil, false, err
	}
	return answer, false, k.remember(ctx, tx, tenant, once, now, answer)
}

// reserve puts a row down for a key, or holds the one that is there until the
// transaction ends. Another transaction at the same key is waited for here, so what
// Recall reads afterwards is final, also of a key that has expired.
func (k Keys) reserve(ctx context.Context, tx *sqldb.Tx, tenant string, once *wire.Once, now int64) (fresh bool, err error) {
	var answer string
	err = tx.Row(ctx, "INSERT INTO "+k.Table+` AS k (tenant, endpoint, key, hash, members, at, answer)
		VALUES ($1, $2, $3, $4, '{}', $5, '') ON CONFLICT (tenant, endpoint, key) DO UPDATE SET at = k.at RETURNING answer`,
		tenant, once.Endpoint, once.Key, once.Hash[:], now).Scan(&answer)
	return answer == "", err
}

func (k Keys) remember(ctx context.Context, tx *sqldb.Tx, tenant string, once *wire.Once, now int64, answer []byte) error {
	digests := make(map[string]uint32, len(once.Members))
	for _, m := range once.Members {
		digests[m.Name] = m.Digest
	}
	members, err := json.Marshal(digests, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE "+k.Table+` SET hash = $4, members = $5, at = $6, answer = $7
		WHERE tenant = $1 AND endpoint = $2 AND key = $3`,
		tenant, once.Endpoint, once.Key, once.Hash[:], string(members), now, string(answer))
	return err
}

// Retain deletes some keys that have expired and gives how many.
func (k Keys) Retain(ctx context.Context, tx *sqldb.Tx, now int64, limit int) (int64, error) {
	return tx.Exec(ctx, "DELETE FROM "+k.Table+` WHERE (tenant, endpoint, key) IN
		(SELECT tenant, endpoint, key FROM `+k.Table+` WHERE at < $1 ORDER BY at LIMIT $2) AND at < $1`, // none that is used anew meanwhile
		now-k.Retention.Milliseconds(), limit)
}
