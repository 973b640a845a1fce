package store

import (
	"context"

	"renga.dev/renga/internal/engine"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/flow"
)

const selectReady = `SELECT ready_at, execution, node FROM engine_ready
	WHERE tenant = $1 AND queue = $2 AND (ready_at, execution, node) > ($3, $4, $5)
	ORDER BY ready_at, execution, node LIMIT $6`

// Ready lists ready tasks of a queue after a place in its order.
func (t *tx) Ready(ctx context.Context, tenant, queue string, after engine.ReadyRow, limit int) ([]engine.ReadyRow, error) {
	return t.waiting(ctx, selectReady, tenant, queue, after, limit)
}

// waiting runs a statement that selects ready tasks.
func (t *shared) waiting(ctx context.Context, query, tenant, queue string, after engine.ReadyRow, limit int) ([]engine.ReadyRow, error) {
	var out []engine.ReadyRow
	for row, err := range t.sql.Query(ctx, query, tenant, queue, int64(after.At), after.Execution, after.Node, limit) {
		if err != nil {
			return nil, fault.Wrap("store.ready", err)
		}
		r := engine.ReadyRow{Tenant: tenant, Queue: queue}
		var at int64
		if err := row.Scan(&at, &r.Execution, &r.Node); err != nil {
			return nil, fault.Wrap("store.ready", err)
		}
		r.At = flow.Time(at)
		out = append(out, r)
	}
	return out, nil
}

// ready deletes the tasks that were taken and inserts those that became ready, in
// this order: one that was taken may be ready again at the same instant.
func (t *tx) ready(ctx context.Context, added, taken []engine.ReadyRow) error {
	for i := range taken {
		r := &taken[i]
		_, err := t.sql.Exec(ctx, `DELETE FROM engine_ready
			WHERE tenant = $1 AND queue = $2 AND ready_at = $3 AND execution = $4 AND node = $5`,
			r.Tenant, r.Queue, int64(r.At), r.Execution, r.Node)
		if err != nil {
			return err
		}
	}
	for i := range added {
		r := &added[i]
		_, err := t.sql.Exec(ctx, "INSERT INTO engine_ready (tenant, queue, ready_at, execution, node) VALUES ($1, $2, $3, $4, $5)",
			r.Tenant, r.Queue, int64(r.At), r.Execution, r.Node)
		if err != nil {
			return err
		}
	}
	return nil
}
