package audit

import (
	"context"
	"errors"
	"iter"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// exportRows is how many entries Export reads at a time.
const exportRows = 200

// Export gives all entries that match, oldest first, a page at a time; Offset and Limit do not
// count. It ends with what was there when it began.
func (l *Log) Export(ctx context.Context, q Query) iter.Seq2[[]Entry, error] {
	return func(yield func([]Entry, error) bool) {
		last, err := l.last(ctx)
		at, num := q.From, int64(0) // of the entry before the next; numbers begin with 1
		query, args := q.oldestFirst(l.db.Dialect())
		for err == nil {
			var page []Entry
			err = l.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
				page, err = collect(ctx, tx, query, append(args, at, num, last, exportRows)...)
				return err
			})
			if err != nil {
				break
			}
			if len(page) > 0 && !yield(page, nil) || len(page) < exportRows {
				return
			}
			at, num = page[len(page)-1].At, page[len(page)-1].Num
		}
		yield(nil, fault.Wrap("audit.export", err))
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
	return selectEntries + q.table(d) + " WHERE " + where + " AND (at, num) > (" + behind(args, 1) + ", " +
		behind(args, 2) + ") AND num <= " + behind(args, 3) +
		" ORDER BY at, num LIMIT " + behind(args, 4), args
}
