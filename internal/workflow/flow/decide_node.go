package flow

func (c StartNode) decide(d *draft) error {
	i, err := d.task(GuardNodeReady, NodeIsReady)
	if err != nil {
		return err
	}
	n := d.Nodes[i]
	if c.Attempt != 0 && c.Attempt != n.Attempt+1 {
		return d.refuseNode(n, GuardAttempt, "attempt %d of node %s is due, not attempt %d", n.Attempt+1, n.ID,
			c.Attempt)
	}
	if c.Lease > 0 {
		d.actor = Actor{Kind: KindExternal, ID: c.Worker}
	}
	d.open()
	d.emit(d.started(i, c.Worker, c.Lease))
	return nil
}

// startNext gives the first Task that this decision made ready, on the queue of
// the node that was completed, to the worker that completed it.
func (d *draft) startNext(id, worker string) {
	at, _ := d.plan.Node(id)
	done := d.before[at]
	if worker == "" {
		worker = done.Worker
	}
	for k := range d.events {
		ready, ok := d.events[k].Payload.(*NodeReady)
		if !ok {
			continue
		}
		i, _ := d.plan.Node(ready.NodeID)
		spec := &d.plan.nodes[i].spec
		if d.Nodes[i].Status == NodeIsReady && spec.Type == TaskKind && spec.Queue == d.plan.nodes[at].spec.Queue {
			d.emitAs(d.started(i, worker, done.Lease), Actor{Kind: KindExternal, ID: worker})
			return
		}
	}
}

// decide also renews the lease.
func (c Progress) decide(d *draft) error {
	i, err := d.running(c.Attempt, c.Worker)
	if err != nil {
		return err
	}
	metrics, err := d.take(c.Metrics, len(c.Message))
	if err != nil {
		return err
	}
	d.open()
	n := d.Nodes[i]
	d.emit(&NodeProgressReported{
		NodeID: n.ID, Progress: c.Progress, Message: c.Message, Metrics: metrics,
		LeaseUntil: leaseUntil(d.facts.Now, n.Lease, n.TimeoutAt),
	})
	return nil
}

func (c Wait) decide(d *draft) error {
	i, err := d.running(c.Attempt, c.Worker)
	if err != nil {
		return err
	}
	prompt, err := d.take(c.Prompt, 0)
	if err != nil {
		return err
	}
	d.open()
	d.emit(&NodeWaiting{NodeID: d.Nodes[i].ID, WaitKey: c.WaitKey, Prompt: prompt})
	return nil
}

// decide ends a wait: a Task runs again, a Wait is done.
func (c Resume) decide(d *draft) error {
	i, err := d.node()
	if err != nil {
		return err
	}
	n := d.Nodes[i]
	if n.Status != NodeIsWaiting {
		return d.refuseNode(n, GuardNodeWaiting, "node %s is %s, not WAITING", n.ID, n.Status)
	}
	if err := c.permitted(d, n); err != nil {
		return err
	}
	output, err := c.output(d, i)
	if err != nil {
		return err
	}
	d.open()
	d.emit(&NodeResumeRequested{
		NodeID: n.ID, ResumeKey: c.ResumeKey, RequestedBy: d.by(), MessageID: c.Message.id(),
	})
	resumed := &NodeResumed{NodeID: n.ID}
	if n.TimeLeft != 0 {
		resumed.TimeoutAt = d.facts.Now + n.TimeLeft
	}
	resumed.LeaseUntil = leaseUntil(d.facts.Now, n.Lease, resumed.TimeoutAt)
	if d.plan.nodes[i].spec.Type == WaitKind {
		d.ended = ending{how: branchCompleted, node: i, output: output}
	} else {
		resumed.Output = output
	}
	d.emit(resumed)
	return nil
}

// permitted asks whether what resumes a node may: a message that it asks for, or somebody who knows its key and is one
// of its assignees.
func (c Resume) permitted(d *draft, n *Node) error {
	switch {
	case c.Message != nil:
		return c.Message.awaited(d, n)
	case n.WaitKey != "" && c.ResumeKey != n.WaitKey:
		return d.refuseNode(n, GuardResumeKey, "resumeKey is not the waitKey of node %s", n.ID)
	}
	return c.assigned(d, n)
}

// output is what the node is resumed with, when it fits. That a payload does not is for the state of its message to
// say: a refusal.
func (c Resume) output(d *draft, i int) (Data, error) {
	err := d.plan.nodes[i].fits(c.Output)
	var output Data
	if err == nil {
		output, err = d.take(c.Output, 0)
	}
	if err != nil && c.Message != nil {
		n := d.Nodes[i]
		return nil, d.refuseNode(n, GuardMessage, "node %s does not take the payload of message %s: %s", n.ID,
			c.Message.ID, messageOf(err))
	}
	return output, err
}

func (c Succeed) decide(d *draft) error {
	i, err := d.running(c.Attempt, c.Worker)
	if err != nil {
		return err
	}
	output, err := d.take(c.Output, 0)
	if err != nil {
		return err
	}
	d.open()
	d.ended = ending{how: branchCompleted, node: i, output: output}
	return nil
}

func (c Fail) decide(d *draft) error {
	i, err := d.running(c.Attempt, c.Worker)
	if err != nil {
		return err
	}
	e, err := d.takeError(c.Error)
	if err != nil {
		return err
	}
	d.open()
	d.fail(i, e)
	return nil
}
