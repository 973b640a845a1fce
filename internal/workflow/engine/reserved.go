package engine

import (
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// CodeQueueReserved is the code of a refusal because a queue is the server's own.
const CodeQueueReserved = "QUEUE_RESERVED"

// checkQueues refuses claims on the server's own work.
func (e *Engine) checkQueues(queues []string) error {
	for _, queue := range queues {
		if e.cfg.Reserved != nil && e.cfg.Reserved(queue) {
			return fault.New(fault.Forbidden, CodeQueueReserved,
				"the queue %s is the server's own: its tasks are not given to workers; leave it out", queue).
				With(map[string]string{"queue": queue})
		}
	}
	return nil
}

// checkWork refuses what a user sends as a worker to a task of the server's own. A cancel wins here too.
func (b *batch) checkWork(ent *entry, req *Request) error {
	if b.e.cfg.Reserved == nil || req.Actor.Kind != flow.KindUser {
		return nil
	}
	switch req.Command.(type) {
	case flow.StartNode, flow.Progress, flow.Wait, flow.Resume, flow.Succeed, flow.Fail:
	default:
		return nil
	}
	node := req.Command.Target()
	if i, ok := ent.plan.Node(node); ok && b.e.cfg.Reserved(ent.plan.Spec(i).Queue) {
		queue := ent.plan.Spec(i).Queue
		return fault.New(fault.Forbidden, CodeQueueReserved,
			"node %s is work of the server itself, in its queue %s; to end it, cancel the execution", node, queue).
			With(map[string]string{"queue": queue})
	}
	return nil
}
