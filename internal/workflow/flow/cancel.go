package flow

// cancel ends the execution, whatever it does. Nothing stands in its way: no
// plan, no data, no limit. Cancelling it again is accepted and changes nothing.
func (d *draft) cancel(c Cancel) error {
	switch d.Status {
	case Canceled:
		return nil
	case Completed, Failed:
		return d.refuse(GuardActive, "execution is %s", d.Status)
	}
	d.open()
	d.cancelAll(c.Reason, d.by())
	return nil
}

// cancelAll requests and confirms the cancel of the execution in one go. (A log
// that holds only the request is completed.)
func (d *draft) cancelAll(reason string, by *Actor) {
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
	d.emit(&ExecutionCanceled{Reason: reason, CanceledAt: d.facts.Now})
}

// cancelNode ends one node. One that the execution has not reached is cancelled
// now and counts when it is reached.
func (d *draft) cancelNode(c CancelNode) error {
	i, err := d.cancelable()
	if err != nil {
		return err
	}
	n := d.Nodes[i]
	reached := n.Live() || n.Gate != nil && d.atWork(d.plan.nodes[i].peer)
	d.open()
	d.emit(&NodeCancelRequested{NodeID: n.ID, Reason: c.Reason})
	if n.Live() {
		d.interrupt(i, c.Reason)
	} else {
		d.emit(&NodeCanceled{NodeID: n.ID, Reason: c.Reason})
	}
	if reached {
		d.leaveCanceled(i, d.plan.nodes[i].frame)
	}
	return nil
}

func (d *draft) cancelable() (int, error) {
	i, err := d.node()
	if err != nil {
		return i, err
	}
	if n := d.Nodes[i]; n.Status.Terminal() {
		return i, d.refuseNode(n, GuardNodeLive, "node %s is %s", n.ID, n.Status)
	}
	return i, nil
}

// stop ends everything that is at work, since the execution itself ends.
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
