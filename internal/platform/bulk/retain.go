package bulk

import (
	"context"
	"errors"

	"renga.dev/renga/internal/platform/sqldb"
)

func (s *Bulks) retain(ctx context.Context) error {
	for {
		if n, err := s.retainBulks(ctx); err != nil || n == 0 {
			return err
		}
	}
}

// An expired bulk becomes invisible, loses its items in short transactions, and is deleted.
const (
	selectOld = `SELECT num FROM bulk WHERE status >= 2 AND status < $1 AND changed_at < $2
		ORDER BY changed_at LIMIT 1`
	selectGone = "SELECT num FROM bulk WHERE status >= 2 AND status = $1 ORDER BY changed_at LIMIT 1"
)

// retainBulks does one step and returns the rows that it changed. It locks the bulk: no process may take it for empty
// because another one deletes its items.
func (s *Bulks) retainBulks(ctx context.Context) (n int64, err error) {
	err = s.write(ctx, "bulk.retain", func(ctx context.Context, tx *sqldb.Tx, now int64) error {
		var num int64
		err := tx.Row(ctx, selectGone+s.hold, int64(gone)).Scan(&num)
		if errors.Is(err, sqldb.ErrNoRow) {
			n, err = s.hide(ctx, tx, now)
			return err
		}
		if err != nil {
			return err
		}
		n, err = tx.Exec(ctx, `DELETE FROM bulk_item WHERE bulk = $1 AND n IN (SELECT n FROM bulk_item
			WHERE bulk = $1 ORDER BY n LIMIT $2)`, num, s.cfg.limits.retain)
		if n == 0 && err == nil {
			n, err = tx.Exec(ctx, "DELETE FROM bulk WHERE num = $1", num)
		}
		return err
	})
	return n, err
}

// hide makes the oldest expired bulk invisible.
func (s *Bulks) hide(ctx context.Context, tx *sqldb.Tx, now int64) (int64, error) {
	var num int64
	err := tx.Row(ctx, selectOld+s.hold, int64(gone), now-s.cfg.Retention.Milliseconds()).Scan(&num)
	if errors.Is(err, sqldb.ErrNoRow) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return tx.Exec(ctx, "UPDATE bulk SET status = $2 WHERE num = $1", num, int64(gone))
}
