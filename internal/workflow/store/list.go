package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

func (s *Store) List(ctx context.Context, q engine.ListQuery) (page []engine.Head, total int, err error) {
	err = s.read(ctx, "store.list", func(ctx context.Context, sql *sqldb.Tx) error {
		l := newList(s.dialect, q)
		if err := l.choose(ctx, sql); err != nil {
			return err
		}
		if total, err = l.total(ctx, sql); err != nil {
			return err
		}
		if q.Before.Num > 0 {
			page, err = heads(ctx, sql, l.before(&q.Before, q.Limit))
			return err
		}
		limit := min(q.Limit, total-q.Offset)
		if limit <= 0 {
			page = nil
			return nil
		}
		if rest := total - q.Offset - limit; rest < q.Offset { // nearer to the end: walk from there
			page, err = heads(ctx, sql, l.page("ASC", limit, rest))
			slices.Reverse(page)
			return err
		}
		page, err = heads(ctx, sql, l.page("DESC", limit, q.Offset))
		return err
	})
	return page, total, err
}

func (s *Store) Walk(ctx context.Context, q engine.ListQuery, after engine.Head) (part []engine.Head, err error) {
	q.CreatedFrom = max(q.CreatedFrom, after.CreatedAt)
	err = s.read(ctx, "store.walk", func(ctx context.Context, sql *sqldb.Tx) error {
		l := newList(s.dialect, q)
		if err := l.choose(ctx, sql); err != nil {
			return err
		}
		part, err = heads(ctx, sql, l.walk(&after, q.Limit))
		return err
	})
	return part, err
}

// list builds the statements of one query. An index drives it: that of the filter which fewest
// executions pass; the other filters are looked up, execution by execution. The index of status and
// graph drives a query without other filters: each status is a part of its own, which it gives in
// order; the parts are merged without sorting. The texts depend on which filters there are, never
// on their values, so they stay prepared.
type list struct {
	dialect  sqldb.Dialect
	query    engine.ListQuery
	statuses []flow.Status
	filters  []filter
	driver   *filter // nil: the index of status and graph
}

// filter is a condition with an index of its own, in the order of creation unless it is sorted.
type filter struct {
	table  string // that has a row for each execution that passes; "": it is a column of the execution
	column string
	value  string // that it equals; "": it is a range
	n      int    // how many executions pass it, counted up to frequent
}

// frequent is up to how many entries of an index are counted before a list begins, to know which of its
// filters is the rarest. Those of a time are sorted, so they are fewer.
const frequent = 5000

var allStatuses = []flow.Status{flow.Active, flow.Completed, flow.Failed, flow.Canceled}

func newList(dialect sqldb.Dialect, q engine.ListQuery) *list {
	l := &list{dialect: dialect, query: q, statuses: slices.Clone(q.Status)}
	if len(l.statuses) == 0 {
		l.statuses = slices.Clone(allStatuses)
	}
	slices.Sort(l.statuses)
	l.statuses = slices.Compact(l.statuses)
	if (q.Waiting || q.NodeID != "") && l.statuses[0] == flow.Active { // what has ended does not wait
		l.statuses = allStatuses
	}
	if q.BusinessKey != "" {
		l.filters = append(l.filters, filter{column: "business_key", value: q.BusinessKey})
	}
	if q.CorrelationID != "" {
		l.filters = append(l.filters, filter{column: "correlation_id", value: q.CorrelationID})
	}
	if q.ErrorCode != "" {
		l.filters = append(l.filters, filter{column: "error_code", value: q.ErrorCode})
	}
	if q.Outcome != "" {
		l.filters = append(l.filters, filter{column: "outcome", value: q.Outcome})
	}
	for _, label := range q.Labels {
		l.filters = append(l.filters, filter{table: "engine_label", column: "label", value: label.String()})
	}
	if q.NodeID != "" {
		l.filters = append(l.filters, filter{table: "engine_wait", column: "node", value: q.NodeID})
	} else if q.Waiting {
		l.filters = append(l.filters, filter{column: "waiting"})
	}
	if q.Archived {
		l.filters = append(l.filters, filter{column: "archived_at"})
	}
	if q.Ended() {
		l.filters = append(l.filters, filter{column: "ended_at"})
	}
	return l
}

// choose finds the filter that drives the list.
func (l *list) choose(ctx context.Context, sql *sqldb.Tx) error {
	if len(l.filters) == 0 {
		return nil
	}
	if l.only() && l.filters[0].counted() != "" { // the total needs no other count
		l.driver = &l.filters[0]
		return nil
	}
	known := 0
	stmts := []sqldb.Stmt{l.counted()}
	stmts[0].Row = func(r *sqldb.Row) error { return r.Scan(&known) }
	for i := range l.filters {
		f := &l.filters[i]
		st := l.some(f)
		st.Row = func(r *sqldb.Row) error { return r.Scan(&f.n) }
		stmts = append(stmts, st)
	}
	if err := sql.Batch(ctx, stmts...); err != nil {
		return err
	}
	for i := range l.filters {
		f := &l.filters[i]
		if f.n < known && (f.n < frequent || !f.sorted()) && (l.driver == nil || f.n < l.driver.n) {
			l.driver = f
		}
	}
	return nil
}

// some counts what passes a filter, up to frequent.
func (l *list) some(f *filter) sqldb.Stmt {
	b := &statement{}
	b.text("SELECT count(*) FROM (SELECT 1 AS one FROM ", f.from(), " WHERE tenant = ", b.arg(l.query.Tenant),
		l.created(b), l.drive(b, f), " LIMIT ", b.arg(frequent), ") AS passing")
	return b.Stmt
}

// statement is one in the making.
type statement struct{ sqldb.Stmt }

// arg adds an argument and gives its place.
func (b *statement) arg(value any) string {
	b.Args = append(b.Args, value)
	return "$" + strconv.Itoa(len(b.Args))
}

func (b *statement) text(parts ...string) { b.Query += strings.Join(parts, "") }

func (f *filter) from() string { return cmp.Or(f.table, "engine_execution") }

func (f *filter) sorted() bool { return f.column == "ended_at" }

// created is the condition on the time of creation, which every statement has.
func (l *list) created(b *statement) string {
	return " AND created_at >= " + b.arg(int64(l.query.CreatedFrom)) + " AND created_at < " +
		b.arg(until(l.query.CreatedTo))
}

func until(t flow.Time) int64 {
	if t == 0 {
		return math.MaxInt64
	}
	return int64(t)
}

// drive is a filter as the condition of its index.
func (l *list) drive(b *statement, f *filter) string {
	switch {
	case f.table != "":
		return " AND " + f.column + " = " + b.arg(f.value)
	case f.column == "waiting":
		return " AND waiting = 1"
	case f.column == "archived_at":
		return " AND archived_at > 0"
	case f.sorted():
		// The condition of the index is the last: SQLite takes the first lower bound that it meets.
		return " AND ended_at >= " + b.arg(int64(l.query.EndedFrom)) + " AND ended_at < " +
			b.arg(until(l.query.EndedTo)) + " AND ended_at > 0"
	}
	return " AND " + f.column + " <> '' AND " + f.column + " = " + b.arg(f.value)
}

// lookUp is what an execution that an index gave is asked for. It names expressions where the
// database could prefer another index.
func (l *list) lookUp(b *statement, driver *filter) (conditions string) {
	if driver != nil && driver.table != "" {
		rows := l.lookUpRows(b, driver, driver.table+".execution", driver.table+".created_at")
		if columns := l.lookUpColumns(b, driver); columns != "" {
			return rows + " AND (SELECT 1 FROM engine_execution WHERE num = execution AND tenant = " +
				b.arg(l.query.Tenant) + columns + ") = 1"
		}
		return rows
	}
	return l.lookUpColumns(b, driver) + l.lookUpRows(b, driver, "engine_execution.num", "engine_execution.created_at")
}

// lookUpRows asks for the rows that an execution has in other tables.
func (l *list) lookUpRows(b *statement, driver *filter, num, created string) (conditions string) {
	for i := range l.filters {
		if f := &l.filters[i]; f != driver && f.table != "" {
			conditions += " AND (SELECT 1 FROM " + f.table + " AS l WHERE l.tenant = " + b.arg(l.query.Tenant) +
				" AND l." + f.column + " = " + b.arg(f.value) + " AND l.created_at = " + created +
				" AND l.execution = " + num + ") = 1"
		}
	}
	return conditions
}

func (l *list) lookUpColumns(b *statement, driver *filter) (conditions string) {
	if driver != nil && l.query.GraphID != "" {
		conditions += " AND graph_id || '' = " + b.arg(l.query.GraphID)
	}
	if driver != nil && len(l.statuses) < 4 {
		conditions += " AND status + 0 IN (" + l.statusList() + ")"
	}
	if l.query.Unarchived {
		conditions += " AND archived_at + 0 = 0"
	}
	for i := range l.filters {
		switch f := &l.filters[i]; {
		case f == driver || f.table != "":
		case f.column == "waiting":
			conditions += " AND waiting + 0 = 1"
		case f.column == "archived_at":
			conditions += " AND archived_at + 0 > 0"
		case f.sorted():
			conditions += " AND ended_at + 0 >= " + b.arg(max(int64(l.query.EndedFrom), 1)) +
				" AND ended_at + 0 < " + b.arg(until(l.query.EndedTo))
		default:
			conditions += " AND " + f.column + " || '' = " + b.arg(f.value)
		}
	}
	return conditions
}

func (l *list) statusList() string {
	statuses := make([]string, len(l.statuses))
	for i, status := range l.statuses {
		statuses[i] = strconv.Itoa(int(status))
	}
	return strings.Join(statuses, ", ")
}

// parts select what matches, each in the order of its index.
func (l *list) parts(b *statement, columns, condition string) []string {
	if d := l.driver; d != nil {
		if d.table != "" {
			columns = strings.Replace(columns, "num AS", "execution AS", 1)
			condition = strings.Replace(condition, "num", "execution", 1)
		}
		return []string{"SELECT " + columns + " FROM " + d.from() + " WHERE tenant = " + b.arg(l.query.Tenant) +
			l.created(b) + l.drive(b, d) + l.lookUp(b, d) + condition}
	}
	parts := make([]string, len(l.statuses))
	for i, status := range l.statuses {
		parts[i] = "SELECT " + columns + " FROM engine_execution WHERE tenant = " + b.arg(l.query.Tenant) +
			l.created(b) + l.graph(b) + " AND status = " + strconv.Itoa(int(status)) + l.lookUp(b, nil) + condition
	}
	return parts
}

func (l *list) graph(b *statement) string {
	if l.query.GraphID == "" {
		return ""
	}
	return " AND graph_id = " + b.arg(l.query.GraphID)
}

// page is one by its offset.
func (l *list) page(order string, limit, offset int) sqldb.Stmt {
	b := &statement{}
	l.merge(b, "", order)
	return l.cut(b, order, " LIMIT "+b.arg(limit)+" OFFSET "+b.arg(offset))
}

// before is a page of what is older than one.
func (l *list) before(place *engine.Head, limit int) sqldb.Stmt {
	older := *l
	older.query.CreatedTo = min(flow.Time(until(l.query.CreatedTo)), place.CreatedAt+1)
	b := &statement{}
	older.merge(b, " AND (created_at, num) < "+b.place(place), "DESC")
	return l.cut(b, "DESC", " LIMIT "+b.arg(limit))
}

// walk is the oldest of what is newer than one.
func (l *list) walk(place *engine.Head, limit int) sqldb.Stmt {
	b := &statement{}
	l.merge(b, " AND (created_at, num) > "+b.place(place), "ASC")
	return l.cut(b, "ASC", " LIMIT "+b.arg(limit))
}

func (b *statement) place(of *engine.Head) string {
	return "(" + b.arg(int64(of.CreatedAt)) + ", " + b.arg(of.Num) + ")"
}

// merge puts the parts, each with one more condition, into one order. PostgreSQL merges parts that
// have the order; SQLite finds out by itself.
func (l *list) merge(b *statement, condition, order string) {
	parts := l.parts(b, "created_at AS at, num AS n", condition)
	if l.dialect == sqldb.Postgres && len(parts) > 1 {
		for i := range parts {
			parts[i] = "(" + parts[i] + byCreation(order) + ")"
		}
	}
	b.text("SELECT ", headColumns, " FROM (", strings.Join(parts, " UNION ALL "), byCreation(order))
}

func (l *list) cut(b *statement, order, cut string) sqldb.Stmt {
	b.text(cut, ") AS page JOIN engine_execution ON num = n", byCreation(order))
	return b.Stmt
}

func byCreation(order string) string { return " ORDER BY at " + order + ", n " + order }

// total is how many executions match. Without a range of time the numbers that are kept say so.
func (l *list) total(ctx context.Context, sql *sqldb.Tx) (n int, err error) {
	st := l.count()
	ranged := l.query.CreatedFrom != 0 || l.query.CreatedTo != 0
	less := len(l.filters) == 0 && !ranged && l.query.Unarchived
	switch {
	case len(l.filters) == 0 && !ranged:
		st = l.counted()
	case len(l.filters) == 1 && l.query.Archived && !ranged:
		st = l.archived()
	case l.only() && l.filters[0].counted() != "":
		st = l.passing(&l.filters[0])
	case l.driver != nil && (l.driver.n == 0 || l.driver.n < frequent && len(l.filters) == 1 &&
		l.query.GraphID == "" && len(l.statuses) == 4 && !l.query.Unarchived):
		return l.driver.n, nil
	}
	if err := sql.Row(ctx, st.Query, st.Args...).Scan(&n); err != nil || !less {
		return n, err
	}
	archived, st := 0, l.archived()
	err = sql.Row(ctx, st.Query, st.Args...).Scan(&archived)
	return n - archived, err
}

// only reports whether a query has one filter and nothing else.
func (l *list) only() bool {
	return len(l.filters) == 1 && l.query.GraphID == "" && len(l.statuses) == 4 && l.query.CreatedFrom == 0 &&
		l.query.CreatedTo == 0 && !l.query.Unarchived
}

// counted is the name by which it is counted who passes a filter, "" if nobody counts.
func (f *filter) counted() string {
	switch {
	case f.column == "label":
		return f.value
	case f.column == "node":
		return byNode + f.value
	case f.column == "waiting":
		return byWaiting
	case f.column == "outcome":
		return byOutcome + f.value
	case f.column == "error_code":
		return byError + f.value
	}
	return ""
}

// passing reads how many executions pass a filter; on PostgreSQL a part of them waits to be compacted.
func (l *list) passing(f *filter) sqldb.Stmt {
	b := &statement{}
	sum := func(table string) string {
		return "(SELECT coalesce(sum(n), 0) FROM " + table + " WHERE tenant = " + b.arg(l.query.Tenant) +
			" AND filter = " + b.arg(f.counted()) + ")"
	}
	text := "SELECT " + sum("engine_passing")
	if l.dialect == sqldb.Postgres {
		text += " + " + sum("engine_passing_delta")
	}
	b.text(text)
	return b.Stmt
}

func (l *list) count() sqldb.Stmt {
	b := &statement{}
	b.text("SELECT (", strings.Join(l.parts(b, "count(*)", ""), ") + ("), ")")
	return b.Stmt
}

// archived reads how many of them are archived, like passing.
func (l *list) archived() sqldb.Stmt {
	b := &statement{}
	var any []string
	for _, status := range l.statuses {
		if name := archivedAs(status, l.query.GraphID); l.query.GraphID != "" {
			any = append(any, "filter = "+b.arg(name))
		} else { // 0 comes after the slash that ends the name
			any = append(any, "filter >= "+b.arg(name)+" AND filter < "+b.arg(strings.TrimSuffix(name, "/")+"0"))
		}
	}
	tenant := b.arg(l.query.Tenant)
	sum := func(table string) string {
		return "(SELECT coalesce(sum(n), 0) FROM " + table + " WHERE tenant = " + tenant + " AND (" +
			strings.Join(any, " OR ") + "))"
	}
	text := "SELECT " + sum("engine_passing")
	if l.dialect == sqldb.Postgres {
		text += " + " + sum("engine_passing_delta")
	}
	b.text(text)
	return b.Stmt
}

// counted reads the numbers that are kept; on PostgreSQL a part of them waits to be compacted.
func (l *list) counted() sqldb.Stmt {
	b := &statement{}
	sum := func(table string) string {
		return "(SELECT coalesce(sum(n), 0) FROM " + table + " WHERE tenant = " + b.arg(l.query.Tenant) + l.graph(b) +
			" AND status IN (" + l.statusList() + "))"
	}
	text := "SELECT " + sum("engine_count")
	if l.dialect == sqldb.Postgres {
		text += " + " + sum("engine_count_delta")
	}
	b.text(text)
	return b.Stmt
}
