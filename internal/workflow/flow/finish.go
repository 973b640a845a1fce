package flow

// failExecution ends the execution because of a node. What is still at work is stopped.
func (r *router) failExecution(i int, e *Error) {
	n := r.d.Nodes[i]
	reason := "node " + n.ID + " failed"
	if n.Status == NodeIsCanceled {
		reason = "node " + n.ID + " was canceled"
	}
	r.d.emit(&ExecutionFailRequested{Reason: reason, RequestedBy: &Actor{Kind: KindSystem}})
	r.d.stop("execution failed")
	r.d.emit(&ExecutionFailed{Reason: reason, FailedNodeID: n.ID, Error: e})
}

// finish ends the execution at one of its terminal nodes, reached from another.
func (r *router) finish(i, from int) {
	n := r.d.Nodes[i]
	switch r.d.plan.nodes[i].spec.Type {
	case SuccessKind:
		result, ok := r.data(r.d.Nodes[from].Output)
		if !ok {
			return
		}
		r.d.emit(&NodeSucceeded{NodeID: n.ID})
		r.d.stop("execution completed")
		r.d.emit(&ExecutionCompleted{Result: result, Outcome: r.d.plan.nodes[i].spec.Outcome})
	case FailedKind:
		r.d.emit(&NodeSucceeded{NodeID: n.ID})
		r.d.stop("execution failed")
		r.d.emit(r.failureAt(n))
	case CanceledKind:
		r.d.emit(&NodeSucceeded{NodeID: n.ID})
		r.d.cancelAll("reached node "+n.ID, &Actor{Kind: KindSystem}, ID{})
	}
}

// failureAt is the end at a Failed node: the first failure of the path that led there or, when nothing failed, an error
// that names the Failed node.
func (r *router) failureAt(n *Node) *ExecutionFailed {
	end := &ExecutionFailed{Reason: "reached node " + n.ID, FailedNodeID: r.failed}
	if r.failed == "" {
		end.FailedNodeID = n.ID
		end.Error = &Error{Code: CodeFailed, Message: "The execution reached node " + n.ID + "."}
		return end
	}
	end.Error = r.d.failureOf(r.failed)
	return end
}
