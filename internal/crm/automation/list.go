package automation

import (
	"context"
	"strconv"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// MaxListed is how many runs, notes or tasks a list goes back, and counts.
const MaxListed = 10_000

// listing is a list of rows: a statement and the arguments of its condition.
type listing struct {
	columns, table, where, order string
	sqldb.Binds
}

func (l *listing) query() string {
	return "SELECT " + l.columns + " FROM " + l.table + " WHERE " + l.where + " ORDER BY " + l.order
}

// list is a page of the rows that of lists, and how many there are on all pages, counted up
// to MaxListed.
func list[T any](
	ctx context.Context, s *Automation, op string, offset, limit int, scan func(*sqldb.Row) (T, error),
	of func(context.Context, *sqldb.Tx) (listing, error),
) (page []T, total int, err error) {
	if offset >= MaxListed {
		return nil, 0, fault.New(
			fault.Invalid,
			canonical.CodeInvalid,
			"a list goes back %d items; use filters for older ones",
			MaxListed,
		).With(map[string]string{"field": "page"})
	}
	err = s.Read(ctx, op, func(ctx context.Context, tx *sqldb.Tx) error {
		l, err := of(ctx, tx)
		if err != nil {
			return err
		}
		if err := tx.Row(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+l.table+" WHERE "+l.where+" LIMIT "+
			strconv.Itoa(MaxListed)+") AS few", l.Args()...).Scan(&total); err != nil {
			return err
		}
		page, err = sqldb.Collect(ctx, tx, scan, l.query()+" LIMIT "+l.Add(limit)+" OFFSET "+l.Add(offset),
			l.Args()...)
		return err
	})
	return page, total, err
}
