package records

import (
	"context"
	"fmt"
	"strconv"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Get is a record that the caller sees.
func (s *Records) Get(ctx context.Context, c Caller, object, id string) (found View, err error) {
	err = s.Read(ctx, "get", s.as(c, func(ctx context.Context, w *session) error {
		v, err := w.viewOf(object, model.ReadOp)
		if err != nil {
			return err
		}
		r, err := w.get(ctx, object, id, loose)
		if err != nil {
			return err
		}
		found = v.show(&r.Record)
		return nil
	}))
	return found, err
}

// List is a page of the records of an object that the caller sees, and how many there are
// on all pages.
func (s *Records) List(ctx context.Context, c Caller, object string, q Query) (page []View, total int, err error) {
	err = s.Read(ctx, "list", s.as(c, func(ctx context.Context, w *session) error {
		v, err := w.viewOf(object, model.ReadOp)
		if err != nil {
			return err
		}
		page, total, err = w.list(ctx, v, &q)
		return err
	}))
	return page, total, err
}

// fewRows is up to how many records that filters find by an index are held against what
// gives access to each.
const fewRows = 500

// listing is a list that is being put together.
type listing struct {
	*session
	*builder
	binds  sqldb.Binds
	where  string
	named  bool // the records to look at are few, and found by an index
	scans  bool // nothing but the condition says which records to look at
	total  int  // -1: it is to be counted
	offset int
}

func (w *session) list(ctx context.Context, v view, q *Query) (page []View, total int, err error) {
	if len(q.Filters) > maxFilters {
		return nil, 0, fault.New(fault.Invalid, canonical.CodeInvalid, "a list may have at most %d filters", maxFilters)
	}
	l := &listing{session: w, offset: q.Offset}
	l.builder = &builder{view: v, sql: w.sql, binds: &l.binds}
	l.where = "r.tenant_id = " + l.binds.Add(w.Caller.Tenant) + " AND r.object = " + l.binds.Add(v.Object.Name) +
		" AND r.deleted_at = 0"
	if err := l.narrow(ctx, q); err != nil {
		return nil, 0, err
	}
	if l.total < 0 {
		l.along()
		err = w.Tx.Row(ctx, "SELECT count(*) FROM records_record r WHERE "+l.where, l.binds.Args()...).Scan(&l.total)
		if err != nil {
			return nil, 0, err
		}
	}
	order, err := l.order(q.Sort)
	if err != nil || q.Offset >= l.total {
		return []View{}, l.total, err
	}
	l.along()
	from := "records_record r WHERE " + l.where
	if l.named {
		from = fmt.Sprintf(w.sql.found, l.where)
	}
	query := "SELECT " + columns + " FROM " + from + " ORDER BY " + order +
		" LIMIT " + l.binds.Add(q.Limit) + " OFFSET " + l.binds.Add(l.offset)
	records, err := many(ctx, w.Tx, "list", query, l.binds.Args()...)
	if err != nil {
		return nil, 0, err
	}
	page = make([]View, len(records))
	for i := range records {
		page[i] = v.show(&records[i])
	}
	return page, l.total, nil
}

// narrow adds the filters and what the caller sees. Filters that an index serves come
// first: what they find may be so little that nothing has to be known of the rest.
func (l *listing) narrow(ctx context.Context, q *Query) error {
	served, rest := l.split(q.Filters)
	if err := l.add(served); err != nil {
		return err
	}
	few := false
	if len(served) > 0 {
		var n int
		query := "SELECT count(*) FROM (SELECT 1 FROM records_record r WHERE " + l.where + " LIMIT " +
			strconv.Itoa(fewRows+1) + ") AS x"
		if err := l.Tx.Row(ctx, query, l.binds.Args()...).Scan(&n); err != nil {
			return err
		}
		few = n <= fewRows
	}
	if err := l.add(rest); err != nil {
		return err
	}
	l.total = -1
	switch {
	case few:
		l.named = true
		return l.seen(ctx, l.cfg.Visible.WhereOne)
	case len(served) > 0:
		return l.seen(ctx, l.cfg.Visible.Where)
	}
	total, ids, err := l.cfg.Visible.See(ctx, l.Tx, l.Caller.Tenant, l.view.Object.Name, l.User, model.Read)
	if err != nil {
		return err
	}
	if len(q.Filters) == 0 {
		l.total = total
	}
	if ids == nil {
		l.scans = true
		return l.seen(ctx, l.cfg.Visible.Where)
	}
	if len(q.Filters) == 0 && q.Sort == "" { // they are in order
		ids, l.offset = ids[min(q.Offset, total):min(q.Offset+q.Limit, total)], 0
	}
	l.named = true
	l.where += " AND " + l.binds.OneOf(l.Tx, "r.id", ids)
	return nil
}

// along lets records that are to be read one by one be read in the order of the file.
func (l *listing) along() {
	if l.scans && l.extracts {
		l.where += l.sql.byFile
		l.scans = false
	}
}

// where is one of the methods of Visible.
type where func(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access,
	binds *sqldb.Binds) (string, error)

// seen adds the condition of what the caller sees.
func (l *listing) seen(ctx context.Context, ask where) error {
	text, err := ask(ctx, l.Tx, l.Caller.Tenant, l.view.Object.Name, l.User, model.Read, &l.binds)
	l.where += " AND (" + text + ")"
	return err
}

// add adds filters.
func (l *listing) add(filters []Filter) error {
	for _, f := range filters {
		condition, err := l.filter(f)
		if err != nil {
			return err
		}
		l.where += " AND " + condition
	}
	return nil
}
