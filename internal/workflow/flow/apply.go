package flow

// Apply is the state after one more event: any event, on any state, in any order. It consumes s:
// nodes are changed in place, so Clone first what somebody else still reads.
func Apply(s State, ev Event) State {
	s.apply(&ev)
	return s
}

// apply changes s. What events point to (data, errors, lists) is shared, never
// written; so are gates, which are replaced as a whole.
func (s *State) apply(ev *Event) {
	s.Seq = max(s.Seq, ev.Seq)
	if s.Execution.IsZero() {
		s.Execution = ev.Execution
	}
	if ev.Payload == nil {
		return
	}
	if id := ev.Payload.Node(); id != "" {
		s.applyNode(ev, s.own(s.place(id, ev)))
		return
	}
	s.applyExecution(ev)
}

func (s *State) applyExecution(ev *Event) {
	switch p := ev.Payload.(type) {
	case *ExecutionCreated:
		s.Data += int64(len(p.Input))
		if s.CreatedAt != 0 {
			return
		}
		s.CreatedAt, s.CorrelationID = ev.At, ev.CorrelationID
		s.GraphID, s.GraphVersion, s.GraphDigest, s.Input = p.GraphID, p.GraphVersion, p.GraphDigest, p.Input
		s.BusinessKey, s.Labels, s.RerunOf = p.BusinessKey, p.Labels, p.RerunOf
		if s.Cause.Seq == 0 {
			s.Cause = ref(ev)
		}
	case *ExecutionStarted:
		if s.StartedAt != 0 {
			return
		}
		s.StartedAt = ev.At
		if s.Status == Active && !s.canceling() {
			s.Cause = ref(ev)
		}
	case *ExecutionCompleted:
		if s.end(ev) {
			s.Result, s.Outcome = blob(p.Result, ev.Seq), p.Outcome
		}
	case *ExecutionFailed:
		if s.end(ev) {
			s.Error, s.FailedNode = p.Error, p.FailedNodeID
		}
	case *ExecutionCancelRequested:
		if s.CancelRequestedAt != 0 {
			return
		}
		s.CancelRequestedAt, s.CancelSeq, s.CancelReason, s.CancelBy = ev.At, ev.Seq, p.Reason, p.RequestedBy
		if s.Status == Active {
			s.Cause = ref(ev)
		}
	case *ExecutionCanceled:
		if s.end(ev) {
			// Whatever ended before, in another order, did not end so.
			s.Result, s.Outcome, s.Error, s.FailedNode = Blob{}, "", nil, ""
			s.Compensation = p.CompensationID
		}
	case *ExecutionArchived:
		if s.ArchivedAt == 0 {
			s.ArchivedAt, s.Archived = ev.At, ref(ev)
		}
	}
	// EXECUTION_FAIL_REQUESTED changes nothing: EXECUTION_FAILED does.
}

// end takes over a terminal event and reports whether it is the one that stands.
func (s *State) end(ev *Event) bool {
	next := chooseExecStatus(s.Status, s.canceling(), ev.Payload.Type())
	if next == s.Status {
		return false
	}
	s.Status, s.EndedAt, s.Cause = next, ev.At, ref(ev)
	return true
}

func (s *State) applyNode(ev *Event, n *Node) {
	s.count(ev.Payload)
	switch p := ev.Payload.(type) { // what a terminal node takes too
	case *NodeCreated:
		if n.Kind == 0 {
			n.Kind = p.NodeType
		}
	case *NodeCanceled:
		if n.become(NodeIsCanceled, ev) {
			n.ByExecution, n.Reason, n.Output = p.ByExecution, p.Reason, Blob{}
		}
	case *ForkOpened:
		if n.Branches == nil {
			n.Branches, n.FailedNode = p.BranchIDs, p.FailedNodeID
		}
	default:
		if !n.Status.Terminal() {
			s.applyLive(ev, n)
		}
	}
}

// applyLive is applyNode for events that mean nothing once the node has ended.
func (s *State) applyLive(ev *Event, n *Node) {
	switch p := ev.Payload.(type) {
	case *NodeReady:
		if !s.Status.Terminal() {
			n.become(NodeIsReady, ev)
		}
		n.reach(p, ev)
	case *NodeStarted:
		if !s.Status.Terminal() && !s.canceling() && p.Attempt >= n.Attempt {
			n.start(p, ev)
		}
	case *NodeProgressReported:
		n.report(p, ev)
	case *NodeWaiting:
		n.wait(p, ev)
	case *NodeResumed:
		if n.Status == NodeIsWaiting {
			n.become(NodeIsRunning, ev)
			n.LeaseUntil, n.TimeoutAt, n.WaitKey, n.Prompt = p.LeaseUntil, p.TimeoutAt, "", Blob{}
			n.Assignees, n.Awaits = nil, nil
			n.Resumed = blob(p.Output, ev.Seq)
		}
	case *NodeSucceeded:
		n.become(NodeIsSucceeded, ev)
		n.Output, n.Error = blob(p.Output, ev.Seq), nil
	case *NodeFailReported:
		n.Error = p.Error
		if p.RetryAt != 0 {
			n.become(NodeIsCreated, ev)
			n.RetryAt, n.Worker, n.Lease = p.RetryAt, "", 0
		}
	case *NodeFailed:
		n.become(NodeIsFailed, ev)
		n.Error = p.Error
	case *JoinGateUpdated:
		n.Gate = &Gate{
			Expected: p.Expected, Completed: some(p.Completed), Failed: some(p.Failed), Canceled: some(p.Canceled),
			Passable: p.Passable, Passed: n.Gate != nil && n.Gate.Passed,
		}
	case *JoinPassed:
		gate := Gate{}
		if n.Gate != nil {
			gate = *n.Gate
		}
		gate.Passed = true
		n.Gate = &gate
	}
	// Requests are facts for the log; what they lead to has events of its own.
}

// become puts a node into a status unless a stronger one stands, stops its clocks
// and reports whether it did.
func (n *Node) become(next NodeStatus, ev *Event) bool {
	if n.Status == next && n.Status.Terminal() || chooseNodeStatus(n.Status, next) != next {
		return false
	}
	n.Status, n.Cause = next, ref(ev)
	n.LeaseUntil, n.TimeoutAt, n.TimeLeft, n.RetryAt, n.WaitUntil = 0, 0, 0, 0, 0
	n.RemindAt, n.Reminders = 0, 0
	return true
}

// reach keeps how a node was reached, which its first attempt says.
func (n *Node) reach(p *NodeReady, ev *Event) {
	if p.Input != nil {
		n.Input = blob(p.Input, ev.Seq)
	}
	if p.On != "" {
		n.On = p.On
	}
	if p.FailedNodeID != "" {
		n.FailedNode = p.FailedNodeID
	}
}

// start begins an attempt and clears what an earlier one reported.
func (n *Node) start(p *NodeStarted, ev *Event) {
	n.become(NodeIsRunning, ev)
	n.Attempt, n.Worker, n.Lease = p.Attempt, p.WorkerID, p.Lease
	n.LeaseUntil, n.TimeoutAt = p.LeaseUntil, p.TimeoutAt
	n.Progress, n.Message, n.Metrics, n.WaitKey, n.Prompt, n.Resumed = nil, "", Blob{}, "", Blob{}, Blob{}
	n.Assignees, n.Awaits = nil, nil
}

// report keeps what a progress report leaves out.
func (n *Node) report(p *NodeProgressReported, ev *Event) {
	if p.Progress != nil {
		n.Progress = p.Progress
	}
	if p.Message != "" {
		n.Message = p.Message
	}
	if p.Metrics != nil {
		n.Metrics = blob(p.Metrics, ev.Seq)
	}
	if p.LeaseUntil != 0 && n.Status == NodeIsRunning {
		n.LeaseUntil = p.LeaseUntil
	}
}

// wait stops the clocks; what was left of the timeout is kept for the resume. A node that there is a reminder of waits
// as before.
func (n *Node) wait(p *NodeWaiting, ev *Event) {
	if p.Reminder > 0 && n.Status == NodeIsWaiting {
		n.Reminders, n.RemindAt = p.Reminder, p.RemindAt
		return
	}
	var left Time
	if n.Status == NodeIsWaiting {
		left = n.TimeLeft
	} else if n.TimeoutAt != 0 {
		left = max(1, n.TimeoutAt-ev.At) // at least something: 0 would mean that there is no timeout
	}
	n.become(NodeIsWaiting, ev)
	n.TimeLeft, n.WaitUntil, n.WaitKey, n.Prompt = left, p.WaitUntil, p.WaitKey, blob(p.Prompt, ev.Seq)
	n.Assignees, n.Awaits, n.Reminders, n.RemindAt = p.Assignees, p.Awaits, p.Reminder, p.RemindAt
}

// count adds the callers' data that an event of a node brought. NODE_FAILED and
// the events of the execution's end only repeat what was counted before.
func (s *State) count(p Payload) {
	s.Data += int64(len(DataOf(p)))
	switch p := p.(type) {
	case *NodeProgressReported:
		s.Data += int64(len(p.Message))
	case *NodeFailReported:
		s.Data += p.Error.size()
	}
}

func (e *Error) size() int64 {
	if e == nil {
		return 0
	}
	return int64(len(e.Message) + len(e.Detail))
}

func blob(data Data, seq uint64) Blob {
	if len(data) > MaxInline {
		return Blob{Seq: seq, Size: len(data)}
	}
	return Blob{Inline: data, Size: len(data)}
}

// some makes an empty list none, so that a state does not depend on how its events were read.
func some(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

func ref(ev *Event) EventRef {
	return EventRef{Seq: ev.Seq, ID: ev.ID, Type: ev.Payload.Type(), At: ev.At}
}
