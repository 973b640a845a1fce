package flow

import "slices"

// decide ends the execution. Nothing stands in its way: no plan, no data, no limit. A second
// cancel is accepted and changes nothing.
func (c Cancel) decide(d *draft) error {
	switch d.Status {
	case Canceled:
		return nil
	case Completed, Failed:
		return d.refuse(GuardActive, "execution is %s", d.Status)
	}
	d.open()
	d.cancelAll(c.Reason, d.by(), d.compensation())
	return nil
}

// compensation is the execution that cleans up: what was not started has nothing to clean up.
func (d *draft) compensation() ID {
	if d.plan == nil || d.plan.Graph.OnCancel == nil || d.StartedAt == 0 {
		return ID{}
	}
	return d.facts.Compensation
}

// cancelAll requests and confirms the cancel of the execution; a log that holds the request is completed.
func (d *draft) cancelAll(reason string, by *Actor, compensation ID) {
	if d.CancelRequestedAt == 0 {
		d.emit(&ExecutionCancelRequested{Reason: reason, RequestedBy: by})
	} else {
		reason = d.CancelReason
	}
	for _, n := range d.Nodes {
		if n.Status.Terminal() {
			continue
		}
		if n.Status == NodeIsRunning {
			d.emit(&NodeInterruptRequested{NodeID: n.ID, WorkerID: n.Worker, Reason: reason})
		}
		d.emit(&NodeCanceled{NodeID: n.ID, Reason: reason, ByExecution: true})
	}
	d.emit(&ExecutionCanceled{Reason: reason, CanceledAt: d.facts.Now, CompensationID: compensation})
}

// decide ends one node. One that was not reached yet counts when it is reached.
func (c CancelNode) decide(d *draft) error {
	i, err := d.node()
	if err != nil {
		return err
	}
	n := d.Nodes[i]
	if n.Status.Terminal() {
		return d.refuseNode(n, GuardNodeLive, "node %s is %s", n.ID, n.Status)
	}
	reached := n.Live() || n.Gate != nil && d.atWork(d.plan.nodes[i].peer)
	d.open()
	d.emit(&NodeCancelRequested{NodeID: n.ID, Reason: c.Reason})
	if n.Live() {
		d.interrupt(i, c.Reason)
	} else {
		d.emit(&NodeCanceled{NodeID: n.ID, Reason: c.Reason})
	}
	if reached {
		d.ended = ending{how: branchCanceled, node: i}
	}
	return nil
}

// atWork reports whether a fork is open: only then has it something live in it.
func (d *draft) atWork(fork int) bool {
	return slices.ContainsFunc(d.plan.nodes[fork].inside, func(i int) bool { return d.Nodes[i].Live() })
}

func (d *draft) stop(reason string) {
	for i, n := range d.Nodes {
		if n.Live() {
			d.interrupt(i, reason)
		}
	}
}

// interrupt tells the worker of a live node to stop and ends the node.
func (d *draft) interrupt(i int, reason string) {
	n := d.Nodes[i]
	d.emit(&NodeInterruptRequested{NodeID: n.ID, WorkerID: n.Worker, Reason: reason})
	d.emit(&NodeCanceled{NodeID: n.ID, Reason: reason})
}
