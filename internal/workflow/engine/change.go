package engine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// What is held of changes.
const (
	MaxPendingChanges = 10_000 // executions whose changes one reader has not taken
	MaxGlance         = 1_000  // executions of a list that is compared to see what other processes changed
)

// endedWithin is of how long ago what has ended is compared: longer than it takes to look again.
const endedWithin = 10 * time.Second

// Change is an execution as a commit left it.
type Change struct {
	ID      flow.ID
	GraphID string
	Status  flow.Status
	Waiting bool // a node waits
	Seq     uint64
}

// Changes gathers what changes in a tenant for one reader. Of each execution it holds the last state alone.
type Changes struct {
	wake chan struct{}

	mu      sync.Mutex
	pending map[flow.ID]Change
	behind  bool
}

// Wake says that there is something to take.
func (c *Changes) Wake() <-chan struct{} { return c.wake }

// Take gives what has changed since it was taken before, in the order of the executions' ids; behind: there was too
// much to hold, and some of it is missing.
func (c *Changes) Take() (all []Change, behind bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all = slices.SortedFunc(maps.Values(c.pending), func(a, b Change) int { return slices.Compare(a.ID[:], b.ID[:]) })
	behind, c.behind = c.behind, false
	clear(c.pending)
	return all, behind
}

func (c *Changes) add(one *Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case one == nil, len(c.pending) >= MaxPendingChanges:
		c.behind = true
		clear(c.pending)
	case c.pending[one.ID].Seq <= one.Seq:
		c.pending[one.ID] = *one
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// changeReaders are those who want to know what changes, by tenant.
type changeReaders struct {
	count    atomic.Int64
	mu       sync.Mutex
	byTenant map[string]map[*Changes]bool

	look sync.Mutex
	seen map[string]map[flow.ID]Change // by the look before, without seq
}

// Changes begins to gather what changes in a tenant. What was committed before this returns may be missing: read a list
// after it. What other processes commit is seen with some delay, where they share the store: what begins and ends, and
// the waits of the newest MaxGlance that are ACTIVE.
func (r *Reads) Changes(ctx context.Context, tenant string) (changes *Changes, stop func(), err error) {
	changes = &Changes{wake: make(chan struct{}, 1), pending: map[flow.ID]Change{}}
	w := &r.changes
	w.mu.Lock()
	if w.byTenant == nil {
		w.byTenant = map[string]map[*Changes]bool{}
	}
	if w.byTenant[tenant] == nil {
		w.byTenant[tenant] = map[*Changes]bool{}
	}
	w.byTenant[tenant][changes] = true
	w.mu.Unlock()
	w.count.Add(1)
	stop = sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.byTenant[tenant], changes); len(w.byTenant[tenant]) == 0 {
			delete(w.byTenant, tenant)
		}
		w.count.Add(-1)
	})
	if !r.shared {
		return changes, stop, nil
	}
	w.look.Lock()
	defer w.look.Unlock()
	if w.seen[tenant] == nil { // else what is compared is from before
		if err = r.glance(ctx, tenant); err != nil {
			stop()
		}
	}
	return changes, stop, err
}

// tell tells the readers of a tenant; nil: something is missing.
func (w *changeReaders) tell(tenant string, one *Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.byTenant[tenant] {
		c.add(one)
	}
}

// commit tells what a durable commit has changed. It costs nothing when nobody reads, and waits for no reader.
func (w *changeReaders) commit(b *batch) {
	if w.count.Load() == 0 {
		return
	}
	for _, id := range b.changed {
		ent := b.used[id]
		if ent == nil || ent.void || !w.reads(ent.tenant) {
			continue
		}
		s := &ent.state
		w.tell(ent.tenant, &Change{id, s.GraphID, s.Status, len(waitingNodes(s)) > 0, s.Seq})
	}
}

func (w *changeReaders) reads(tenant string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byTenant[tenant] != nil
}

// lookAround tells what other processes have changed.
func (r *Reads) lookAround(ctx context.Context) {
	w := &r.changes
	w.mu.Lock()
	tenants := slices.Sorted(maps.Keys(w.byTenant))
	w.mu.Unlock()
	w.look.Lock()
	defer w.look.Unlock()
	maps.DeleteFunc(w.seen, func(tenant string, _ map[flow.ID]Change) bool { return !slices.Contains(tenants, tenant) })
	for _, tenant := range tenants {
		_ = r.glance(ctx, tenant) // what cannot be read now is read by the next look
	}
}

// glance compares the executions of a tenant with those of the look before, and tells what differs.
func (r *Reads) glance(ctx context.Context, tenant string) error {
	now := map[flow.ID]Change{}
	since := flow.At(r.clock.Now()).Add(-endedWithin)
	for i, q := range []ListQuery{{Status: []flow.Status{flow.Active}}, {EndedFrom: max(since, 1)}} {
		q.Tenant, q.Limit = tenant, MaxGlance
		heads, total, err := r.store.List(ctx, q)
		if err != nil {
			return fault.Wrap("engine.changes", err)
		}
		if i > 0 && total > len(heads) {
			r.changes.tell(tenant, nil)
		}
		for j := range heads {
			h := &heads[j]
			now[h.ID] = Change{ID: h.ID, GraphID: h.GraphID, Status: h.Status, Waiting: h.Waiting > 0}
		}
	}
	seen := r.changes.seen[tenant]
	if r.changes.seen == nil {
		r.changes.seen = map[string]map[flow.ID]Change{}
	}
	r.changes.seen[tenant] = now
	if seen == nil {
		return nil
	}
	for id, one := range now {
		if seen[id] == one {
			continue
		}
		head, newest, err := r.store.Head(ctx, tenant, id)
		if err != nil {
			r.changes.seen[tenant] = seen
			return fault.Wrap("engine.changes", err)
		}
		r.changes.tell(tenant, &Change{id, head.GraphID, head.Status, head.Waiting > 0, newest.LastSeq})
	}
	return nil
}
