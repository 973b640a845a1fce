package sim

import "renga.dev/renga/internal/flow"

// permitted is a dumb second opinion on the guards: whether a state accepts a
// command on a node that exists.
func permitted(s *flow.State, plan *flow.Plan, c flow.Command) bool {
	active := s.Status == flow.Active && s.CancelSeq == 0
	switch c.(type) {
	case flow.Start:
		return active && s.StartedAt == 0
	case flow.Cancel:
		return s.Status == flow.Active || s.Status == flow.Canceled
	case flow.Archive:
		return s.Status != flow.Active && s.ArchivedAt == 0
	}
	i, ok := plan.Node(c.Target())
	if !ok || !active || s.StartedAt == 0 {
		return false
	}
	n, task := s.Nodes[i], plan.Spec(i).Type == flow.TaskKind
	running := func(attempt int, worker string) bool {
		return task && n.Status == flow.NodeIsRunning && (attempt == 0 || attempt == n.Attempt) &&
			(worker == "" || n.Worker == "" || worker == n.Worker)
	}
	switch c := c.(type) {
	case flow.StartNode:
		return task && n.Status == flow.NodeIsReady && (c.Attempt == 0 || c.Attempt == n.Attempt+1)
	case flow.Progress:
		return running(c.Attempt, c.Worker)
	case flow.Wait:
		return running(c.Attempt, c.Worker)
	case flow.Succeed:
		return running(c.Attempt, c.Worker)
	case flow.Fail:
		return running(c.Attempt, c.Worker)
	case flow.Resume:
		return n.Status == flow.NodeIsWaiting && (n.WaitKey == "" || n.WaitKey == c.ResumeKey)
	case flow.CancelNode:
		return !n.Status.Terminal() && n.RetryAt == 0
	}
	return false
}
