package flow

import (
	"fmt"

	"renga.dev/renga/internal/platform/fault"
)

func (d *draft) refuse(g Guard, format string, args ...any) error {
	n, _ := d.Find(d.command.Target())
	if n == nil {
		n = new(Node)
	}
	return d.refusal(n, d.Cause, g, format, args)
}

func (d *draft) refuseNode(n *Node, g Guard, format string, args ...any) error {
	return d.refusal(n, n.Cause, g, format, args)
}

func (d *draft) refusal(n *Node, cause EventRef, g Guard, format string, args []any) error {
	return &Refusal{
		Command: d.command.Name(), Guard: g, Reason: fmt.Sprintf(format, args...), Execution: d.Status,
		Node: n.ID, NodeStatus: n.Status, Attempt: n.Attempt, Cause: cause, Fence: d.CancelSeq,
	}
}

// forward is the guard of every command that moves an execution.
func (d *draft) forward() error {
	switch {
	case d.canceling():
		return d.refuse(GuardCancelFence, "execution is cancel-requested")
	case d.Status.Terminal():
		return d.refuse(GuardActive, "execution is %s", d.Status)
	}
	return nil
}

// NoNode says that an execution has no such node.
func NoNode(execution ID, node string) error {
	return fault.New(fault.NotFound, "NODE_NOT_FOUND", "execution %s has no node %q", execution, shorten(node))
}

// node finds the node of a command and asks the guards that all of them share. From here on its
// last event is the cause of the first of the decision.
func (d *draft) node() (int, error) {
	id := d.command.Target()
	i, ok := d.plan.Node(id)
	if !ok {
		return -1, NoNode(d.Execution, id)
	}
	if err := d.forward(); err != nil {
		return -1, err
	}
	if d.StartedAt == 0 {
		return -1, d.refuse(GuardStarted, "execution was not started")
	}
	n := d.Nodes[i]
	if n.Status == NodeIsCreated && n.RetryAt != 0 {
		return -1, d.refuseNode(n, GuardRetry, "node %s waits for attempt %d, due %s", n.ID, n.Attempt+1, n.RetryAt)
	}
	d.cause = n.Cause.ID
	return i, nil
}

// task is node for the commands of a Task in one status.
func (d *draft) task(g Guard, want NodeStatus) (int, error) {
	i, err := d.node()
	if err != nil {
		return i, err
	}
	n := d.Nodes[i]
	if kind := d.plan.nodes[i].spec.Type; kind != TaskKind {
		return i, d.refuseNode(n, GuardNodeTask, "node %s is a %s, not a Task", n.ID, kind)
	}
	if n.Status != want {
		return i, d.refuseNode(n, g, "node %s is %s, not %s", n.ID, n.Status, want)
	}
	return i, nil
}

// running is task for the worker that runs the attempt. When the node was claimed, the worker is
// the actor, whoever carried its message.
func (d *draft) running(attempt int, worker string) (int, error) {
	i, err := d.task(GuardNodeRunning, NodeIsRunning)
	if err != nil {
		return i, err
	}
	n := d.Nodes[i]
	if attempt != 0 && attempt != n.Attempt {
		return i, d.refuseNode(n, GuardAttempt, "attempt %d of node %s is running, not attempt %d", n.Attempt, n.ID,
			attempt)
	}
	if worker != "" && n.Worker != "" && worker != n.Worker {
		return i, d.refuseNode(n, GuardWorker, "attempt %d of node %s belongs to another worker", n.Attempt, n.ID)
	}
	if n.Lease > 0 {
		d.actor = Actor{Kind: KindExternal, ID: n.Worker}
	}
	return i, nil
}
