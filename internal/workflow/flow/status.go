package flow

// chooseExecStatus picks the status of an execution that is in one status when
// an event is seen. It is the whole of "cancel wins":
//
//   - EXECUTION_CANCELED stands above everything, whatever came before or follows;
//   - a cancel request blocks every COMPLETED and FAILED that follows it: the
//     execution shows ACTIVE until the cancel is confirmed;
//   - otherwise the first terminal event stands.
func chooseExecStatus(current Status, cancelRequested bool, seen Type) Status {
	switch {
	case current == Canceled, seen == ExecutionCanceledType:
		return Canceled
	case current.Terminal(), cancelRequested:
		return current
	case seen == ExecutionCompletedType:
		return Completed
	case seen == ExecutionFailedType:
		return Failed
	}
	return current
}

// chooseNodeStatus picks the status of a node in the same manner: CANCELED wins
// in any order, otherwise the first terminal status stands, and nothing leads
// back from one.
func chooseNodeStatus(current, next NodeStatus) NodeStatus {
	if next == NodeIsCanceled || !current.Terminal() {
		return next
	}
	return current
}

// canceling reports whether a cancel was requested or confirmed.
func (s *State) canceling() bool { return s.CancelRequestedAt != 0 || s.Status == Canceled }
