package bulk

import (
	"context"
	"fmt"
	"slices"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// freeze adds a chunk to the set.
func (s *Bulks) freeze(ctx context.Context, kind Kind, b *Bulk) error {
	names, last, err := kind.Select(ctx, b, b.place, s.cfg.limits.freeze)
	if err != nil {
		return fault.Wrap("bulk.freeze", err)
	}
	status, total := Freezing, b.Total+len(names)
	switch {
	case total > s.cfg.limits.items:
		status, total, names = TooLarge, b.Total, nil
	case len(names) < s.cfg.limits.freeze:
		status = Preview
	}
	return s.write(ctx, "bulk.freeze", func(ctx context.Context, tx *sqldb.Tx, now int64) error {
		n, err := tx.Exec(ctx, `UPDATE bulk SET status = $3, total = $4, place = $5, changed_at = $6, lease_until = $6
			WHERE num = $1 AND epoch = $2`, b.num, b.epoch, int64(status), total, last, now)
		if err != nil {
			return err
		}
		if n == 0 {
			return errLost
		}
		return insertItems(ctx, tx, b.num, b.Total, names)
	})
}

// work does the next chunk and stores its results.
func (s *Bulks) work(ctx context.Context, kind Kind, b *Bulk) error {
	var next []Item
	err := s.read(ctx, "bulk.work", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		next, err = sqldb.Collect(ctx, tx, scanItem, selectItems, b.num, b.Counts.Settled(), s.cfg.limits.work)
		return err
	})
	if err != nil {
		return err
	}
	names := make([]string, len(next))
	for i := range next {
		names[i] = next[i].Name
	}
	var results []Result
	if len(names) > 0 {
		results, err = kind.Do(ctx, b, names)
	}
	if err != nil {
		return fault.Wrap("bulk.work", err)
	}
	if len(results) != len(names) {
		return fault.Wrap("bulk.work", fmt.Errorf("%s gave %d results for %d items", b.Kind, len(results), len(names)))
	}
	return s.settle(ctx, b, results)
}

// settle stores and counts the results of a chunk, also when the bulk was stopped meanwhile: the work is done.
func (s *Bulks) settle(ctx context.Context, b *Bulk, results []Result) error {
	var counts Counts
	for _, r := range results {
		counts.add(r.Outcome)
	}
	first := b.Counts.Settled()
	return s.write(ctx, "bulk.settle", func(ctx context.Context, tx *sqldb.Tx, now int64) error {
		n, err := tx.Exec(ctx, `UPDATE bulk SET applied = applied + $3, already = already + $4, refused = refused + $5,
			failed = failed + $6, lease_until = $7 WHERE num = $1 AND epoch = $2`,
			b.num, b.epoch, counts.Applied, counts.Already, counts.Refused, counts.Failed, now)
		if err != nil {
			return err
		}
		if n == 0 {
			return errLost
		}
		if first+len(results) == b.Total {
			_, err = tx.Exec(ctx, "UPDATE bulk SET status = $2, ended_at = $3, changed_at = $3 WHERE num = $1", b.num,
				int64(Done), now)
			if err != nil {
				return err
			}
		}
		return settleItems(ctx, tx, b.num, first, results)
	})
}

// settleItems stores results of the items after the first n.
func settleItems(ctx context.Context, tx *sqldb.Tx, bulk int64, n int, results []Result) error {
	stmts, changed := make([]sqldb.Stmt, len(results)), make([]int64, len(results))
	for i, r := range results {
		var detail any
		if r.Detail != nil {
			detail = string(r.Detail)
		}
		stmts[i] = sqldb.Stmt{
			Query: "UPDATE bulk_item SET outcome = $3, detail = $4 WHERE bulk = $1 AND n = $2 AND outcome = 0",
			Args:  []any{bulk, n + i + 1, int64(r.Outcome), detail}, Changed: &changed[i],
		}
	}
	if err := tx.Batch(ctx, stmts...); err != nil {
		return err
	}
	if i := slices.IndexFunc(changed, func(n int64) bool { return n != 1 }); i >= 0 {
		return fmt.Errorf("bulk: item %d is settled already", n+i+1)
	}
	return nil
}
