package store

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

const (
	headColumns = "num, id, tenant, graph_id, graph_version, status, created_at, ended_at, archived_at, due_at, " +
		"correlation_id, business_key, labels"

	selectByID  = "SELECT " + headColumns + " FROM engine_execution WHERE id = $1 AND tenant = $2"
	selectByNum = "SELECT " + headColumns + " FROM engine_execution WHERE num = $1 AND tenant = $2"
	selectAll   = "SELECT " + headColumns + " FROM engine_execution WHERE num > $1 ORDER BY num LIMIT $2"
)

// The deadlines of all executions, or of those in a shard. The last byte of an id is
// a number only to PostgreSQL; to SQLite it is two digits.
const (
	dueBegin = "SELECT " + headColumns + " FROM engine_execution WHERE due_at > 0"
	dueAfter = " AND due_at >= $4 AND (due_at, num) > ($4, $5)"
	dueEnd   = " ORDER BY due_at, num LIMIT $1"
	inShard  = ` AND (instr('123456789ABCDEF', substr(hex(id), 31, 1)) * 16
		+ instr('123456789ABCDEF', substr(hex(id), 32, 1))) % $2 = $3`
	pgShard = " AND get_byte(uuid_send(id), 15) % $2 = $3"
)

func (s *Store) dueOf(of engine.Shard, after engine.Head, limit int) (query string, args []any) {
	query, args = dueBegin, []any{limit}
	if of.N > 1 || after.Num > 0 {
		shard := inShard
		if s.pg {
			shard = pgShard
		}
		query, args = query+shard, append(args, max(of.N, 1), of.I)
	}
	if after.Num > 0 {
		query, args = query+dueAfter, append(args, after.DueAt, after.Num)
	}
	return query + dueEnd, args
}

func scanHead(row *sqldb.Row, more ...any) (engine.Head, error) {
	var h engine.Head
	var id []byte
	var version, status int64
	err := row.Scan(append([]any{
		&h.Num, &id, &h.Tenant, &h.GraphID, &version, &status, (*int64)(&h.CreatedAt), (*int64)(&h.EndedAt),
		(*int64)(&h.ArchivedAt), (*int64)(&h.DueAt), &h.CorrelationID, &h.BusinessKey, &h.Labels,
	}, more...)...)
	copy(h.ID[:], id)
	h.GraphVersion, h.Status = int(version), flow.Status(status)
	return h, err
}

func headByID(ctx context.Context, sql *sqldb.Tx, tenant string, id flow.ID) (engine.Head, error) {
	return scanHead(sql.Row(ctx, selectByID, id[:], tenant))
}

// Active reports whether an execution exists and is ACTIVE, as a transaction sees it.
func Active(ctx context.Context, sql *sqldb.Tx, tenant, execution string) (bool, error) {
	id, err := flow.ParseID(execution)
	if err != nil {
		return false, fault.Wrap("store.active", err)
	}
	h, err := headByID(ctx, sql, tenant, id)
	if errors.Is(err, sqldb.ErrNoRow) {
		return false, nil
	}
	return err == nil && h.Status == flow.Active, fault.Wrap("store.active", err)
}

func headByNum(ctx context.Context, sql *sqldb.Tx, tenant string, num int64) (engine.Head, error) {
	return scanHead(sql.Row(ctx, selectByNum, num, tenant))
}

func heads(ctx context.Context, sql *sqldb.Tx, query string, args ...any) ([]engine.Head, error) {
	var out []engine.Head
	for row, err := range sql.Query(ctx, query, args...) {
		if err != nil {
			return nil, err
		}
		h, err := scanHead(row)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

func (s *Store) Due(
	ctx context.Context, here flow.Time, of engine.Shard, after engine.Head, limit int,
) (due []engine.Head, next, now flow.Time, err error) {
	query, args := s.dueOf(of, after, limit+1)
	stmts := []sqldb.Stmt{{Query: query, Args: args, Row: func(r *sqldb.Row) error {
		h, err := scanHead(r)
		due = append(due, h)
		return err
	}}}
	if now = here; s.pg {
		stmts = append(stmts, clock(&now))
	}
	// The engine's loop waits for this: slow readers must not hold it up.
	err = fault.Wrap("store.due", s.db.ReadFirst(ctx, func(ctx context.Context, sql *sqldb.Tx) error {
		return sql.Batch(ctx, stmts...)
	}))
	for i := range due {
		if i == limit || due[i].DueAt > now {
			return due[:i], due[i].DueAt, now, err
		}
	}
	return due, 0, now, err
}

func (s *Store) Scan(ctx context.Context, after int64, limit int) (all []engine.Head, err error) {
	err = s.read(ctx, "store.scan", func(ctx context.Context, sql *sqldb.Tx) error {
		all, err = heads(ctx, sql, selectAll, after, limit)
		return err
	})
	return all, err
}

func (s *Store) List(ctx context.Context, q engine.ListQuery) (page []engine.Head, total int, err error) {
	l := newList(s.dialect, q)
	err = s.read(ctx, "store.list", func(ctx context.Context, sql *sqldb.Tx) error {
		if total, err = l.total(ctx, sql); err != nil {
			return err
		}
		limit := min(q.Limit, total-q.Offset)
		if limit <= 0 {
			return nil
		}
		if rest := total - q.Offset - limit; rest < q.Offset { // nearer to the end: walk from there
			page, err = heads(ctx, sql, l.page("ASC"), append(l.args(), limit, rest)...)
			slices.Reverse(page)
			return err
		}
		page, err = heads(ctx, sql, l.page("DESC"), append(l.args(), limit, q.Offset)...)
		return err
	})
	return page, total, err
}

func (s *Store) Walk(ctx context.Context, q engine.ListQuery, after engine.Head) (part []engine.Head, err error) {
	q.CreatedFrom = max(q.CreatedFrom, after.CreatedAt)
	l := newList(s.dialect, q)
	err = s.read(ctx, "store.walk", func(ctx context.Context, sql *sqldb.Tx) error {
		part, err = heads(ctx, sql, l.walk(), append(l.args(), q.Limit, int64(after.CreatedAt), after.Num)...)
		return err
	})
	return part, err
}

// list builds the statements of one filter. Each status is a part of its own, which an index gives
// in order; the parts are merged without sorting. There are few texts, so they stay prepared.
type list struct {
	dialect  sqldb.Dialect
	query    engine.ListQuery
	statuses []flow.Status
}

func newList(dialect sqldb.Dialect, q engine.ListQuery) list {
	l := list{dialect: dialect, query: q, statuses: slices.Clone(q.Status)}
	if len(l.statuses) == 0 {
		l.statuses = []flow.Status{flow.Active, flow.Completed, flow.Failed, flow.Canceled}
	}
	slices.Sort(l.statuses)
	l.statuses = slices.Compact(l.statuses)
	return l
}

// args are the arguments that page and count share.
func (l *list) args() []any {
	to := l.query.CreatedTo
	if to == 0 {
		to = math.MaxInt64
	}
	return []any{l.query.Tenant, l.query.GraphID, int64(l.query.CreatedFrom), int64(to)}
}

// part selects the executions of one status. It names all four arguments, so that
// every text has the same ones.
func (l *list) part(columns string, status flow.Status) string {
	return "SELECT " + columns + " FROM engine_execution WHERE tenant = $1 AND " + l.graph() +
		" AND status = " + strconv.Itoa(int(status)) + " AND created_at >= $3 AND created_at < $4"
}

func (l *list) graph() string {
	if l.query.GraphID != "" {
		return "graph_id = $2"
	}
	return "$2 = ''"
}

func (l *list) page(order string) string { return l.merge("", order, " LIMIT $5 OFFSET $6") }

func (l *list) walk() string {
	return l.merge(" AND (created_at, num) > ($6, $7)", "ASC", " LIMIT $5")
}

// merge puts the parts, each with one more condition, into one order and cuts it.
// PostgreSQL merges parts that have the order; SQLite finds out by itself.
func (l *list) merge(condition, order, cut string) string {
	order = " ORDER BY at " + order + ", n " + order
	parts := make([]string, len(l.statuses))
	for i, status := range l.statuses {
		parts[i] = l.part("created_at AS at, num AS n", status) + condition
		if l.dialect == sqldb.Postgres && len(parts) > 1 {
			parts[i] = "(" + parts[i] + order + ")"
		}
	}
	return "SELECT " + headColumns + " FROM (" + strings.Join(parts, " UNION ALL ") + order +
		cut + ") AS page JOIN engine_execution ON num = n" + order
}

// total is how many executions match. Without a range of time the numbers that are kept say so.
func (l *list) total(ctx context.Context, sql *sqldb.Tx) (n int, err error) {
	if l.query.CreatedFrom == 0 && l.query.CreatedTo == 0 {
		err = sql.Row(ctx, l.counted(), l.query.Tenant, l.query.GraphID).Scan(&n)
	} else {
		err = sql.Row(ctx, l.count(), l.args()...).Scan(&n)
	}
	return n, err
}

func (l *list) count() string {
	parts := make([]string, len(l.statuses))
	for i, status := range l.statuses {
		parts[i] = "(" + l.part("count(*)", status) + ")"
	}
	return "SELECT " + strings.Join(parts, " + ")
}

// counted reads the numbers that are kept; on PostgreSQL a part of them waits to be compacted.
func (l *list) counted() string {
	statuses := make([]string, len(l.statuses))
	for i, status := range l.statuses {
		statuses[i] = strconv.Itoa(int(status))
	}
	sum := func(table string) string {
		return "(SELECT coalesce(sum(n), 0) FROM " + table + " WHERE tenant = $1 AND " + l.graph() +
			" AND status IN (" + strings.Join(statuses, ", ") + "))"
	}
	if l.dialect == sqldb.Postgres {
		return "SELECT " + sum("engine_count") + " + " + sum("engine_count_delta")
	}
	return "SELECT " + sum("engine_count")
}
