package store

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

func (t *tx) Write(ctx context.Context, b *engine.Batch) error {
	counts := counter{}
	if err := t.update(ctx, b.Update, counts); err != nil {
		return fault.Wrap("store.update", err)
	}
	if err := t.create(ctx, b.Create, counts); err != nil {
		return fault.Wrap("store.create", err)
	}
	if err := t.append(ctx, b.Log, b.Publications); err != nil {
		return fault.Wrap("store.append", err)
	}
	if err := t.remember(ctx, b.Keys); err != nil {
		return fault.Wrap("store.keys", err)
	}
	if err := t.ready(ctx, b.Ready, b.Taken); err != nil {
		return fault.Wrap("store.ready", err)
	}
	notes, err := t.store.notes(t.sql, b)
	if err != nil {
		return err
	}
	if err := t.sql.Batch(ctx, notes...); err != nil {
		return fault.Wrap("store.canceled", err)
	}
	if err := t.pass(ctx, b); err != nil {
		return fault.Wrap("store.passing", err)
	}
	return fault.Wrap("store.count", t.count(ctx, counts))
}

func (t *tx) create(ctx context.Context, heads []engine.Head, counts counter) error {
	for i := range heads {
		h := &heads[i]
		_, err := t.sql.Exec(ctx, `INSERT INTO engine_execution (`+headColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
			h.Num, h.ID[:], h.Tenant, h.GraphID, h.GraphVersion, int64(h.Status), int64(h.CreatedAt), int64(h.EndedAt),
			int64(h.ArchivedAt), int64(h.DueAt), h.CorrelationID, h.BusinessKey, h.Labels, h.Outcome,
			h.ErrorCode, h.Waiting, h.FailedNode)
		if err != nil {
			return err
		}
		counts.created(h)
	}
	return t.insertLabels(ctx, heads)
}

func (t *tx) update(ctx context.Context, heads []engine.Update, counts counter) error {
	for i := range heads {
		h := &heads[i]
		n, err := t.sql.Exec(ctx, `UPDATE engine_execution SET status = $1, ended_at = $2, archived_at = $3,
			due_at = $4, outcome = $5, error_code = $6, waiting = $7, failed_node = $8
			WHERE num = $9 AND tenant = $10 AND status = $11`,
			int64(h.Status), int64(h.EndedAt), int64(h.ArchivedAt), int64(h.DueAt), h.Outcome, h.ErrorCode, h.Waiting,
			h.FailedNode,
			h.Num, h.Tenant, int64(h.Was))
		if err != nil {
			return err
		}
		if n != 1 {
			return fault.New(fault.Conflict, "EXECUTION_CHANGED", "execution %v is not as it was read", h.ID)
		}
		counts.changed(h)
	}
	return nil
}

func (t *tx) append(ctx context.Context, rows []engine.LogRow, publications []engine.Publication) error {
	numbers, err := t.numberPublications(ctx, publications)
	if err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		var snapshot, reducer any
		if r.Snapshot != nil {
			snapshot, reducer = r.Snapshot, r.Reducer
		}
		_, err := t.sql.Exec(ctx, `INSERT INTO engine_log
			(execution, commit_no, first_seq, last_seq, reducer, body, snapshot, news)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			r.Execution, r.CommitNo, r.FirstSeq, r.LastSeq, reducer, r.Body, snapshot, numbers.of(i, r))
		if err != nil {
			return err
		}
	}
	return nil
}

// counter gathers how the numbers of executions change, to write each of them once.
type counter map[group]int64

type group struct {
	tenant, graph string
	status        flow.Status
}

func (c counter) created(h *engine.Head) { c[group{h.Tenant, h.GraphID, h.Status}]++ }

func (c counter) changed(h *engine.Update) {
	if h.Was != h.Status {
		c[group{h.Tenant, h.GraphID, h.Was}]--
		c[group{h.Tenant, h.GraphID, h.Status}]++
	}
}

// groups are those whose numbers change, in order.
func (c counter) groups() []group {
	maps.DeleteFunc(c, func(_ group, n int64) bool { return n == 0 })
	return slices.SortedFunc(maps.Keys(c), func(a, b group) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.graph, b.graph), cmp.Compare(a.status, b.status))
	})
}

func (t *tx) count(ctx context.Context, counts counter) error {
	for _, g := range counts.groups() {
		_, err := t.sql.Exec(ctx, `INSERT INTO engine_count (tenant, graph_id, status, n) VALUES ($1, $2, $3, $4)
			ON CONFLICT (tenant, graph_id, status) DO UPDATE SET n = engine_count.n + excluded.n`,
			g.tenant, g.graph, int64(g.status), counts[g])
		if err != nil {
			return err
		}
	}
	return nil
}
