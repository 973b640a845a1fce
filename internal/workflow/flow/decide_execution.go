package flow

// create brings an execution and all its nodes into being. It runs on Start.
func (d *draft) create(c Create) error {
	input, err := d.take(c.Input, 0)
	if err != nil {
		return err
	}
	p := d.plan
	d.Execution = d.facts.Execution
	d.events = make([]Event, 0, 1+len(p.nodes))
	d.Nodes = make([]*Node, 0, len(p.nodes))
	d.emit(&ExecutionCreated{GraphID: p.ID, Input: input, GraphVersion: p.Version, GraphDigest: p.Digest})
	nodes := make([]NodeCreated, len(p.nodes))
	for i := range p.nodes {
		nodes[i] = NodeCreated{NodeID: p.nodes[i].spec.NodeID, NodeType: p.nodes[i].spec.Type}
		d.emit(&nodes[i])
	}
	return nil
}

// start lets the execution go: its Start node is passed.
func (d *draft) start() error {
	if err := d.forward(); err != nil {
		return err
	}
	if d.StartedAt != 0 {
		return d.refuse(GuardNotStarted, "execution was started before")
	}
	d.open()
	d.emit(&ExecutionStarted{StartedBy: d.by()})
	d.complete(d.plan.start, nil)
	return nil
}

// archive marks an execution that has ended as filed away.
func (d *draft) archive(c Archive) error {
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

// failExecution ends the execution because of a node. What is still at work is stopped.
func (d *draft) failExecution(i int, e *Error) {
	n := d.Nodes[i]
	reason := "node " + n.ID + " failed"
	if n.Status == NodeIsCanceled {
		reason = "node " + n.ID + " was canceled"
	}
	d.emit(&ExecutionFailRequested{Reason: reason, RequestedBy: &Actor{Kind: KindSystem}})
	d.stop("execution failed")
	d.emit(&ExecutionFailed{Reason: reason, FailedNodeID: n.ID, Error: e})
}

// finish ends the execution at one of its terminal nodes, reached from another.
func (d *draft) finish(i, from int) {
	n := d.Nodes[i]
	switch d.plan.nodes[i].spec.Type {
	case SuccessKind:
		result, ok := d.data(d.Nodes[from].Output)
		if !ok {
			return
		}
		d.emit(&NodeSucceeded{NodeID: n.ID})
		d.stop("execution completed")
		d.emit(&ExecutionCompleted{Result: result})
	case FailedKind:
		d.emit(&NodeSucceeded{NodeID: n.ID})
		d.stop("execution failed")
		d.emit(d.failure(i, from))
	case CanceledKind:
		d.emit(&NodeSucceeded{NodeID: n.ID})
		d.cancelAll("reached node "+n.ID, &Actor{Kind: KindSystem})
	}
}

// failure is the end at a Failed node: the error of the node that led there, or,
// when that one did not fail, an error that names the Failed node.
func (d *draft) failure(i, from int) *ExecutionFailed {
	n, last := d.Nodes[i], d.Nodes[from]
	end := &ExecutionFailed{Reason: "reached node " + n.ID, FailedNodeID: last.ID, Error: last.Error}
	switch last.Status {
	case NodeIsFailed:
	case NodeIsCanceled:
		end.Error = canceledError(last)
	default:
		end.FailedNodeID = n.ID
		end.Error = &Error{Code: CodeFailed, Message: "The execution reached node " + n.ID + "."}
	}
	return end
}

// by is the actor of the decision, for payloads.
func (d *draft) by() *Actor {
	by := d.actor
	return &by
}

// data is what a blob stands for. It may be of this very decision, or have to be
// read first: then it is noted as needed, and nothing of this decision is kept.
func (d *draft) data(b Blob) (Data, bool) {
	switch {
	case b.Seq == 0:
		return b.Inline, true
	case b.Seq > d.base:
		return DataOf(d.events[b.Seq-d.base-1].Payload), true
	}
	if data, ok := d.facts.Outputs[b.Seq]; ok {
		return data, true
	}
	d.need = append(d.need, b.Seq)
	return nil, false
}

// look is data for a condition to look at. When that is more than a decision may read, its
// budget is used up.
func (d *draft) look(b Blob) Data {
	if _, got := d.facts.Outputs[b.Seq]; d.facts.Full && !got && b.Seq != 0 && b.Seq <= d.base {
		d.budget.Exhaust()
		return nil
	}
	data, _ := d.data(b)
	return data
}

// needAll asks for everything that the state holds by reference when this is not the first
// time that the decision asks: each time it begins anew, and what it needs may follow from
// what it has got.
func (d *draft) needAll() {
	if len(d.facts.Outputs) == 0 || d.facts.Full {
		return
	}
	d.need = nil
	for _, n := range d.before {
		if _, got := d.facts.Outputs[n.Output.Seq]; n.Output.Seq != 0 && !got {
			d.need = append(d.need, n.Output.Seq)
		}
	}
}
