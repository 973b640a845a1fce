package audit

import (
	"context"
	"errors"

	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// exportRows is how many entries Export reads at a time.
const exportRows = 200

// Export gives all entries that match to take, oldest first, a page at a time; Offset
// and Limit do not count. It ends with what was there when it began. What a page holds is
// take's for good.
func (l *Log) Export(ctx context.Context, q Query, take func(page []Entry) error) error {
	last, err := l.last(ctx)
	if err != nil {
		return fault.Wrap("audit.export", err)
	}
	at, num := q.From, int64(0) // of the entry before the next; numbers begin with 1
	query, args := q.oldestFirst(l.db.Dialect())
	for {
		var page []Entry
		err := l.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
			page, err = collect(ctx, tx, query, append(args, at, num, last, exportRows)...)
			return err
		})
		if err != nil {
			return fault.Wrap("audit.export", err)
		}
		if len(page) > 0 {
			if err := take(page); err != nil {
				return err
			}
		}
		if len(page) < exportRows {
			return nil
		}
		at, num = page[len(page)-1].At, page[len(page)-1].Num
	}
}

// last is the number of the newest entry.
func (l *Log) last(ctx context.Context) (num int64, err error) {
	err = l.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		err := tx.Row(ctx, "SELECT num FROM audit_log ORDER BY num DESC LIMIT 1").Scan(&num)
		if errors.Is(err, sqldb.ErrNoRow) {
			return nil
		}
		return err
	})
	return num, err
}

// oldestFirst is the statement of a page behind an instant and a number, and its first
// arguments. The instant takes the place of From.
func (q Query) oldestFirst(d sqldb.Dialect) (string, []any) {
	q.From = wire.Stamp(0)
	where, args := q.where()
	return selectEntries + q.table(d) + " WHERE " + where + " AND (at, num) > (" + behind(args, 1) + ", " + behind(args, 2) + ") AND num <= " + behind(args, 3) +
		" ORDER BY at, num LIMIT " + behind(args, 4), args
}
