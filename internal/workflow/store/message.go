package store

import (
	"context"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// notifyAwaits lets those who deliver messages look for what the waits of a batch ask for.
func (s *Store) notifyAwaits(sql *sqldb.Tx, b *engine.Batch) {
	if s.awaits == nil {
		return
	}
	for i := range b.Waits {
		if w := &b.Waits[i]; w.Awaits != nil {
			tenant, of := w.Tenant, *w.Awaits
			sql.OnCommit(func() { s.awaits(tenant, of) })
		}
	}
}

// Awaiting are the nodes that wait for a message, the longest waiting first, as a transaction sees them.
func Awaiting(
	ctx context.Context, sql *sqldb.Tx, tenant string, of flow.Awaited, limit int,
) ([]engine.AwaitingNode, error) {
	nodes, err := sqldb.Collect(ctx, sql, func(row *sqldb.Row) (n engine.AwaitingNode, err error) {
		var id []byte
		err = row.Scan(&id, &n.Node)
		copy(n.Execution[:], id)
		return n, err
	}, `SELECT e.id, w.node FROM engine_wait AS w
		JOIN engine_execution AS e ON e.num = w.execution AND e.tenant = w.tenant
		WHERE w.tenant = $1 AND w.message_name = $2 AND w.message_key = $3 AND w.message_name <> ''
		ORDER BY w.since, w.execution, w.node LIMIT $4`, tenant, of.Name, of.Key, limit)
	return nodes, fault.Wrap("store.awaiting", err)
}

// IsAwaited is the condition that a node waits for a message, of which tenant, name and key are expressions of SQL.
func IsAwaited(tenant, name, key string) string {
	return "EXISTS (SELECT 1 FROM engine_wait AS w WHERE w.tenant = " + tenant + " AND w.message_name = " + name +
		" AND w.message_key = " + key + " AND w.message_name <> '')"
}

// Subscribed are the graphs that messages of a name start, by id, as a transaction sees them.
func Subscribed(ctx context.Context, sql *sqldb.Tx, tenant, name string, limit int) ([]string, error) {
	graphs, err := sqldb.Collect(ctx, sql, sqldb.Column[string], `SELECT graph_id FROM engine_subscription
		WHERE tenant = $1 AND message_name = $2 ORDER BY graph_id LIMIT $3`, tenant, name, limit)
	return graphs, fault.Wrap("store.subscribed", err)
}

// subscribe notes what starts the newest version of a graph.
func subscribe(ctx context.Context, sql *sqldb.Tx, g *engine.GraphRow) error {
	stmts := []sqldb.Stmt{{
		Query: "DELETE FROM engine_subscription WHERE tenant = $1 AND graph_id = $2", Args: []any{g.Tenant, g.ID},
	}}
	if g.Message != "" {
		stmts = append(stmts, sqldb.Stmt{
			Query: "INSERT INTO engine_subscription (tenant, graph_id, message_name) VALUES ($1, $2, $3)",
			Args:  []any{g.Tenant, g.ID, g.Message},
		})
	}
	return sql.Batch(ctx, stmts...)
}
