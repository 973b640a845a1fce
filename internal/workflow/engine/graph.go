package engine

import (
	"context"
	"sync"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// planKey names a compiled graph; version 0, the newest, only when no other process can register one.
type planKey struct {
	tenant, id string
	version    int
}

// maxPlanNodes is what the compiled graphs in memory may weigh, in nodes of half a KiB each.
const maxPlanNodes = 200_000

// plans caches compiled graphs. A version never changes.
type plans struct {
	mu    sync.RWMutex
	byKey map[planKey]*flow.Plan
	nodes int
	age   int // counts forget: what was read before is not put as the newest after
}

func (p *plans) get(key planKey) *flow.Plan {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.byKey[key]
}

func (p *plans) put(key planKey, plan *flow.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set(key, plan)
}

func (p *plans) set(key planKey, plan *flow.Plan) {
	if p.byKey == nil {
		p.byKey = map[planKey]*flow.Plan{}
	}
	if old := p.byKey[key]; old != nil {
		p.nodes -= old.Weight()
	}
	p.byKey[key] = plan
	p.nodes += plan.Weight()
	for _, own := range []bool{true, false} { // a tenant with many takes the room of others last
		for other, old := range p.byKey {
			if p.nodes <= maxPlanNodes {
				return
			}
			if other != key && (!own || other.tenant == key.tenant) {
				delete(p.byKey, other)
				p.nodes -= old.Weight()
			}
		}
	}
}

// CheckGraph compiles a graph and refuses what PutGraph refuses; body is its canonical JSON.
func (r *Reads) CheckGraph(
	ctx context.Context, tenant, id string, g flow.Graph,
) (plan *flow.Plan, body []byte, err error) {
	if plan, body, err = g.Prepare(id, 1); err == nil {
		err = plan.CheckCost()
	}
	if err != nil {
		return nil, nil, err
	}
	if on := plan.Graph.OnCancel; on != nil {
		if _, err := r.store.Graph(ctx, tenant, on.Graph, 0); fault.KindOf(err) == fault.NotFound {
			return nil, nil, fault.New(fault.Invalid, flow.CodeInvalidGraph,
				"onCancel.graph: graph %s does not exist; register it first", on.Graph).
				With(map[string]any{"field": "onCancel.graph"})
		} else if err != nil {
			return nil, nil, fault.Wrap("engine.graph", err)
		}
	}
	return plan, body, nil
}

// PutGraph registers a graph; created says whether its content became a new version.
func (r *Reads) PutGraph(ctx context.Context, tenant, id string, g flow.Graph) (row GraphRow, created bool, err error) {
	plan, body, err := r.CheckGraph(ctx, tenant, id, g)
	if err != nil {
		return GraphRow{}, false, err
	}
	row, created, err = r.store.PutGraph(ctx, GraphRow{
		Tenant: tenant, ID: id, Digest: plan.Digest, Body: body, CreatedAt: flow.At(r.clock.Now()),
		Message: plan.StartedBy(),
	})
	if err != nil {
		return GraphRow{}, false, fault.Wrap("engine.graph", err)
	}
	r.plans.drop(planKey{tenant, id, 0})
	plan.Version = row.Version
	r.plans.put(planKey{tenant, id, row.Version}, plan) // who creates executions of it next need not compile it
	return row, created, nil
}

// putNewest puts a plan as the newest version unless one was registered since age.
func (p *plans) putNewest(key planKey, plan *flow.Plan, age int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.age == age {
		p.set(key, plan)
	}
}

func (p *plans) now() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.age
}

func (p *plans) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.byKey)
	p.nodes = 0
	p.age++
}

func (p *plans) drop(key planKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.age++
	if old := p.byKey[key]; old != nil {
		delete(p.byKey, key)
		p.nodes -= old.Weight()
	}
}

// Graph is one version of a graph, the newest with version 0.
func (r *Reads) Graph(ctx context.Context, tenant, id string, version int) (GraphRow, error) {
	row, err := r.store.Graph(ctx, tenant, id, version)
	if err != nil {
		return row, graphFault(id, version, err)
	}
	return row, nil
}

// Graphs is a page of the newest versions, by id, and how many graphs there are.
func (r *Reads) Graphs(ctx context.Context, tenant string, offset, limit int) ([]GraphRow, int, error) {
	rows, total, err := r.store.Graphs(ctx, tenant, offset, limit)
	return rows, total, fault.Wrap("engine.graphs", err)
}

// Versions is a page of the versions of a graph, newest first, and how many there are.
func (r *Reads) Versions(ctx context.Context, tenant, id string, offset, limit int) ([]GraphRow, int, error) {
	rows, total, err := r.store.Versions(ctx, tenant, id, offset, limit)
	if err == nil && total == 0 {
		return nil, 0, graphFault(id, 0, fault.New(fault.NotFound, "", ""))
	}
	return rows, total, fault.Wrap("engine.graphs", err)
}
