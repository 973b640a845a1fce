package store

import (
	"context"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// compactChunk is how many deltas one job compacts: jobs are short.
const compactChunk = 5000

// compactLock is the advisory lock of the process that compacts: "fold" in ASCII.
const compactLock int64 = 0x666f6c64

const compactCountDeltas = `WITH gone AS (DELETE FROM engine_count_delta
			WHERE id = ANY(ARRAY(SELECT id FROM engine_count_delta ORDER BY id LIMIT $1))
			RETURNING tenant, graph_id, status, n),
		compacted AS (INSERT INTO engine_count AS c (tenant, graph_id, status, n)
			SELECT tenant, graph_id, status, sum(n) FROM gone GROUP BY tenant, graph_id, status
			ON CONFLICT (tenant, graph_id, status) DO UPDATE SET n = c.n + excluded.n)
		SELECT count(*) FROM gone`

// CompactCounts adds the deltas of counts to the counts, and gives how many there were. Of the processes that call it
// every few seconds one does the work. SQLite has no deltas.
func (s *Store) CompactCounts(ctx context.Context) (int, error) {
	all := 0
	for _, compact := range []string{compactCountDeltas, compactPassing} {
		for s.pg {
			n, err := s.compactSome(ctx, compact)
			if all += n; err != nil {
				return all, fault.Wrap("store.compact", err)
			}
			if n < compactChunk {
				break
			}
		}
	}
	return all, nil
}

func (s *Store) compactSome(ctx context.Context, compact string) (n int, err error) {
	err = s.db.Write(ctx, sqldb.Other, func(ctx context.Context, sql *sqldb.Tx) error {
		n = 0
		var mine bool
		if err := sql.Row(ctx, "SELECT pg_try_advisory_xact_lock($1)", compactLock).Scan(&mine); err != nil || !mine {
			return err
		}
		return sql.Row(ctx, compact, compactChunk).Scan(&n)
	})
	return n, err
}
