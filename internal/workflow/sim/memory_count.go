package sim

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Counts groups executions, the largest groups first.
func (m *Memory) Counts(_ context.Context, q engine.CountQuery) (groups []engine.Group, total int, err error) {
	if err := m.at(OnRead, nil); err != nil {
		return nil, 0, err
	}
	counts := map[engine.Group]int{}
	for _, h := range m.heads(func(h *engine.Head) bool {
		return h.Tenant == q.Tenant && (q.GraphID == "" || h.GraphID == q.GraphID)
	}) {
		var g engine.Group
		if q.ByStatus {
			g.Status = h.Status
		}
		if q.ByGraph {
			g.GraphID = h.GraphID
		}
		counts[g]++
		total++
	}
	for g, n := range counts {
		g.N = n
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b engine.Group) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Status, b.Status), cmp.Compare(a.GraphID, b.GraphID))
	})
	return page(groups, 0, q.Limit), total, nil
}

// Histogram counts the newest executions of each status by the bucket of their creation.
func (m *Memory) Histogram(_ context.Context, q engine.HistogramQuery) ([]engine.Bar, error) {
	if err := m.at(OnRead, nil); err != nil {
		return nil, err
	}
	type key struct {
		bucket int
		status flow.Status
	}
	all := m.oldestFirst(engine.ListQuery{
		Tenant: q.Tenant, GraphID: q.GraphID, CreatedFrom: q.From, CreatedTo: q.To,
	})
	bars, seen := map[key]engine.Bar{}, map[flow.Status]int{}
	for _, h := range slices.Backward(all) {
		if seen[h.Status]++; seen[h.Status] > q.Limit {
			continue
		}
		k := key{int(h.CreatedAt.Sub(q.From) / q.Bucket), h.Status}
		bars[k] = engine.Bar{Bucket: k.bucket, Status: k.status, N: bars[k].N + 1, Oldest: h.CreatedAt}
	}
	return slices.SortedFunc(maps.Values(bars), engine.CompareBars), nil
}

// Queues is a page of the queues that have ready tasks.
func (m *Memory) Queues(_ context.Context, q engine.QueueQuery) ([]engine.QueueRow, int, error) {
	if err := m.at(OnRead, nil); err != nil {
		return nil, 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	rows := map[string]engine.QueueRow{}
	for r := range m.ready {
		if r.Tenant != q.Tenant || q.Without(r.Queue) {
			continue
		}
		row, known := rows[r.Queue]
		if !known || r.At < row.Since {
			row.Since = r.At
		}
		rows[r.Queue] = engine.QueueRow{
			Queue: r.Queue, Ready: min(row.Ready+1, engine.MaxCountedReady+1), Since: row.Since,
		}
	}
	all := slices.SortedFunc(maps.Values(rows), func(a, b engine.QueueRow) int { return cmp.Compare(a.Queue, b.Queue) })
	return page(all, q.Offset, q.Limit), len(all), nil
}
