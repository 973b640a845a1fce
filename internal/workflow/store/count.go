package store

import (
	"context"
	"slices"
	"strconv"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Counts groups the numbers that are kept; on PostgreSQL a part of them waits to be compacted.
func (s *Store) Counts(ctx context.Context, q engine.CountQuery) (groups []engine.Group, total int, err error) {
	binds := sqldb.Bind(q.Tenant)
	where := " WHERE tenant = $1"
	if q.GraphID != "" {
		where += " AND graph_id = " + binds.Add(q.GraphID)
	}
	from := "SELECT status, graph_id, n FROM engine_count" + where
	if s.pg {
		from += " UNION ALL SELECT status, graph_id, n FROM engine_count_delta" + where
	}
	status, graph := "0", "''"
	if q.ByStatus {
		status = "status"
	}
	if q.ByGraph {
		graph = "graph_id"
	}
	// The names are not those of columns, which GROUP BY would take first.
	grouped := "SELECT " + status + " AS by_status, " + graph + " AS by_graph, sum(n) AS many FROM (" + from +
		") AS kept GROUP BY by_status, by_graph HAVING sum(n) > 0 ORDER BY many DESC, by_status, by_graph LIMIT " +
		strconv.Itoa(q.Limit)
	err = s.read(ctx, "store.counts", func(ctx context.Context, sql *sqldb.Tx) error {
		groups = nil
		return sql.Batch(ctx,
			sqldb.Stmt{
				Query: "SELECT coalesce(sum(n), 0) FROM (" + from + ") AS kept", Args: binds.Args(),
				Row: func(r *sqldb.Row) error { return r.Scan(&total) },
			},
			sqldb.Stmt{Query: grouped, Args: binds.Args(), Row: func(r *sqldb.Row) error {
				var g engine.Group
				var status int
				err := r.Scan(&status, &g.GraphID, &g.N)
				g.Status = flow.Status(status)
				groups = append(groups, g)
				return err
			}})
	})
	return groups, total, err
}

// Histogram counts the newest executions of each status by the bucket of their creation, out of the index of status.
func (s *Store) Histogram(ctx context.Context, q engine.HistogramQuery) (bars []engine.Bar, err error) {
	err = s.read(ctx, "store.histogram", func(ctx context.Context, sql *sqldb.Tx) error {
		bars = nil
		var stmts []sqldb.Stmt
		for _, status := range []flow.Status{flow.Active, flow.Completed, flow.Failed, flow.Canceled} {
			binds := sqldb.Bind(q.Tenant, int64(q.From), int64(q.To), q.Bucket.Milliseconds(), q.Limit)
			graph := ""
			if q.GraphID != "" {
				graph = " AND graph_id = " + binds.Add(q.GraphID)
			}
			query := "SELECT (created_at - $2) / $4 AS bucket, count(*), min(created_at) FROM (SELECT created_at" +
				" FROM engine_execution WHERE tenant = $1" + graph + " AND status = " + strconv.Itoa(int(status)) +
				" AND created_at >= $2 AND created_at < $3 ORDER BY created_at DESC LIMIT $5) AS newest GROUP BY bucket"
			stmts = append(stmts, sqldb.Stmt{Query: query, Args: binds.Args(), Row: func(r *sqldb.Row) error {
				b := engine.Bar{Status: status}
				err := r.Scan(&b.Bucket, &b.N, (*int64)(&b.Oldest))
				bars = append(bars, b)
				return err
			}})
		}
		return sql.Batch(ctx, stmts...)
	})
	slices.SortFunc(bars, engine.CompareBars)
	return bars, err
}

const (
	// selectQueues jumps from queue to queue along the key of the table.
	selectQueues = `WITH RECURSIVE each (queue) AS (
			SELECT min(queue) FROM engine_ready WHERE tenant = $1
			UNION ALL
			SELECT (SELECT min(r.queue) FROM engine_ready AS r WHERE r.tenant = $1 AND r.queue > each.queue)
				FROM each WHERE each.queue IS NOT NULL)
		SELECT queue FROM each WHERE queue IS NOT NULL LIMIT $2`
	selectQueue = `SELECT count(*), coalesce(min(ready_at), 0) FROM (SELECT ready_at FROM engine_ready
		WHERE tenant = $1 AND queue = $2 ORDER BY ready_at, execution, node LIMIT $3) AS oldest`
)

// Queues is a page of the queues that have ready tasks. The tasks of a queue are counted up to a limit.
func (s *Store) Queues(ctx context.Context, q engine.QueueQuery) (page []engine.QueueRow, total int, err error) {
	err = s.read(ctx, "store.queues", func(ctx context.Context, sql *sqldb.Tx) error {
		names, err := sqldb.Collect(ctx, sql, func(r *sqldb.Row) (name string, err error) {
			return name, r.Scan(&name)
		}, selectQueues, q.Tenant, engine.MaxQueues)
		if err != nil {
			return err
		}
		names = slices.DeleteFunc(names, q.Without)
		total = len(names)
		names = names[min(q.Offset, total):]
		page = make([]engine.QueueRow, min(q.Limit, len(names)))
		stmts := make([]sqldb.Stmt, len(page))
		for i := range page {
			page[i].Queue = names[i]
			stmts[i] = sqldb.Stmt{
				Query: selectQueue, Args: []any{q.Tenant, names[i], engine.MaxCountedReady + 1},
				Row: func(r *sqldb.Row) error { return r.Scan(&page[i].Ready, (*int64)(&page[i].Since)) },
			}
		}
		return sql.Batch(ctx, stmts...)
	})
	return page, total, err
}
