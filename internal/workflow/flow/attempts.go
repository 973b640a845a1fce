package flow

// Attempts gathers what a log says of the attempts of nodes. A Wait has one; so has a Task that was cancelled before
// it was tried. The zero value is that of an empty log.
type Attempts struct {
	nodes []NodeAttempts
	index map[string]int
}

// NodeAttempts are the attempts of one node, in their order.
type NodeAttempts struct {
	NodeID   string    `json:"nodeId"`
	Attempts []Attempt `json:"attempts"`
}

// Attempt is one attempt of a node.
type Attempt struct {
	Number    int           `json:"attempt"`
	ReadyAt   Time          `json:"readyAt,omitzero"`
	StartedAt Time          `json:"startedAt,omitzero"`
	EndedAt   Time          `json:"endedAt,omitzero"`
	Outcome   string        `json:"outcome,omitzero"` // SUCCEEDED, FAILED or CANCELED
	Worker    string        `json:"workerId,omitzero"`
	Error     *Error        `json:"error,omitzero"`
	Waits     []AttemptWait `json:"waits,omitzero"`
}

// AttemptWait is a time in which an attempt waited for somebody.
type AttemptWait struct {
	Since   Time   `json:"since"`
	Until   Time   `json:"until,omitzero"` // when it went on or ended
	WaitKey string `json:"waitKey,omitzero"`
}

// Nodes are the nodes that were ready once, in the order in which they were.
func (a *Attempts) Nodes() []NodeAttempts {
	if a.nodes == nil {
		return []NodeAttempts{}
	}
	return a.nodes
}

// Add adds the next event of a log.
func (a *Attempts) Add(ev *Event) {
	switch p := ev.Payload.(type) {
	case *NodeReady:
		a.begin(p.NodeID, max(p.Attempt, 1)).ReadyAt = ev.At
	case *NodeStarted:
		at := a.current(p.NodeID)
		if at == nil || at.EndedAt != 0 {
			at = a.begin(p.NodeID, p.Attempt)
		}
		at.StartedAt, at.Worker = ev.At, p.WorkerID
	case *NodeWaiting:
		if at := a.current(p.NodeID); at != nil && p.Reminder == 0 {
			at.Waits = append(at.Waits, AttemptWait{Since: ev.At, WaitKey: p.WaitKey})
		}
	case *NodeResumed:
		if at := a.current(p.NodeID); at != nil {
			at.goOn(ev.At)
		}
	case *NodeSucceeded:
		a.end(p.NodeID, ev.At, NodeIsSucceeded, nil)
	case *NodeFailReported:
		a.end(p.NodeID, ev.At, NodeIsFailed, p.Error)
	case *NodeFailed:
		a.end(p.NodeID, ev.At, NodeIsFailed, p.Error)
	case *NodeCanceled:
		a.end(p.NodeID, ev.At, NodeIsCanceled, nil)
	}
}

func (a *Attempts) begin(node string, number int) *Attempt {
	i, known := a.index[node]
	if !known {
		if a.index == nil {
			a.index = map[string]int{}
		}
		i = len(a.nodes)
		a.index[node] = i
		a.nodes = append(a.nodes, NodeAttempts{NodeID: node})
	}
	n := &a.nodes[i]
	n.Attempts = append(n.Attempts, Attempt{Number: number})
	return &n.Attempts[len(n.Attempts)-1]
}

// current is the last attempt of a node, nil if it was never ready.
func (a *Attempts) current(node string) *Attempt {
	i, known := a.index[node]
	if !known {
		return nil
	}
	n := &a.nodes[i]
	return &n.Attempts[len(n.Attempts)-1]
}

// end ends the attempt of a node that goes on; one that failed has ended before its node did.
func (a *Attempts) end(node string, at Time, outcome NodeStatus, why *Error) {
	last := a.current(node)
	if last == nil || last.EndedAt != 0 {
		return
	}
	last.goOn(at)
	last.EndedAt, last.Outcome, last.Error = at, outcome.String(), why
}

// goOn ends a wait.
func (t *Attempt) goOn(at Time) {
	if n := len(t.Waits); n > 0 && t.Waits[n-1].Until == 0 {
		t.Waits[n-1].Until = at
	}
}
