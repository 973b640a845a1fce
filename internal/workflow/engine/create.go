package engine

import (
	"slices"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// creator makes the executions of a batch.
type creator struct{ *batch }

// create makes a new execution.
func (cr creator) create(req *Request) (Answer, error) {
	known, err := keyTable(cr).recallKey(req.Tenant, &req.Once)
	if err != nil {
		return Answer{}, err
	}
	if known != nil {
		return cr.replayCreation(req, known)
	}
	if req.Claim != nil {
		if err := cr.e.checkQueues(req.Claim.Queues); err != nil {
			return Answer{}, err
		}
	}
	plan, err := cr.plan(req.Tenant, req.GraphID, req.GraphVersion)
	if err != nil {
		return Answer{}, err
	}
	num, err := cr.tx.Number(cr.ctx, 1)
	if err != nil {
		return Answer{}, fault.Wrap("engine.number", err)
	}
	id := cr.e.newExecutionID(cr.now)
	events, err := flow.Decide(flow.State{}, req.Command, flow.Facts{
		Now: cr.now, ID: cr.e.newID(cr.now), Execution: id, Plan: plan, Actor: req.Actor,
		CorrelationID: req.CorrelationID,
		Accepted:      req.accepted,
	})
	if err != nil {
		return Answer{}, err
	}
	ent := newEntry(req.Tenant, num, plan)
	cr.use(id, ent)
	cr.openRow(ent).created = true
	rec := &record{Command: req.Command.Name(), At: cr.now, Corr: req.CorrelationID, Actor: req.Actor}
	rec.Once.Key = req.Once.Key // for readers; it is looked up where there is no execution yet
	ans, err := cr.addRecord(ent, rec, events)
	if err != nil {
		return ans, err
	}
	if req.Start {
		ans.Tasks, err = cr.startNew(ent, req)
	}
	if err := cr.rememberCreation(req, id, ans.Tasks); err != nil {
		return Answer{}, err
	}
	return ans, err
}

// startNew starts an execution that this commit has created and gives its creator the
// tasks that it asks for, ahead of those who wait for any. What does not fit into
// the commit stays ready.
func (cr creator) startNew(ent *entry, req *Request) ([]Task, error) {
	first := len(cr.ready)
	start := Request{
		Tenant: req.Tenant, Execution: ent.state.Execution, Command: flow.Start{}, Actor: req.Actor,
		CorrelationID: req.CorrelationID,
	}
	if _, err := cr.decide(ent, &start); err != nil || req.Claim == nil {
		return nil, err
	}
	c := &claim{req: ClaimRequest{
		Tenant: req.Tenant, Worker: req.Claim.Worker, Queues: req.Claim.Queues, Max: req.Claim.Max,
		Lease:         req.Claim.Lease,
		CorrelationID: req.CorrelationID,
	}}
	for _, t := range slices.Clone(cr.ready[first:]) { // starting one takes it away
		if len(c.out.Tasks) == c.req.Max || cr.full() {
			break
		}
		if t.ent == nil || !c.wants(t.row.Queue) {
			continue
		}
		if err := claimServer(cr).start(c, ent, t.row); err != nil {
			return nil, err
		}
	}
	return some(c.out.Tasks), nil
}

// rememberCreation puts down the key of a creation, with the tasks that it got.
func (cr creator) rememberCreation(req *Request, id flow.ID, tasks []Task) error {
	if req.Once.Key == "" {
		return nil
	}
	return keyTable(cr).rememberKey(req.Tenant, &req.Once,
		&storedKey{Corr: req.CorrelationID, Execution: id, Tasks: taskRefs(tasks)})
}

// replayCreation is the first answer to a creation.
func (cr creator) replayCreation(req *Request, known *storedKey) (Answer, error) {
	ans := Answer{
		Replay: true, Execution: known.Execution, Command: req.Command.Name(),
		CorrelationID: known.Corr, Key: req.Once.Key, Changed: true,
	}
	if req.Claim == nil {
		return ans, nil
	}
	tasks, err := claimServer(cr).tasks(req.Tenant, known.Tasks)
	ans.Tasks = some(tasks)
	return ans, err
}

// some makes no tasks an empty list: it was asked for.
func some(tasks []Task) []Task {
	if tasks == nil {
		return []Task{}
	}
	return tasks
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
		if isLarge(row.Body) {
			return nil, coldGraph{exact, row.Body}
		}
		if p, err = flow.CompileStored(id, row.Version, row.Body); err != nil {
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
	return fault.New(fault.NotFound, "GRAPH_NOT_FOUND", "graph %s does not exist; register it with PUT /graphs/%s", id,
		id)
}
