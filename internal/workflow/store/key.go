package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// digestOf names a key in 16 bytes. Lengths go in too, so that no two refs read alike.
func digestOf(ref *engine.KeyRef) []byte {
	h := sha256.New()
	var n [4]byte
	for _, s := range []string{ref.Tenant, ref.Endpoint, ref.Key} {
		binary.BigEndian.PutUint32(n[:], uint32(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	return h.Sum(nil)[:16]
}

const selectKey = `SELECT hash, at, body FROM engine_key
	WHERE digest = $1 AND tenant = $2 AND endpoint = $3 AND key = $4`

func (t *tx) Keys(ctx context.Context, refs []engine.KeyRef) ([]*engine.KeyRow, error) {
	out := make([]*engine.KeyRow, len(refs))
	for i := range refs {
		ref := &refs[i]
		k := &engine.KeyRow{KeyRef: *ref}
		var hash []byte
		err := t.sql.Row(ctx, selectKey, digestOf(ref), ref.Tenant, ref.Endpoint, ref.Key).
			Scan(&hash, (*int64)(&k.At), &k.Body)
		if errors.Is(err, sqldb.ErrNoRow) {
			continue
		}
		if err != nil {
			return nil, fault.Wrap("store.keys", err)
		}
		copy(k.Hash[:], hash)
		out[i] = k
	}
	return out, nil
}

var errKeyInUse = fault.New(fault.Conflict, "IDEMPOTENCY_CONFLICT", "the key is in use")

// remember inserts keys. One that is there makes room when it has expired, else it is a conflict.
func (t *tx) remember(ctx context.Context, keys []engine.KeyRow) error {
	const insert = `INSERT INTO engine_key (digest, tenant, endpoint, key, hash, at, body)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (digest) DO NOTHING`
	for i := range keys {
		k := &keys[i]
		digest := digestOf(&k.KeyRef)
		args := []any{digest, k.Tenant, k.Endpoint, k.Key, k.Hash[:], int64(k.At), k.Body}
		n, err := t.sql.Exec(ctx, insert, args...)
		if err != nil {
			return err
		}
		if n == 1 {
			continue
		}
		n, err = t.sql.Exec(ctx, "DELETE FROM engine_key WHERE digest = $1 AND tenant = $2 AND at <= $3",
			digest, k.Tenant, int64(k.At-t.store.retention))
		if err != nil {
			return err
		}
		if n == 0 {
			return errKeyInUse
		}
		if _, err := t.sql.Exec(ctx, insert, args...); err != nil {
			return err
		}
	}
	return nil
}

// retainChunk is how many keys one job looks at: jobs are short.
const retainChunk = 500

// Keys are in order of insertion. Whether one has expired is for PostgreSQL's own clock to say: a
// process whose clock is wrong must not delete what others remember.
const (
	theOldest    = "SELECT id FROM (SELECT id, at FROM engine_key ORDER BY id LIMIT $1) AS oldest WHERE at < "
	deleteOldest = "DELETE FROM engine_key WHERE id IN (" + theOldest + "$2)"
	pgOldest     = "DELETE FROM engine_key WHERE id = ANY(ARRAY(" + theOldest + "least($2, (" + pgClock + ") - $3)))"
)

// Retain deletes up to limit keys that were used before an instant, oldest first, in short jobs of a
// lower priority than the engine's, and gives how many.
func (s *Store) Retain(ctx context.Context, before flow.Time, limit int) (int, error) {
	deleted := 0
	for deleted < limit {
		chunk := min(retainChunk, limit-deleted)
		query, args := deleteOldest, []any{chunk, int64(before)}
		if s.pg {
			query, args = pgOldest, append(args, int64(s.retention))
		}
		var n int64
		err := s.db.Write(ctx, sqldb.Other, func(ctx context.Context, sql *sqldb.Tx) (err error) {
			n, err = sql.Exec(ctx, query, args...)
			return err
		})
		if err != nil {
			return deleted, fault.Wrap("store.retain", err)
		}
		deleted += int(n)
		if n < int64(chunk) {
			return deleted, nil
		}
	}
	return deleted, nil
}
