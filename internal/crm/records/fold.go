package records

import (
	"context"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// foldChunk is how many changes of counts one job folds: jobs are short.
const foldChunk = 5000

// foldLock is the advisory lock of whoever folds: "rfld" in ASCII.
const foldLock int64 = 0x72666c64

const foldCounts = `WITH gone AS (DELETE FROM records_count
			WHERE seq > 0 AND seq = ANY(ARRAY(SELECT seq FROM records_count WHERE seq > 0 ORDER BY seq LIMIT $1)) RETURNING tenant_id, object, owner_id, n),
		folded AS (INSERT INTO records_count AS c (tenant_id, object, owner_id, seq, n)
			SELECT tenant_id, object, owner_id, 0, sum(n) FROM gone GROUP BY tenant_id, object, owner_id ORDER BY tenant_id, object, owner_id
			ON CONFLICT (tenant_id, object, owner_id, seq) DO UPDATE SET n = c.n + excluded.n)
		SELECT count(*) FROM gone`

// Fold adds the changes of the counts by owner to the counts, and gives how many there
// were. It is called every few seconds, by any number of processes: one does the work. On
// SQLite, where counts are changed directly, it does nothing.
func (s *Records) Fold(ctx context.Context) (folded int, err error) {
	for s.db.Dialect() == sqldb.Postgres {
		n, err := s.foldSome(ctx)
		folded += n
		s.folded.Add(int64(n))
		if err != nil {
			return folded, fault.Wrap("records.fold", err)
		}
		if n < foldChunk {
			return folded, s.forget(ctx)
		}
	}
	return 0, nil
}

// forget has the changes that were folded forgotten once they are many: lists, which add up
// the counts, pass over each of them till then.
func (s *Records) forget(ctx context.Context) error {
	if s.folded.Load() < foldChunk {
		return nil
	}
	if err := s.db.Vacuum(ctx, "records_count"); err != nil {
		return fault.Wrap("records.forget", err)
	}
	s.folded.Store(0)
	return nil
}

func (s *Records) foldSome(ctx context.Context) (n int, err error) {
	err = s.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		n = 0
		var mine bool
		if err := tx.Row(ctx, "SELECT pg_try_advisory_xact_lock($1)", foldLock).Scan(&mine); err != nil || !mine {
			return err
		}
		return tx.Row(ctx, foldCounts, foldChunk).Scan(&n)
	})
	return n, err
}
