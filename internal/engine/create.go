package engine

import (
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/flow"
)

// create makes a new execution.
func (b *batch) create(req *Request) (Answer, error) {
	known, err := b.recallKey(req.Tenant, &req.Once)
	if err != nil {
		return Answer{}, err
	}
	if known != nil {
		return Answer{
			Replay: true, Execution: known.Execution, Command: req.Command.Name(),
			CorrelationID: known.Corr, Key: req.Once.Key, Changed: true,
		}, nil
	}
	plan, err := b.plan(req.Tenant, req.GraphID, 0)
	if err != nil {
		return Answer{}, err
	}
	num, err := b.tx.Number(b.ctx, 1)
	if err != nil {
		return Answer{}, fault.Wrap("engine.number", err)
	}
	id := b.e.newExecutionID(b.now)
	events, err := flow.Decide(flow.State{}, req.Command, flow.Facts{
		Now: b.now, ID: b.e.newID(b.now), Execution: id, Plan: plan, Actor: req.Actor, CorrelationID: req.CorrelationID,
	})
	if err != nil {
		return Answer{}, err
	}
	ent := newEntry(req.Tenant, num, plan)
	b.use(id, ent)
	b.openRow(ent).created = true
	if req.Once.Key != "" {
		if err := b.rememberKey(req.Tenant, &req.Once, &storedKey{Corr: req.CorrelationID, Execution: id}); err != nil {
			return Answer{}, err
		}
	}
	rec := &record{Command: req.Command.Name(), At: b.now, Corr: req.CorrelationID, Actor: req.Actor}
	ans, err := b.take(ent, rec, events)
	ans.Key = req.Once.Key
	if err != nil || !req.Start {
		return ans, err
	}
	start := Request{Tenant: req.Tenant, Execution: id, Command: flow.Start{}, Actor: req.Actor, CorrelationID: req.CorrelationID}
	_, err = b.decide(ent, &start)
	return ans, err
}

// planOf gives an entry its plan.
func (b *batch) planOf(ent *entry) error {
	if ent.plan != nil {
		return nil
	}
	var err error
	ent.plan, err = b.plan(ent.tenant, ent.state.GraphID, ent.state.GraphVersion)
	return err
}

// plan is a compiled version of a graph, the newest with version 0.
// It reads through the commit's own transaction: to wait for another connection
// here would be to hold up everybody.
func (b *batch) plan(tenant, id string, version int) (*flow.Plan, error) {
	e := b.e
	key := planKey{tenant, id, version}
	if version > 0 || e.cfg.Exclusive {
		if p := e.plans.get(key); p != nil {
			return p, nil
		}
	} else if p := b.newest[key]; p != nil {
		return p, nil
	}
	age := e.plans.now()
	row, err := b.tx.Graph(b.ctx, tenant, id, version)
	if err != nil {
		return nil, graphFault(id, version, err)
	}
	exact := planKey{tenant, id, row.Version}
	p := e.plans.get(exact)
	if p == nil {
		g, err := flow.ParseGraph(row.Body, false)
		if err != nil {
			return nil, fault.Wrap("engine.plan", err)
		}
		if p, err = g.Compile(id, row.Version); err != nil {
			return nil, fault.Wrap("engine.plan", err)
		}
		e.plans.put(exact, p)
	}
	switch {
	case version > 0:
	case e.cfg.Exclusive:
		e.plans.putNewest(key, p, age)
	default:
		b.newest[key] = p
	}
	return p, nil
}

func graphFault(id string, version int, err error) error {
	if fault.KindOf(err) != fault.NotFound {
		return fault.Wrap("engine.graph", err)
	}
	if version > 0 {
		return fault.New(fault.NotFound, "GRAPH_NOT_FOUND", "graph %s has no version %d", id, version)
	}
	return fault.New(fault.NotFound, "GRAPH_NOT_FOUND", "graph %s does not exist; register it with PUT /graphs/%s", id, id)
}
