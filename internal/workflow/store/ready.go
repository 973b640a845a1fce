package store

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
)

const selectReady = `SELECT ready_at, execution, node FROM engine_ready
	WHERE tenant = $1 AND queue = $2 AND (ready_at, execution, node) > ($3, $4, $5)
	ORDER BY ready_at, execution, node LIMIT $6`

func (t *tx) Ready(
	ctx context.Context, tenant, queue string, after engine.ReadyRow, limit int,
) ([]engine.ReadyRow, error) {
	return t.waiting(ctx, selectReady, tenant, queue, after, limit)
}

func (t *shared) waiting(
	ctx context.Context, query, tenant, queue string, after engine.ReadyRow, limit int,
) ([]engine.ReadyRow, error) {
	var out []engine.ReadyRow
	for row, err := range t.sql.Query(ctx, query, tenant, queue, int64(after.At), after.Execution, after.Node, limit) {
		if err != nil {
			return nil, fault.Wrap("store.ready", err)
		}
		r := engine.ReadyRow{Tenant: tenant, Queue: queue}
		if err := row.Scan((*int64)(&r.At), &r.Execution, &r.Node); err != nil {
			return nil, fault.Wrap("store.ready", err)
		}
		out = append(out, r)
	}
	return out, nil
}

// ready deletes before it inserts: a task that was taken may be ready again at the same instant.
func (t *tx) ready(ctx context.Context, added, taken []engine.ReadyRow) error {
	if err := t.eachReady(ctx, taken, deleteReady, deleteReadyAll); err != nil {
		return err
	}
	return t.eachReady(ctx, added, insertReady, insertReadyAll)
}

const (
	deleteOf       = "DELETE FROM engine_ready WHERE tenant = $1 AND queue = $2 AND ready_at = $3 AND execution = $4"
	deleteReady    = deleteOf + " AND node = $5"
	deleteReadyAll = deleteOf + " AND node IN (SELECT value FROM json_each($5))"
	insertReady    = "INSERT INTO engine_ready (tenant, queue, ready_at, execution, node) VALUES ($1, $2, $3, $4, $5)"
	insertReadyAll = `INSERT INTO engine_ready (tenant, queue, ready_at, execution, node)
		SELECT $1, $2, $3, $4, value FROM json_each($5)`
)

// eachReady runs a statement for each row, or one for all those of an execution that became ready
// together, which may be thousands.
func (t *tx) eachReady(ctx context.Context, rows []engine.ReadyRow, one, all string) error {
	slices.SortFunc(rows, engine.CompareReady) // as they lie in the table
	for len(rows) > 0 {
		r := rows[0]
		n := 1
		for n < len(rows) && together(&rows[n], &r) {
			n++
		}
		query, node := one, r.Node
		if n > 1 {
			nodes := make([]string, n)
			for i := range nodes {
				nodes[i] = rows[i].Node
			}
			list, err := json.Marshal(nodes)
			if err != nil {
				return err
			}
			query, node = all, string(list)
		}
		if _, err := t.sql.Exec(ctx, query, r.Tenant, r.Queue, int64(r.At), r.Execution, node); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func together(r, other *engine.ReadyRow) bool {
	return r.Execution == other.Execution && r.At == other.At && r.Queue == other.Queue && r.Tenant == other.Tenant
}
