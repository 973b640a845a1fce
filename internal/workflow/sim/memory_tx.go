package sim

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// tx is one commit in the making: the store, and what the commit wrote on top.
type tx struct {
	m *Memory
	pending
}

var _ engine.Tx = (*tx)(nil)

func (t *tx) execution(num int64) (execution, bool) {
	if x, ok := t.execs[num]; ok {
		return x, true
	}
	t.m.mu.RLock()
	defer t.m.mu.RUnlock()
	x, ok := t.m.execs[num]
	return x, ok
}

func (t *tx) number(id flow.ID) int64 {
	for num, x := range t.execs {
		if x.head.ID == id {
			return num
		}
	}
	t.m.mu.RLock()
	defer t.m.mu.RUnlock()
	return t.m.byID[id]
}

// Now is the time by the clock that all share.
func (t *tx) Now(_ context.Context, here flow.Time) (flow.Time, error) {
	return t.m.now(here), nil
}

// Fetch gives histories, in the order asked for.
func (t *tx) Fetch(_ context.Context, want []engine.Want) ([]engine.History, error) {
	out := make([]engine.History, len(want))
	for i, w := range want {
		num := w.Num
		if num == 0 {
			num = t.number(w.ID)
		}
		x, ok := t.execution(num)
		switch {
		case !ok || x.head.Tenant != w.Tenant:
		case w.Known > 0 && w.Known == x.log[len(x.log)-1].CommitNo:
			out[i] = engine.History{Found: true, Fresh: true, Head: x.head}
		default:
			out[i] = x.history(0)
		}
	}
	return out, t.m.at(AfterFetch, nil)
}

// Holders gives the ACTIVE executions that have business keys.
func (t *tx) Holders(_ context.Context, keys []engine.BusinessKey) ([]engine.Head, error) {
	out := make([]engine.Head, len(keys))
	t.m.mu.RLock()
	all := maps.Clone(t.m.execs)
	t.m.mu.RUnlock()
	maps.Copy(all, t.execs)
	for i, key := range keys {
		for _, x := range all {
			h := &x.head
			if key.Key != "" && h.Status == flow.Active &&
				(engine.BusinessKey{Tenant: h.Tenant, GraphID: h.GraphID, Key: h.BusinessKey}) == key {
				out[i] = *h
			}
		}
	}
	return out, nil
}

// Keys gives remembered keys, in the order asked for.
func (t *tx) Keys(_ context.Context, refs []engine.KeyRef) ([]*engine.KeyRow, error) {
	out := make([]*engine.KeyRow, len(refs))
	for i, ref := range refs {
		if row, ok := t.key(ref); ok {
			out[i] = &row
		}
	}
	return out, nil
}

func (t *tx) key(ref engine.KeyRef) (engine.KeyRow, bool) {
	if row, ok := t.keys[ref]; ok {
		return row, true
	}
	t.m.mu.RLock()
	defer t.m.mu.RUnlock()
	row, ok := t.m.keys[ref]
	return row, ok
}

// Ready lists ready tasks of a queue, oldest first.
func (t *tx) Ready(_ context.Context, tenant, queue string, after engine.ReadyRow, limit int) (
	[]engine.ReadyRow, error,
) {
	var rows []engine.ReadyRow
	for _, row := range t.allReady() {
		if row.Tenant == tenant && row.Queue == queue && compareReady(row, after) > 0 {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, compareReady)
	return rows[:min(len(rows), limit)], nil
}

// allReady are the ready tasks that this commit sees, in no order.
func (t *tx) allReady() []engine.ReadyRow {
	t.m.mu.RLock()
	defer t.m.mu.RUnlock()
	rows := make([]engine.ReadyRow, 0, len(t.m.ready)+len(t.ready))
	for row := range t.m.ready {
		if _, changed := t.ready[row]; !changed {
			rows = append(rows, row)
		}
	}
	for row, there := range t.ready {
		if there {
			rows = append(rows, row)
		}
	}
	return rows
}

func compareReady(a, b engine.ReadyRow) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Execution, b.Execution), cmp.Compare(a.Node, b.Node))
}

// Number gives numbers that no execution has.
func (t *tx) Number(_ context.Context, n int) (int64, error) {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	first := t.m.last + 1
	t.m.last += int64(n)
	return first, nil
}

// Write takes over everything in b.
func (t *tx) Write(ctx context.Context, b *engine.Batch) error {
	if err := t.m.at(BeforeWrite, b); err != nil {
		return err
	}
	for _, h := range b.Update {
		x, ok := t.execution(h.Num)
		if !ok || x.head.Tenant != h.Tenant || x.head.Status != h.Was || x.head.Waiting != h.WasWaiting {
			return fault.New(fault.Conflict, "STALE", "execution %d is %v", h.Num, x.head.Status)
		}
		x.head.Status, x.head.EndedAt, x.head.ArchivedAt, x.head.DueAt = h.Status, h.EndedAt, h.ArchivedAt, h.DueAt
		x.head.Outcome, x.head.ErrorCode, x.head.Waiting = h.Outcome, h.ErrorCode, h.Waiting
		t.execs[h.Num] = x
	}
	for _, h := range b.Create {
		if _, ok := t.execution(h.Num); ok || t.number(h.ID) != 0 {
			return fault.New(fault.Conflict, "ALREADY_EXISTS", "execution %d exists", h.Num)
		}
		if held, err := t.Holders(ctx, []engine.BusinessKey{{
			Tenant: h.Tenant, GraphID: h.GraphID, Key: h.BusinessKey,
		}}); err != nil ||
			held[0].Num != 0 {
			return fault.New(fault.Conflict, "ALREADY_EXISTS", "execution %d has the business key", held[0].Num)
		}
		t.execs[h.Num] = execution{head: h}
	}
	if err := t.append(b.Log); err != nil {
		return err
	}
	if err := t.m.at(MidWrite, b); err != nil {
		return err
	}
	if err := t.remember(b.Keys); err != nil {
		return err
	}
	if err := t.setWaits(b); err != nil {
		return err
	}
	return t.setReady(b.Ready, b.Taken)
}

// setWaits deletes, then inserts. A row to delete is there, and one to insert is not.
func (t *tx) setWaits(b *engine.Batch) error {
	there := func(ref engine.WaitRef) bool {
		if row, changed := t.waits[ref]; changed {
			return row != nil
		}
		t.m.mu.RLock()
		defer t.m.mu.RUnlock()
		_, ok := t.m.waits[ref]
		return ok
	}
	for _, ref := range b.Waited {
		if !there(ref) {
			return fault.New(fault.Conflict, "NO_WAIT", "node %s of execution %d has no wait", ref.Node, ref.Execution)
		}
		t.waits[ref] = nil
	}
	for i := range b.Waits {
		row := &b.Waits[i]
		if there(row.WaitRef) {
			return fault.New(fault.Conflict, "ALREADY_EXISTS", "node %s of execution %d waits already", row.Node,
				row.Execution)
		}
		t.waits[row.WaitRef] = row
	}
	return nil
}

func (t *tx) append(rows []engine.LogRow) error {
	for _, r := range rows {
		x, ok := t.execution(r.Execution)
		if !ok {
			return fault.Wrap("sim.append", errNone)
		}
		if _, err := x.row(r.CommitNo); err == nil {
			return fault.New(fault.Conflict, "ALREADY_EXISTS", "execution %d has commit %d", r.Execution, r.CommitNo)
		}
		x.log = append(x.log[:len(x.log):len(x.log)], own(r))
		t.execs[r.Execution] = x
	}
	return nil
}

func (t *tx) remember(keys []engine.KeyRow) error {
	for _, k := range keys {
		if old, ok := t.key(k.KeyRef); ok && old.At > k.At-t.m.retention {
			return fault.New(fault.Conflict, "ALREADY_EXISTS", "key %s is in use", k.Key)
		}
		t.keys[k.KeyRef] = k
	}
	return nil
}

// setReady deletes, then inserts: a task that ran and became ready again within
// one millisecond and one commit has the row that it had. One that is there
// already is a conflict, as it is in a table with a primary key.
func (t *tx) setReady(added, taken []engine.ReadyRow) error {
	for _, row := range taken {
		t.ready[row] = false
	}
	for _, row := range added {
		there, changed := t.ready[row]
		if !changed {
			t.m.mu.RLock()
			there = t.m.ready[row]
			t.m.mu.RUnlock()
		}
		if there {
			return fault.New(fault.Conflict, "ALREADY_EXISTS", "node %s of execution %d is ready already", row.Node,
				row.Execution)
		}
		t.ready[row] = true
	}
	return nil
}

// Savepoint runs fn and undoes what it wrote when it fails.
func (t *tx) Savepoint(ctx context.Context, fn func(context.Context) error) error {
	mark := t.mark()
	err := fn(ctx)
	if err != nil {
		t.pending = mark
	}
	return err
}

// SQL is nil: there is no database.
func (t *tx) SQL() *sqldb.Tx { return nil }

// Row is one row of a log.
func (t *tx) Row(_ context.Context, num, commitNo int64) (engine.LogRow, error) {
	x, ok := t.execution(num)
	if !ok {
		return engine.LogRow{}, errNone
	}
	return x.row(commitNo)
}

// Rows are rows of a log from an event on.
func (t *tx) Rows(_ context.Context, num int64, from uint64, limit int) ([]engine.LogRow, error) {
	x, _ := t.execution(num)
	return x.rows(from, limit), nil
}

// Graph is one version of a graph.
func (t *tx) Graph(ctx context.Context, tenant, id string, version int) (engine.GraphRow, error) {
	return t.m.Graph(ctx, tenant, id, version)
}
