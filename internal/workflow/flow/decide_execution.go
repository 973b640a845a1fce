package flow

// decide creates an execution and all its nodes. It runs on Start.
func (c Create) decide(d *draft) error {
	input, err := d.take(c.Input, 0)
	if err != nil {
		return err
	}
	if err := CheckBusinessKey(c.BusinessKey); err != nil {
		return err
	}
	if err := c.Labels.check(); err != nil {
		return err
	}
	p := d.plan
	d.Execution = d.facts.Execution
	d.events = make([]Event, 0, 1+len(p.nodes))
	d.Nodes = make([]*Node, 0, len(p.nodes))
	d.emit(&ExecutionCreated{
		GraphID: p.ID, Input: input, GraphVersion: p.Version, GraphDigest: p.Digest, BusinessKey: c.BusinessKey,
		Labels: c.Labels, RerunOf: c.RerunOf,
	})
	nodes := make([]NodeCreated, len(p.nodes))
	for i := range p.nodes {
		nodes[i] = NodeCreated{NodeID: p.nodes[i].spec.NodeID, NodeType: p.nodes[i].spec.Type}
		d.emit(&nodes[i])
	}
	return nil
}

func (Start) decide(d *draft) error {
	if err := d.forward(); err != nil {
		return err
	}
	if d.StartedAt != 0 {
		return d.refuse(GuardNotStarted, "execution was started before")
	}
	d.open()
	d.emit(&ExecutionStarted{StartedBy: d.by()})
	d.ended = ending{how: branchCompleted, node: d.plan.start}
	return nil
}

func (c Archive) decide(d *draft) error {
	switch {
	case !d.Status.Terminal():
		return d.refuse(GuardEnded, "execution is %s", d.Status)
	case d.ArchivedAt != 0:
		d.Cause = d.Archived
		return d.refuse(GuardNotArchived, "execution was archived before")
	}
	d.open()
	d.emit(&ExecutionArchived{Reason: c.Reason})
	return nil
}

func (d *draft) by() *Actor {
	by := d.actor
	return &by
}
