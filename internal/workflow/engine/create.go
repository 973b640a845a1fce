package engine

import (
	"slices"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

func (b *batch) create(req *Request) (Answer, error) {
	known, err := b.keys.recall(b.now, req.Tenant, &req.Idempotency)
	if err != nil {
		return Answer{}, err
	}
	if known != nil {
		return b.replayCreation(req, known)
	}
	if req.Claim != nil {
		if err := b.e.checkQueues(req.Claim.Queues); err != nil {
			return Answer{}, err
		}
	}
	plan, err := b.plan(req.Tenant, req.GraphID, req.GraphVersion)
	if err != nil {
		return Answer{}, err
	}
	if refused, err := b.business.check(req); err != nil || refused != nil {
		return b.keys.refuse(b.now, req, refused, err)
	}
	id := b.e.newExecutionID(b.now)
	ans, err := b.createAs(id, plan, req)
	if err != nil || req.Idempotency.Key == "" {
		return ans, err
	}
	body := storedKey{Corr: req.CorrelationID, Execution: id, Tasks: taskRefs(ans.Tasks)}
	if err := b.keys.remember(b.now, req.Tenant, &req.Idempotency, &body); err != nil {
		return Answer{}, err
	}
	return ans, err
}

// createAs creates an execution with an id, and starts it where that is wanted.
func (b *batch) createAs(id flow.ID, plan *flow.Plan, req *Request) (Answer, error) {
	num, err := b.tx.Number(b.ctx, 1)
	if err != nil {
		return Answer{}, fault.Wrap("engine.number", err)
	}
	events, err := flow.Decide(flow.State{}, req.Command, flow.Facts{
		Now: b.now, ID: b.e.newID(b.now), Execution: id, Plan: plan, Actor: req.Actor,
		CorrelationID: req.CorrelationID,
		Accepted:      req.accepted,
	})
	if err != nil {
		return Answer{}, err
	}
	ent := newEntry(req.Tenant, num, plan)
	b.use(id, ent)
	b.business.own(req, ent)
	b.openRow(ent).created = true
	rec := &record{Command: req.Command.Name(), At: b.now, Corr: req.CorrelationID, Actor: req.Actor}
	rec.Idempotency.Key = req.Idempotency.Key // for readers; it is looked up where there is no execution yet
	ans, err := b.addRecord(ent, rec, events)
	if err != nil {
		return ans, err
	}
	if req.Start {
		ans.Tasks, err = b.startNew(ent, req)
	}
	return ans, err
}

// startNew starts an execution that this commit has created and gives its creator the tasks that it
// asks for, ahead of those who wait. What does not fit into the commit stays ready.
func (b *batch) startNew(ent *entry, req *Request) ([]Task, error) {
	first := len(b.ready)
	start := Request{
		Tenant: req.Tenant, Execution: ent.state.Execution, Command: flow.Start{}, Actor: req.Actor,
		CorrelationID: req.CorrelationID,
	}
	if _, err := b.decide(ent, &start); err != nil || req.Claim == nil {
		return nil, err
	}
	c := &claim{req: ClaimRequest{
		Tenant: req.Tenant, Worker: req.Claim.Worker, Queues: req.Claim.Queues, Max: req.Claim.Max,
		Lease:         req.Claim.Lease,
		CorrelationID: req.CorrelationID,
	}}
	for _, t := range slices.Clone(b.ready[first:]) { // starting one takes it away
		if len(c.out.Tasks) == c.req.Max || b.claims.full() {
			break
		}
		if t.ent == nil || !c.wants(t.row.Queue) {
			continue
		}
		if err := b.claims.start(c, ent, t.row); err != nil {
			return nil, err
		}
	}
	return some(c.out.Tasks), nil
}

func (b *batch) replayCreation(req *Request, known *storedKey) (Answer, error) {
	if known.Refused != nil {
		known.Refused.Command = req.Command.Name()
		return Answer{
			Replay: true, Command: req.Command.Name(), CorrelationID: known.Corr, Key: req.Idempotency.Key,
			Refused: known.Refused,
		}, nil
	}
	ans := Answer{
		Replay: true, Execution: known.Execution, Command: req.Command.Name(),
		CorrelationID: known.Corr, Key: req.Idempotency.Key, Changed: true,
	}
	if req.Claim == nil {
		return ans, nil
	}
	tasks, err := b.tasks(req.Tenant, known.Tasks)
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

func (b *batch) planOf(ent *entry) error {
	if ent.plan != nil {
		return nil
	}
	var err error
	ent.plan, err = b.plan(ent.tenant, ent.state.GraphID, ent.state.GraphVersion)
	return err
}

// plan is a compiled version of a graph, the newest with version 0. It reads through the commit's
// own transaction: to wait for another connection would hold up everybody.
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
