package records

import (
	"context"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/sqldb"
)

// compactChunk is how many changes of counts one job compacts: jobs are short.
const compactChunk = 5000

// Compact adds the changes of the counts by owner to the counts, and gives how many there
// were. It is called every few seconds, by any number of processes: one does the work. On
// SQLite, where counts are changed directly, it does nothing.
func (s *Records) Compact(ctx context.Context) (all int, err error) {
	for n := compactChunk; s.sql.shared && n == compactChunk; {
		err := s.Write(ctx, "compact", func(ctx context.Context, tx *sqldb.Tx) error {
			n = 0
			mine, err := kit.CompactRecordCounts.Try(ctx, tx)
			if err != nil || !mine {
				return err
			}
			return tx.Row(ctx, compactCounts, compactChunk).Scan(&n)
		})
		all += n
		if s.compacted.Add(int64(n)); err != nil {
			return all, err
		}
	}
	// Lists, which add up the counts, pass over each deleted row until it is vacuumed.
	if s.compacted.Load() < compactChunk {
		return all, nil
	}
	if err := s.DB.Vacuum(ctx, "records_count"); err != nil {
		return all, s.Wrap("vacuum", err)
	}
	s.compacted.Store(0)
	return all, nil
}
