package bulk

import (
	"context"
	"strconv"

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
	where, args := "tenant = $1 AND status < $2 AND kind IN (", []any{tenant, int64(gone)}
	for i, kind := range kinds {
		if i > 0 {
			where += ", "
		}
		args = append(args, kind)
		where += "$" + strconv.Itoa(len(args))
	}
	where += ")"
	err = s.read(ctx, "bulk.list", func(ctx context.Context, tx *sqldb.Tx) error {
		page = nil
		if err := tx.Row(ctx, "SELECT count(*) FROM bulk WHERE "+where, args...).Scan(&total); err != nil {
			return err
		}
		n := len(args)
		for row, err := range tx.Query(ctx, "SELECT "+columns+" FROM bulk WHERE "+where+
			" ORDER BY num DESC LIMIT $"+strconv.Itoa(n+1)+" OFFSET $"+strconv.Itoa(n+2),
			append(args, limit, offset)...) {
			if err != nil {
				return err
			}
			b, err := scan(row)
			if err != nil {
				return err
			}
			page = append(page, b)
		}
		return nil
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
			page, err = items(ctx, tx, selectItems, b.num, offset, limit)
		case *only == Pending:
			page, err = items(ctx, tx, selectItems, b.num, b.Counts.Settled()+offset, limit)
		default:
			page, err = items(ctx, tx, selectEnded, b.num, offset, limit, int64(*only))
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
	var places []int
	for i := range page {
		if page[i].Outcome == Pending {
			names, places = append(names, page[i].Name), append(places, i)
		}
	}
	if len(names) == 0 {
		return nil
	}
	seen, err := kind.Foresee(ctx, b, names)
	if err != nil {
		return fault.Wrap("bulk.foresee", err)
	}
	for i, at := range places {
		page[at].Foreseen = seen[i]
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

func items(ctx context.Context, tx *sqldb.Tx, query string, args ...any) ([]Item, error) {
	var out []Item
	for row, err := range tx.Query(ctx, query, args...) {
		if err != nil {
			return nil, err
		}
		var it Item
		var detail string
		if err := row.Scan(&it.Name, &it.Outcome, &detail); err != nil {
			return nil, err
		}
		if detail != "" {
			it.Detail = []byte(detail)
		}
		out = append(out, it)
	}
	return out, nil
}
