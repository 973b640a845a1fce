package bulk

import (
	"context"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Bulk returns a bulk of a tenant, or fault.NotFound.
func (s *Bulks) Bulk(ctx context.Context, tenant, id string) (b Bulk, err error) {
	err = s.read(ctx, "bulk.read", func(ctx context.Context, tx *sqldb.Tx) error {
		b, err = find(ctx, tx, tenant, id, "")
		return err
	})
	return b, err
}

// List is a page of a tenant's bulks of some kinds, newest first, and their number.
func (s *Bulks) List(ctx context.Context, tenant string, kinds []string, offset, limit int) (
	page []Bulk, total int, err error,
) {
	var b sqldb.Binds
	from := " FROM bulk WHERE tenant = " + b.Add(tenant) + " AND status < " + b.Add(int64(gone)) + " AND kind IN ("
	for i, kind := range kinds {
		if i > 0 {
			from += ", "
		}
		from += b.Add(kind)
	}
	from += ")"
	err = s.read(ctx, "bulk.list", func(ctx context.Context, tx *sqldb.Tx) error {
		if err := tx.Row(ctx, "SELECT count(*)"+from, b.Args()...).Scan(&total); err != nil {
			return err
		}
		query := "SELECT " + columns + from + " ORDER BY num DESC LIMIT " + b.Add(limit) + " OFFSET " + b.Add(offset)
		page, err = sqldb.Collect(ctx, tx, scan, query, b.Args()...)
		return err
	})
	return page, total, err
}

// Items is a page of a bulk's items, in order, and their number; only limits them to one outcome.
func (s *Bulks) Items(ctx context.Context, tenant, id string, only *Outcome, offset, limit int) (
	page []Item, total int, err error,
) {
	var b Bulk
	err = s.read(ctx, "bulk.items", func(ctx context.Context, tx *sqldb.Tx) error {
		b, err = find(ctx, tx, tenant, id, "")
		if err != nil {
			return err
		}
		total = b.Total
		if only != nil {
			total = b.Counts.Of(*only, b.Total)
		}
		switch {
		case only == nil:
			page, err = sqldb.Collect(ctx, tx, scanItem, selectItems, b.num, offset, limit)
		case *only == Pending:
			page, err = sqldb.Collect(ctx, tx, scanItem, selectItems, b.num, b.Counts.Settled()+offset, limit)
		default:
			page, err = sqldb.Collect(ctx, tx, scanItem, selectEnded, b.num, offset, limit, int64(*only))
		}
		return err
	})
	if err == nil {
		err = s.foresee(ctx, &b, page)
	}
	return page, total, err
}

// foresee adds the previews of pending items.
func (s *Bulks) foresee(ctx context.Context, b *Bulk, page []Item) error {
	kind, ok := s.cfg.Kinds[b.Kind].(Foreseer)
	if !ok {
		return nil
	}
	var names []string
	var pending []*Item
	for i := range page {
		if page[i].Outcome == Pending {
			names, pending = append(names, page[i].Name), append(pending, &page[i])
		}
	}
	if len(names) == 0 {
		return nil
	}
	seen, err := kind.Foresee(ctx, b, names)
	if err != nil {
		return fault.Wrap("bulk.foresee", err)
	}
	for i, it := range pending {
		it.Foreseen = seen[i]
	}
	return nil
}

// Items are numbered without gaps, so a page is a range, and the pending ones follow the others. An index serves
// single outcomes.
const (
	itemColumns = "SELECT name, outcome, detail FROM bulk_item WHERE bulk = $1"
	selectItems = itemColumns + " AND n > $2 ORDER BY n LIMIT $3"
	selectEnded = itemColumns + " AND outcome = $4 AND outcome > 0 ORDER BY n LIMIT $3 OFFSET $2"
)

func scanItem(row *sqldb.Row) (it Item, err error) {
	err = row.Scan(&it.Name, &it.Outcome, &it.Detail)
	return it, err
}
