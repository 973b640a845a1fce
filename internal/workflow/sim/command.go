package sim

import (
	"renga.dev/renga/internal/workflow/flow"
)

// command is an order for some execution: often one that makes sense, often one
// that comes too early, too late or from the wrong worker.
func (w *World) command() *order {
	x := w.audit.byID[w.someExecution()]
	return w.place(x.tenant, x.state.Execution, w.commandOn(x))
}

// someExecution is one of those that clients know, more likely one that goes on.
func (w *World) someExecution() flow.ID {
	id := pick(w, w.executions)
	for range 4 {
		if w.audit.byID[id].state.Status == flow.Active {
			break
		}
		id = pick(w, w.executions)
	}
	return id
}

func (w *World) commandOn(x *audited) flow.Command {
	s := &x.state
	switch n := w.rng.IntN(100); {
	case n < w.cancels:
		return flow.Cancel{Reason: "no longer wanted"}
	case n < w.cancels+3:
		return flow.Archive{Reason: "done with"}
	case s.StartedAt == 0 && n < 85, n < w.cancels+5:
		return flow.Start{}
	}
	var live []*flow.Node
	for _, n := range s.Nodes {
		if n.Live() {
			live = append(live, n)
		}
	}
	if len(live) == 0 || w.one(10) {
		return w.anyCommand(pick(w, s.Nodes))
	}
	n := pick(w, live)
	switch n.Status {
	case flow.NodeIsReady:
		return flow.StartNode{Node: n.ID, Attempt: w.attempt(n.Attempt + 1), Worker: pick(w, workers)}
	case flow.NodeIsRunning:
		return w.report(n.ID, w.attempt(n.Attempt), w.worker(n.Worker))
	case flow.NodeIsWaiting:
		return flow.Resume{Node: n.ID, ResumeKey: w.resumeKey(n), Output: w.data(1)}
	}
	return w.anyCommand(n)
}

var workers = []string{"w1", "w2", "w3"}

// attempt is mostly the right one, sometimes an old one, sometimes none.
func (w *World) attempt(right int) int {
	switch w.rng.IntN(8) {
	case 0:
		return max(right-1, 1)
	case 1:
		return 0
	}
	return right
}

func (w *World) worker(right string) string {
	if w.one(8) {
		return pick(w, workers)
	}
	return right
}

func (w *World) resumeKey(n *flow.Node) string {
	if w.one(5) {
		return "wrong"
	}
	return n.WaitKey
}

// report is what the worker of a running node has to say.
func (w *World) report(node string, attempt int, worker string) flow.Command {
	switch n := w.rng.IntN(20); {
	case n < 9:
		return flow.Succeed{Node: node, Attempt: attempt, Worker: worker, Output: w.data(2), Next: w.one(2)}
	case n < 13:
		return flow.Fail{Node: node, Attempt: attempt, Worker: worker, Error: w.failure(), Next: w.one(4)}
	case n < 17:
		done := float64(w.rng.IntN(100)) / 100
		return flow.Progress{
			Node: node, Attempt: attempt, Worker: worker, Progress: &done, Message: "at it",
			Metrics: w.data(1),
		}
	case n < 19:
		return flow.Wait{
			Node: node, Attempt: attempt, Worker: worker, WaitKey: []string{"", "approval"}[w.rng.IntN(2)],
			Prompt: w.data(1),
		}
	}
	return flow.CancelNode{Node: node, Reason: "not this one"}
}

func (w *World) failure() *flow.Error {
	if w.one(6) {
		return nil
	}
	return &flow.Error{Code: "E42", Message: "it broke", Detail: w.data(1)}
}

// anyCommand is a command on a node without a look at what it does.
func (w *World) anyCommand(n *flow.Node) flow.Command {
	switch w.rng.IntN(4) {
	case 0:
		return flow.StartNode{Node: n.ID, Attempt: w.attempt(n.Attempt + 1), Worker: pick(w, workers)}
	case 1:
		return flow.Resume{Node: n.ID, ResumeKey: w.resumeKey(n), Output: w.data(1)}
	case 2:
		return flow.CancelNode{Node: n.ID, Reason: "not this one"}
	}
	return w.report(n.ID, w.attempt(n.Attempt), w.worker(n.Worker))
}
