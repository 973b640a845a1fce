package records

import (
	"context"

	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// Get is a record that the caller sees.
func (s *Records) Get(ctx context.Context, c Caller, object, id string) (found View, err error) {
	err = s.read(ctx, "records.get", &c, func(ctx context.Context, w *session) error {
		v, err := w.viewOf(object, crm.ReadOp)
		if err != nil {
			return err
		}
		r, err := w.get(ctx, object, id, loose)
		if err != nil {
			return err
		}
		found = v.show(&r.Record)
		return nil
	})
	return found, err
}

// List is a page of the records of an object that the caller sees, and how many there are
// on all pages.
func (s *Records) List(ctx context.Context, c Caller, object string, q Query) (page []View, total int, err error) {
	err = s.read(ctx, "records.list", &c, func(ctx context.Context, w *session) error {
		v, err := w.viewOf(object, crm.ReadOp)
		if err != nil {
			return err
		}
		page, total, err = w.list(ctx, v, &q)
		return err
	})
	return page, total, err
}

func (w *session) list(ctx context.Context, v *view, q *Query) (page []View, total int, err error) {
	if len(q.Filters) > maxFilters {
		return nil, 0, fault.New(fault.Invalid, wire.CodeInvalid, "a list may have at most %d filters", maxFilters)
	}
	var binds sqldb.Binds
	where, err := w.living(ctx, v.object.Name, w.cfg.Visible.Where, &binds)
	if err != nil {
		return nil, 0, err
	}
	b := &builder{view: v, dialect: w.tx.Dialect(), binds: &binds}
	for _, f := range q.Filters {
		condition, err := b.filter(f)
		if err != nil {
			return nil, 0, err
		}
		where += " AND " + condition
	}
	err = w.tx.Row(ctx, "SELECT count(*) FROM records_record r WHERE "+where, binds.Args()...).Scan(&total)
	if err != nil {
		return nil, 0, err
	}
	order, err := b.order(q.Sort)
	if err != nil || q.Offset >= total {
		return []View{}, total, err
	}
	query := "SELECT " + columns + " FROM records_record r WHERE " + where + " ORDER BY " + order +
		" LIMIT " + binds.Add(q.Limit) + " OFFSET " + binds.Add(q.Offset)
	records, err := many(ctx, w.tx, "records.list", query, binds.Args()...)
	if err != nil {
		return nil, 0, err
	}
	page = make([]View, len(records))
	for i := range records {
		page[i] = v.show(&records[i])
	}
	return page, total, nil
}
