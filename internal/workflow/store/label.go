package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

const (
	insertLabel = "INSERT INTO engine_label (tenant, label, created_at, execution) VALUES ($1, $2, $3, $4)"
	pgLabels    = `INSERT INTO engine_label (tenant, label, created_at, execution)
		SELECT w.tenant, l.key || '=' || l.value, w.created_at, w.num
		FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) AS w (tenant, created_at, num, labels),
			json_each_text(w.labels::json) AS l`

	// theHolder is who has a business key. The index has no rows without one.
	theHolder    = "tenant = $1 AND graph_id = $2 AND business_key = $3 AND status = 0 AND business_key <> ''"
	selectHolder = "SELECT " + headColumns + " FROM engine_execution WHERE " + theHolder
	selectByKey  = "SELECT " + headColumns + ` FROM engine_execution
		WHERE tenant = $1 AND business_key = $2 AND business_key <> '' AND graph_id = $3
		ORDER BY created_at DESC, num DESC LIMIT 1`
)

// Holders asks in one trip, without a lock: the index refuses a second holder.
func (t *shared) Holders(ctx context.Context, keys []engine.BusinessKey) ([]engine.Head, error) {
	out, stmts := make([]engine.Head, len(keys)), make([]sqldb.Stmt, len(keys))
	for i, key := range keys {
		stmts[i] = sqldb.Stmt{
			Query: selectHolder, Args: []any{key.Tenant, key.GraphID, key.Key},
			Row: func(r *sqldb.Row) (err error) {
				out[i], err = scanHead(r)
				return err
			},
		}
	}
	return out, fault.Wrap("store.holders", t.sql.Batch(ctx, stmts...))
}

// ByKey is the execution of a graph with a business key: the ACTIVE one, else the newest.
func (s *Store) ByKey(ctx context.Context, key engine.BusinessKey) (id flow.ID, err error) {
	err = s.read(ctx, "store.bykey", func(ctx context.Context, sql *sqldb.Tx) error {
		h, err := scanHead(sql.Row(ctx, selectHolder, key.Tenant, key.GraphID, key.Key))
		if errors.Is(err, sqldb.ErrNoRow) {
			h, err = scanHead(sql.Row(ctx, selectByKey, key.Tenant, key.Key, key.GraphID))
		}
		id = h.ID
		return err
	})
	return id, err
}

// inKeyOrder puts executions with business keys into one order for everybody, so that two commits with
// the same keys do not wait for each other in a circle.
func inKeyOrder(heads []engine.Head) []engine.Head {
	if !slices.ContainsFunc(heads, func(h engine.Head) bool { return h.BusinessKey != "" }) {
		return heads
	}
	return slices.SortedStableFunc(slices.Values(heads), func(a, b engine.Head) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.GraphID, b.GraphID),
			cmp.Compare(a.BusinessKey, b.BusinessKey))
	})
}

func labelled(heads []engine.Head) (some []engine.Head) {
	for i := range heads {
		if heads[i].Labels != "" {
			some = append(some, heads[i])
		}
	}
	return some
}

// labelRow is a label of an execution.
type labelRow struct {
	head  *engine.Head
	label string
}

// insertLabels writes the labels of new executions as they lie in the table: page by page.
func (t *tx) insertLabels(ctx context.Context, heads []engine.Head) error {
	var rows []labelRow
	for i := range heads {
		h := &heads[i]
		if h.Labels == "" {
			continue
		}
		var labels map[string]string
		if err := json.Unmarshal([]byte(h.Labels), &labels, flow.Stored); err != nil {
			return err
		}
		for name, value := range labels {
			rows = append(rows, labelRow{h, name + "=" + value})
		}
	}
	slices.SortFunc(rows, func(a, b labelRow) int {
		return cmp.Or(cmp.Compare(a.head.Tenant, b.head.Tenant), cmp.Compare(a.label, b.label),
			cmp.Compare(a.head.CreatedAt, b.head.CreatedAt), cmp.Compare(a.head.Num, b.head.Num))
	})
	for _, r := range rows {
		_, err := t.sql.Exec(ctx, insertLabel, r.head.Tenant, r.label, int64(r.head.CreatedAt), r.head.Num)
		if err != nil {
			return err
		}
	}
	return nil
}

// labels are the arguments of pgLabels.
func labels(heads []engine.Head) []any {
	return []any{
		column(heads, func(h *engine.Head) string { return h.Tenant }),
		column(heads, func(h *engine.Head) int64 { return int64(h.CreatedAt) }),
		column(heads, func(h *engine.Head) int64 { return h.Num }),
		column(heads, func(h *engine.Head) string { return h.Labels }),
	}
}
