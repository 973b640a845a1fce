package sim

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// find is an execution of a tenant as committed.
func (m *Memory) find(tenant string, id flow.ID) (execution, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	x, ok := m.execs[m.byID[id]]
	if !ok || x.head.Tenant != tenant {
		return execution{}, errNone
	}
	return x, nil
}

// Head is the row of an execution, and the newest row of its log without its body.
func (m *Memory) Head(_ context.Context, tenant string, id flow.ID) (engine.Head, engine.LogRow, error) {
	if err := m.at(OnRead, nil); err != nil {
		return engine.Head{}, engine.LogRow{}, err
	}
	x, err := m.find(tenant, id)
	if err != nil {
		return engine.Head{}, engine.LogRow{}, err
	}
	last := x.log[len(x.log)-1]
	last.Body, last.Snapshot, last.Reducer = nil, nil, 0
	return x.head, last, nil
}

// History is one execution, up to the row that holds event upTo if that is not 0.
func (m *Memory) History(_ context.Context, tenant string, id flow.ID, upTo uint64) (engine.History, error) {
	if err := m.at(OnRead, nil); err != nil {
		return engine.History{}, err
	}
	x, err := m.find(tenant, id)
	if err != nil {
		return engine.History{}, err
	}
	return x.history(upTo), nil
}

// Row is one row of a log.
func (m *Memory) Row(_ context.Context, num, commitNo int64) (engine.LogRow, error) {
	if err := m.at(OnRead, nil); err != nil {
		return engine.LogRow{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	x := m.execs[num]
	return x.row(commitNo)
}

// Rows are rows of a log from an event on.
func (m *Memory) Rows(_ context.Context, num int64, from uint64, limit int) ([]engine.LogRow, error) {
	if err := m.at(OnRead, nil); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	x := m.execs[num]
	return x.rows(from, limit), nil
}

// RowsAfter are rows of a log after a commit.
func (m *Memory) RowsAfter(_ context.Context, num, commitNo int64, limit int) ([]engine.LogRow, error) {
	if err := m.at(OnRead, nil); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var rows []engine.LogRow
	for _, r := range m.execs[num].log {
		if r.CommitNo > commitNo && len(rows) < limit {
			r.Snapshot, r.Reducer = nil, 0
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// heads are the rows of executions that are wanted, in the order of their numbers.
func (m *Memory) heads(want func(*engine.Head) bool) []engine.Head {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var heads []engine.Head
	for _, x := range m.execs {
		if want(&x.head) {
			heads = append(heads, x.head)
		}
	}
	slices.SortFunc(heads, func(a, b engine.Head) int { return cmp.Compare(a.Num, b.Num) })
	return heads
}

// ByKey is the execution of a graph with a business key: the ACTIVE one, else the newest.
func (m *Memory) ByKey(_ context.Context, key engine.BusinessKey) (flow.ID, error) {
	if err := m.at(OnRead, nil); err != nil {
		return flow.ID{}, err
	}
	all := m.heads(func(h *engine.Head) bool {
		return h.Tenant == key.Tenant && h.GraphID == key.GraphID && h.BusinessKey == key.Key && key.Key != ""
	})
	if len(all) == 0 {
		return flow.ID{}, errNone
	}
	return slices.MaxFunc(all, func(a, b engine.Head) int {
		if a.Status != b.Status && (a.Status == flow.Active || b.Status == flow.Active) {
			return cmp.Compare(b.Status, a.Status) // ACTIVE is the least
		}
		return engine.ByCreation(a, b)
	}).ID, nil
}

// List is a page of executions, newest first, and how many there are in all.
func (m *Memory) List(_ context.Context, q engine.ListQuery) ([]engine.Head, int, error) {
	if err := m.at(OnRead, nil); err != nil {
		return nil, 0, err
	}
	all := m.oldestFirst(q)
	total := len(all)
	if q.Before.Num > 0 {
		all = slices.DeleteFunc(all, func(h engine.Head) bool { return engine.ByCreation(h, q.Before) >= 0 })
	}
	slices.Reverse(all)
	return page(all, q.Offset, q.Limit), total, nil
}

// Walk gives executions, oldest first, after the place of one.
func (m *Memory) Walk(_ context.Context, q engine.ListQuery, after engine.Head) ([]engine.Head, error) {
	if err := m.at(OnRead, nil); err != nil {
		return nil, err
	}
	all := m.oldestFirst(q)
	from := slices.IndexFunc(all, func(h engine.Head) bool { return engine.ByCreation(h, after) > 0 })
	if from < 0 {
		return nil, nil
	}
	return page(all, from, q.Limit), nil
}

// oldestFirst are all executions that a query selects.
func (m *Memory) oldestFirst(q engine.ListQuery) []engine.Head {
	all := m.heads(func(h *engine.Head) bool {
		_, waits := m.waits[engine.WaitRef{Tenant: h.Tenant, Execution: h.Num, Node: q.NodeID}]
		return (q.NodeID == "" || waits) && q.Selects(h)
	})
	slices.SortFunc(all, engine.ByCreation)
	return all
}

func page[T any](all []T, offset, limit int) []T {
	all = all[min(offset, len(all)):]
	return all[:min(limit, len(all))]
}

// Due lists executions of a shard whose DueAt is not after now, and the next DueAt after those.
func (m *Memory) Due(
	_ context.Context, here flow.Time, of engine.Shard, after engine.Head, limit int,
) (due []engine.Head, next, now flow.Time, err error) {
	if err := m.at(OnRead, nil); err != nil {
		return nil, 0, 0, err
	}
	now = m.now(here)
	all := m.heads(func(h *engine.Head) bool { return h.DueAt > 0 && of.Has(h.ID) && comesAfter(h, &after) })
	slices.SortStableFunc(all, func(a, b engine.Head) int { return cmp.Compare(a.DueAt, b.DueAt) })
	for i := range all {
		if i == limit || all[i].DueAt > now {
			return all[:i], all[i].DueAt, now, nil
		}
	}
	return all, 0, now, nil
}

// comesAfter reports whether an execution is after the place of another in the order of deadlines.
func comesAfter(h, place *engine.Head) bool {
	return cmp.Or(cmp.Compare(h.DueAt, place.DueAt), cmp.Compare(h.Num, place.Num)) > 0
}

// Commits are the newest commit numbers of executions.
func (m *Memory) Commits(_ context.Context, ids []flow.ID) ([]int64, error) {
	if err := m.at(OnRead, nil); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	commits := make([]int64, len(ids))
	for i, id := range ids {
		if log := m.execs[m.byID[id]].log; len(log) > 0 {
			commits[i] = log[len(log)-1].CommitNo
		}
	}
	return commits, nil
}

// Scan walks all executions of all tenants.
func (m *Memory) Scan(_ context.Context, after int64, limit int) ([]engine.Head, error) {
	if err := m.at(OnRead, nil); err != nil {
		return nil, err
	}
	return page(m.heads(func(h *engine.Head) bool { return h.Num > after }), 0, limit), nil
}

// Graph is one version of a graph, the newest with version 0.
func (m *Memory) Graph(_ context.Context, tenant, id string, version int) (engine.GraphRow, error) {
	if err := m.at(OnRead, nil); err != nil {
		return engine.GraphRow{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	versions := m.graphs[graphName{tenant, id}]
	if version == 0 {
		version = len(versions)
	}
	if version < 1 || version > len(versions) {
		return engine.GraphRow{}, errNone
	}
	return versions[version-1], nil
}

// Graphs is a page of the newest versions of the graphs that users named, by id.
func (m *Memory) Graphs(_ context.Context, tenant string, offset, limit int) ([]engine.GraphRow, int, error) {
	if err := m.at(OnRead, nil); err != nil {
		return nil, 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var all []engine.GraphRow
	for name, versions := range m.graphs {
		if name.tenant == tenant && !strings.Contains(name.id, ":") {
			newest := versions[len(versions)-1]
			newest.Body = nil
			all = append(all, newest)
		}
	}
	slices.SortFunc(all, func(a, b engine.GraphRow) int { return cmp.Compare(a.ID, b.ID) })
	return page(all, offset, limit), len(all), nil
}

// Versions is a page of the versions of a graph, newest first.
func (m *Memory) Versions(_ context.Context, tenant, id string, offset, limit int) ([]engine.GraphRow, int, error) {
	if err := m.at(OnRead, nil); err != nil {
		return nil, 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := slices.Clone(m.graphs[graphName{tenant, id}])
	for i := range all {
		all[i].Body = nil
	}
	slices.Reverse(all)
	return page(all, offset, limit), len(all), nil
}

// PutGraph stores a version unless the newest one has the same digest.
func (m *Memory) PutGraph(_ context.Context, g engine.GraphRow) (engine.GraphRow, bool, error) {
	if err := m.at(OnRead, nil); err != nil {
		return engine.GraphRow{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	name := graphName{g.Tenant, g.ID}
	versions := m.graphs[name]
	if n := len(versions); n > 0 && versions[n-1].Digest == g.Digest {
		return versions[n-1], false, nil
	}
	g.Version = len(versions) + 1
	m.graphs[name] = append(versions, g)
	return g, true, nil
}

// Waits is a page of the nodes that wait, the longest waiting first, and how many there are.
func (m *Memory) Waits(_ context.Context, q engine.WaitQuery) (rows []engine.WaitRow, total int, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for ref, row := range m.waits {
		if ref.Tenant == q.Tenant && (q.GraphID == "" || row.GraphID == q.GraphID) &&
			(q.NodeID == "" || row.Node == q.NodeID) && row.Since >= q.From &&
			(q.For == nil || row.Assignees == nil || row.Assignees.Have(q.For)) {
			head := m.execs[ref.Execution].head
			row.ID, row.BusinessKey, row.CorrelationID = head.ID, head.BusinessKey, head.CorrelationID
			rows = append(rows, row)
		}
	}
	order := func(a, b engine.WaitRow) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Execution, b.Execution), cmp.Compare(a.Node, b.Node))
	}
	slices.SortFunc(rows, order)
	total = len(rows)
	if q.After.Node != "" {
		rows = slices.DeleteFunc(rows, func(row engine.WaitRow) bool { return order(row, q.After) <= 0 })
	}
	rows = rows[min(q.Offset, len(rows)):]
	if len(rows) == 0 {
		return nil, total, nil
	}
	return rows[:min(q.Limit, len(rows))], total, nil
}

// WaitsOf are the rows of the nodes of one execution that wait.
func (m *Memory) WaitsOf(
	_ context.Context, tenant string, execution int64,
) (rows []engine.WaitRow, names map[string][]string, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	names = map[string][]string{}
	for ref, row := range m.waits {
		if ref.Tenant != tenant || ref.Execution != execution {
			continue
		}
		rows = append(rows, row)
		if a := row.Assignees; a != nil {
			names[ref.Node] = engine.AssigneeNames(a.Users, a.Roles, a.Groups)
		}
	}
	return rows, names, nil
}
