package sim

import (
	"math/rand/v2"

	"renga.dev/renga/internal/workflow/flow"
)

// command is an order for some execution: often one that makes sense, often one
// that comes too early, too late or from the wrong worker.
func (w *World) command() *order {
	x := w.audit.byID[w.someExecution()]
	return w.orders.place(x.tenant, x.state.Execution, w.commandOn(x))
}

// someExecution is one of those that clients know, more likely one that goes on.
func (w *World) someExecution() flow.ID {
	id := pick(w.dice, w.executions)
	for range 4 {
		if w.audit.byID[id].state.Status == flow.Active {
			break
		}
		id = pick(w.dice, w.executions)
	}
	return id
}

func (w *World) commandOn(x *audited) flow.Command {
	s := &x.state
	switch n := w.dice.IntN(100); {
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
	if len(live) == 0 || w.dice.one(10) {
		return w.dice.anyCommand(pick(w.dice, s.Nodes))
	}
	n := pick(w.dice, live)
	switch n.Status {
	case flow.NodeIsReady:
		return flow.StartNode{Node: n.ID, Attempt: w.dice.attempt(n.Attempt + 1), Worker: pick(w.dice, workers)}
	case flow.NodeIsRunning:
		return w.dice.report(n.ID, w.dice.attempt(n.Attempt), w.dice.worker(n.Worker))
	case flow.NodeIsWaiting:
		return flow.Resume{Node: n.ID, ResumeKey: w.dice.resumeKey(n), Output: w.dice.data(1), As: w.dice.principal()}
	}
	return w.dice.anyCommand(n)
}

// dice draws what chance decides.
type dice struct{ *rand.Rand }

func (d dice) one(in int) bool { return d.IntN(in) == 0 }

func (d dice) percent(p int) bool { return d.IntN(100) < p }

func pick[T any](d dice, list []T) T { return list[d.IntN(len(list))] }

var workers = []string{"w1", "w2", "w3"}

// attempt is mostly the right one, sometimes an old one, sometimes none.
func (d dice) attempt(right int) int {
	switch d.IntN(8) {
	case 0:
		return max(right-1, 1)
	case 1:
		return 0
	}
	return right
}

func (d dice) worker(right string) string {
	if d.one(8) {
		return pick(d, workers)
	}
	return right
}

func (d dice) resumeKey(n *flow.Node) string {
	if d.one(5) {
		return "wrong"
	}
	return n.WaitKey
}

func (d dice) principal() (p flow.Principal) {
	if !d.one(5) {
		p.Roles = []string{boss}
	}
	return p
}

// report is what the worker of a running node has to say.
func (d dice) report(node string, attempt int, worker string) flow.Command {
	switch n := d.IntN(20); {
	case n < 9:
		return flow.Succeed{Node: node, Attempt: attempt, Worker: worker, Output: d.data(2), Next: d.one(2)}
	case n < 13:
		return flow.Fail{Node: node, Attempt: attempt, Worker: worker, Error: d.failure(), Next: d.one(4)}
	case n < 17:
		done := float64(d.IntN(100)) / 100
		return flow.Progress{
			Node: node, Attempt: attempt, Worker: worker, Progress: &done, Message: "at it",
			Metrics: d.data(1),
		}
	case n < 19:
		return flow.Wait{
			Node: node, Attempt: attempt, Worker: worker, WaitKey: []string{"", "approval"}[d.IntN(2)],
			Prompt: d.data(1),
		}
	}
	return flow.CancelNode{Node: node, Reason: "not this one"}
}

func (d dice) failure() *flow.Error {
	if d.one(6) {
		return nil
	}
	return &flow.Error{Code: "E42", Message: "it broke", Detail: d.data(1)}
}

// anyCommand is a command on a node without a look at what it does.
func (d dice) anyCommand(n *flow.Node) flow.Command {
	switch d.IntN(4) {
	case 0:
		return flow.StartNode{Node: n.ID, Attempt: d.attempt(n.Attempt + 1), Worker: pick(d, workers)}
	case 1:
		return flow.Resume{Node: n.ID, ResumeKey: d.resumeKey(n), Output: d.data(1), As: d.principal()}
	case 2:
		return flow.CancelNode{Node: n.ID, Reason: "not this one"}
	}
	return d.report(n.ID, d.attempt(n.Attempt), d.worker(n.Worker))
}
