// Package idempotency makes requests safe to repeat: the first request with a key is executed and its
// answer stored in the same transaction; a later one with the same key and body gets that answer again,
// and one with another body is a conflict. The answers of all services are in one table, and Retention
// deletes those that have expired.
//
// The engine does not use it: keys of executions are in their logs and in engine_key.
//
// The invariant: a key and the effect of its request are committed together, and a second request with
// the key waits for the outcome of the first.
package idempotency

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

//go:embed migrations
var files embed.FS

// Migration is the table of this package, for sqldb.Config. It takes over the tables of keys that services
// had of their own, so it comes after the migrations of all services.
func Migration() sqldb.Migration {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return sqldb.Migration{Name: "idempotency", FS: sub}
}

// DefaultRetention is how long a key is remembered unless somebody says otherwise.
const DefaultRetention = 30 * 24 * time.Hour

// Keys are the idempotency keys of one service.
type Keys struct {
	Service   string        // the same key and endpoint of another service is another key
	Retention time.Duration // how long a key is remembered; 0: DefaultRetention
}

// Request is what makes a request safe to repeat.
type Request struct {
	Tenant string
	Key    *wire.Once // nil: it is executed every time, and nothing is stored
	At     wire.Stamp // now
}

// Select is the statement that looks a key up.
const Select = `SELECT hash, members, at, answer FROM idempotency_request
	WHERE tenant = $1 AND service = $2 AND endpoint = $3 AND key = $4`

// Recall finds the answer that is stored with a key, nil when there is none. The same key with another
// body is fault.Conflict.
func (k Keys) Recall(ctx context.Context, tx *sqldb.Tx, r Request) ([]byte, error) {
	if r.Key == nil {
		return nil, nil
	}
	var hash []byte
	var members, answer string
	var at wire.Stamp
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

// stamps is how long a key is remembered.
func stamps(retention time.Duration) wire.Stamp {
	if retention == 0 {
		retention = DefaultRetention
	}
	return wire.Stamp(retention.Milliseconds())
}

// conflict says that a key was used before with another body, and how they differ.
func conflict(key *wire.Once, members string, at, expires wire.Stamp) error {
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
			"differs":     wire.Differing(first, key.Members),
			"firstUsedAt": text(at),
			"expiresAt":   text(expires),
		})
}

// text is an instant as it leaves the server.
func text(at wire.Stamp) string {
	return time.UnixMilli(int64(at)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// Do executes a request the first time that its key is used, and stores the answer in the same
// transaction. It gives the answer and whether that is a replay. An error is not stored.
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

// DoJSON is Do of a request whose answer is stored as JSON. The answer is always what was stored, so
// that a replay gives an equal one.
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

// reserve inserts a row for a key, or locks the one that is there until the transaction ends. Another
// transaction with the same key is waited for here, so what Recall reads afterwards is final, also of a
// key that has expired.
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
