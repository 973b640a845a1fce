package store

import (
	"context"
	"errors"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

const (
	headColumns = "num, id, tenant, graph_id, graph_version, status, created_at, ended_at, archived_at, due_at, " +
		"correlation_id, business_key, labels, outcome, error_code, waiting, failed_node"

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
	var version, status, waiting int64
	err := row.Scan(append([]any{
		&h.Num, &id, &h.Tenant, &h.GraphID, &version, &status, (*int64)(&h.CreatedAt), (*int64)(&h.EndedAt),
		(*int64)(&h.ArchivedAt), (*int64)(&h.DueAt), &h.CorrelationID, &h.BusinessKey, &h.Labels, &h.Outcome,
		&h.ErrorCode, &waiting, &h.FailedNode,
	}, more...)...)
	copy(h.ID[:], id)
	h.GraphVersion, h.Status, h.Waiting = int(version), flow.Status(status), int(waiting)
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

func heads(ctx context.Context, sql *sqldb.Tx, st sqldb.Stmt) ([]engine.Head, error) {
	var out []engine.Head
	for row, err := range sql.Query(ctx, st.Query, st.Args...) {
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
		all, err = heads(ctx, sql, sqldb.Stmt{Query: selectAll, Args: []any{after, limit}})
		return err
	})
	return all, err
}
