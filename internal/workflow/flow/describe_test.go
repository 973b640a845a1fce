package flow

import (
	"fmt"
	"strings"
	"time"
)

// since is an instant counted from the scripts' zero.
func since(t Time) string {
	return "+" + time.Duration(t.Sub(scriptZero)).String()
}

// words collects what a line of a script says.
type words []string

func (w *words) add(name string, value any) {
	switch v := value.(type) {
	case string:
		if v != "" {
			*w = append(*w, name+"="+strings.ReplaceAll(v, " ", "_"))
		}
	case int:
		if v != 0 {
			*w = append(*w, fmt.Sprintf("%s=%d", name, v))
		}
	case Time:
		if v != 0 {
			*w = append(*w, name+"="+since(v))
		}
	case Data:
		if len(v) > 60 {
			*w = append(*w, fmt.Sprintf("%s=@%d", name, len(v)))
		} else if v != nil {
			*w = append(*w, name+"="+string(v))
		}
	case Blob:
		if v.Seq != 0 {
			*w = append(*w, fmt.Sprintf("%s=@%d:seq%d", name, v.Size, v.Seq))
		} else {
			w.add(name, v.Inline)
		}
	case []string:
		if len(v) > 0 {
			*w = append(*w, name+"="+strings.Join(v, ","))
		}
	case *Error:
		if v != nil {
			*w = append(*w, name+"="+v.Code)
			w.add("message", v.Message)
			w.add("detail", v.Detail)
			w.add("final", v.Final)
		}
	case *float64:
		if v != nil {
			*w = append(*w, fmt.Sprintf("%s=%v", name, *v))
		}
	case bool:
		if v {
			*w = append(*w, name)
		}
	default:
		panic(fmt.Sprintf("%T", value))
	}
}

// describe is an event on one line: its type, its node, what it says and, when
// it is not the system, who caused it.
func describe(ev *Event) string {
	w := words{ev.Type.String()}
	if node := ev.Payload.Node(); node != "" {
		w = append(w, node)
	}
	switch p := ev.Payload.(type) {
	case *ExecutionCreated:
		w.add("graph", p.GraphID)
		w.add("version", p.GraphVersion)
		w.add("input", p.Input)
		w.add("businessKey", p.BusinessKey)
		if data, err := p.Labels.MarshalJSON(); err == nil && len(p.Labels) > 0 {
			w.add("labels", Data(data))
		}
		if !p.RerunOf.IsZero() {
			w.add("rerunOf", p.RerunOf.String())
		}
	case *ExecutionCompleted:
		w.add("result", p.Result)
		w.add("outcome", p.Outcome)
	case *ExecutionArchived:
		w.add("reason", p.Reason)
	case *ExecutionCancelRequested:
		w.add("reason", p.Reason)
		w.add("requestedBy", p.RequestedBy.Kind)
	case *ExecutionCanceled:
		w.add("reason", p.Reason)
		if !p.CompensationID.IsZero() {
			w.add("compensation", p.CompensationID.String())
		}
	case *ExecutionFailRequested:
		w.add("reason", p.Reason)
	case *ExecutionFailed:
		w.add("reason", p.Reason)
		w.add("failedNode", p.FailedNodeID)
		w.add("error", p.Error)
	default:
		describeNode(&w, ev.Payload)
	}
	if ev.Actor.Kind != KindSystem {
		w = append(w, strings.TrimSpace("by "+ev.Actor.Kind+" "+ev.Actor.ID))
	}
	return strings.Join(w, " ")
}

func describeNode(w *words, p Payload) {
	switch p := p.(type) {
	case *NodeCreated:
		w.add("type", p.NodeType.String())
	case *NodeReady:
		w.add("attempt", p.Attempt)
		w.add("input", p.Input)
		w.add("on", string(p.On))
		w.add("failedNode", p.FailedNodeID)
	case *NodeStarted:
		w.add("attempt", p.Attempt)
		w.add("worker", p.WorkerID)
		w.add("lease", p.Lease)
		w.add("leaseUntil", p.LeaseUntil)
		w.add("timeoutAt", p.TimeoutAt)
	case *NodeProgressReported:
		w.add("progress", p.Progress)
		w.add("message", p.Message)
		w.add("metrics", p.Metrics)
		w.add("leaseUntil", p.LeaseUntil)
	case *NodeWaiting:
		w.add("key", p.WaitKey)
		w.add("prompt", p.Prompt)
		w.add("waitUntil", p.WaitUntil)
		w.add("reminder", p.Reminder)
		w.add("nextReminderAt", p.RemindAt)
		if p.Assignees != nil {
			w.add("assignees", p.Assignees.String())
		}
		if p.Awaits != nil {
			w.add("message", p.Awaits.String())
		}
	case *NodeResumeRequested:
		w.add("key", p.ResumeKey)
		w.add("message", p.MessageID)
		w.add("requestedBy", p.RequestedBy.Kind)
	case *NodeResumed:
		w.add("leaseUntil", p.LeaseUntil)
		w.add("timeoutAt", p.TimeoutAt)
		w.add("output", p.Output)
	case *NodeSucceeded:
		w.add("output", p.Output)
	case *NodeFailReported:
		w.add("attempt", p.Attempt)
		w.add("error", p.Error)
		w.add("retryAt", p.RetryAt)
	case *NodeFailed:
		w.add("error", p.Error)
	case *NodeCancelRequested:
		w.add("reason", p.Reason)
	case *NodeCanceled:
		w.add("reason", p.Reason)
		w.add("byExecution", p.ByExecution)
	case *NodeInterruptRequested:
		w.add("worker", p.WorkerID)
		w.add("reason", p.Reason)
	case *ForkOpened:
		w.add("branches", p.BranchIDs)
	case *JoinGateUpdated:
		w.add("expected", p.Expected)
		w.add("completed", p.Completed)
		w.add("failed", p.Failed)
		w.add("canceled", p.Canceled)
		w.add("policy", string(p.Policy))
		w.add("passable", p.Passable)
	}
}

// describeState is a state in a few lines.
func describeState(s *State) string {
	w := words{s.Status.String(), fmt.Sprintf("seq=%d", s.Seq), fmt.Sprintf("data=%d", s.Data)}
	w.add("startedAt", s.StartedAt)
	w.add("endedAt", s.EndedAt)
	w.add("archivedAt", s.ArchivedAt)
	w.add("cancelSeq", int(s.CancelSeq))
	w.add("result", s.Result)
	w.add("outcome", s.Outcome)
	w.add("failedNode", s.FailedNode)
	w.add("error", s.Error)
	w.add("next", s.NextDeadline())
	lines := []string{strings.Join(w, " ")}
	for _, n := range s.Nodes {
		w := words{n.ID, n.Status.String()}
		w.add("attempt", n.Attempt)
		w.add("byExecution", n.ByExecution)
		w.add("worker", n.Worker)
		w.add("leaseUntil", n.LeaseUntil)
		w.add("timeoutAt", n.TimeoutAt)
		w.add("timeLeft", int(n.TimeLeft))
		w.add("retryAt", n.RetryAt)
		w.add("waitUntil", n.WaitUntil)
		w.add("reminders", n.Reminders)
		w.add("nextReminderAt", n.RemindAt)
		w.add("key", n.WaitKey)
		w.add("prompt", n.Prompt)
		if n.Awaits != nil {
			w.add("message", n.Awaits.String())
		}
		w.add("resumed", n.Resumed)
		w.add("input", n.Input)
		w.add("on", string(n.On))
		w.add("failedNode", n.FailedNode)
		w.add("progress", n.Progress)
		w.add("text", n.Message)
		w.add("metrics", n.Metrics)
		w.add("output", n.Output)
		w.add("error", n.Error)
		w.add("reason", n.Reason)
		w.add("branches", n.Branches)
		lines = append(lines, strings.Join(w, " "))
	}
	return strings.Join(lines, "\n")
}
