package sim

import "renga.dev/renga/internal/workflow/flow"

// guard is a dumb second opinion on the guards: the one that refuses a command on
// a node that exists, "" when the state accepts it.
func guard(s *flow.State, plan *flow.Plan, c flow.Command) flow.Guard {
	switch c.(type) {
	case flow.Cancel:
		return first(s.Status == flow.Completed || s.Status == flow.Failed, flow.GuardActive)
	case flow.Archive:
		return either(first(s.Status == flow.Active, flow.GuardEnded), first(s.ArchivedAt != 0, flow.GuardNotArchived))
	}
	forward := either(first(s.CancelSeq > 0, flow.GuardCancelFence), first(s.Status != flow.Active, flow.GuardActive))
	if _, ok := c.(flow.Start); ok {
		return either(forward, first(s.StartedAt != 0, flow.GuardNotStarted))
	}
	i, _ := plan.Node(c.Target())
	n := s.Nodes[i]
	return either(forward, first(s.StartedAt == 0, flow.GuardStarted), first(n.RetryAt != 0, flow.GuardRetry),
		nodeGuard(n, plan.Spec(i).Type == flow.TaskKind, c))
}

// nodeGuard is guard for what the node itself has to say.
func nodeGuard(n *flow.Node, task bool, c flow.Command) flow.Guard {
	running := func(attempt int, worker string) flow.Guard {
		return either(first(!task, flow.GuardNodeTask), first(n.Status != flow.NodeIsRunning, flow.GuardNodeRunning),
			first(attempt != 0 && attempt != n.Attempt, flow.GuardAttempt),
			first(worker != "" && n.Worker != "" && worker != n.Worker, flow.GuardWorker))
	}
	switch c := c.(type) {
	case flow.StartNode:
		return either(first(!task, flow.GuardNodeTask), first(n.Status != flow.NodeIsReady, flow.GuardNodeReady),
			first(c.Attempt != 0 && c.Attempt != n.Attempt+1, flow.GuardAttempt))
	case flow.Progress:
		return running(c.Attempt, c.Worker)
	case flow.Wait:
		return running(c.Attempt, c.Worker)
	case flow.Succeed:
		return running(c.Attempt, c.Worker)
	case flow.Fail:
		return running(c.Attempt, c.Worker)
	case flow.Resume:
		return either(first(n.Status != flow.NodeIsWaiting, flow.GuardNodeWaiting),
			first(n.WaitKey != "" && n.WaitKey != c.ResumeKey, flow.GuardResumeKey),
			first(n.Assignees != nil && len(c.As.Roles) == 0, flow.GuardAssignee))
	case flow.CancelNode:
		return first(n.Status.Terminal(), flow.GuardNodeLive)
	}
	return "no guard knows this command"
}

// first is a guard that refuses, or none.
func first(refuses bool, g flow.Guard) flow.Guard {
	if refuses {
		return g
	}
	return ""
}

// either is the first of several guards that refuses.
func either(guards ...flow.Guard) flow.Guard {
	for _, g := range guards {
		if g != "" {
			return g
		}
	}
	return ""
}
