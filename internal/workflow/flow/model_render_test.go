package flow_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"renga.dev/renga/internal/workflow/flow"
)

// fields are the members of a payload that the model knows about, as text.
func fields(ev flow.Event) string {
	switch p := ev.Payload.(type) {
	case *flow.ExecutionCreated:
		return fmt.Sprintf("graph=%s input=%s", p.GraphID, string(p.Input))
	case *flow.ExecutionStarted:
		return "startedBy=" + who(p.StartedBy)
	case *flow.ExecutionCompleted:
		return fmt.Sprintf("result=%s outcome=%s", string(p.Result), p.Outcome)
	case *flow.ExecutionArchived:
		return "reason=" + p.Reason
	case *flow.ExecutionCancelRequested:
		return fmt.Sprintf("reason=%s requestedBy=%s", p.Reason, who(p.RequestedBy))
	case *flow.ExecutionCanceled:
		return fmt.Sprintf("at=%d cleanup=%t", p.CanceledAt, !p.CompensationID.IsZero())
	case *flow.ExecutionFailed:
		return fmt.Sprintf("node=%s code=%s", p.FailedNodeID, code(p.Error))
	case *flow.NodeCreated:
		return p.NodeType.String()
	case *flow.ForkOpened:
		return names(p.BranchIDs) + p.FailedNodeID
	case *flow.JoinGateUpdated:
		return fmt.Sprintf("%s%s%s%s %s passable=%t", names(p.Expected), names(p.Completed), names(p.Failed),
			names(p.Canceled), p.Policy, p.Passable)
	}
	return nodeFields(ev.Payload, ev.Actor.Kind == flow.KindSystem)
}

// nodeFields leaves out the reasons that nobody gave.
func nodeFields(p flow.Payload, automatic bool) string {
	switch p := p.(type) {
	case *flow.NodeReady:
		return fmt.Sprintf("attempt=%d input=%s on=%s after=%s", p.Attempt, string(p.Input), p.On, p.FailedNodeID)
	case *flow.NodeStarted:
		return fmt.Sprintf("attempt=%d worker=%s lease=%d leaseUntil=%d timeoutAt=%d", p.Attempt, p.WorkerID, p.Lease,
			p.LeaseUntil, p.TimeoutAt)
	case *flow.NodeProgressReported:
		value := "none"
		if p.Progress != nil {
			value = fmt.Sprint(*p.Progress)
		}
		return fmt.Sprintf("progress=%s message=%s metrics=%s leaseUntil=%d", value, p.Message, string(p.Metrics),
			p.LeaseUntil)
	case *flow.NodeWaiting:
		return fmt.Sprintf("key=%s prompt=%s until=%d reminder=%d next=%d", p.WaitKey, string(p.Prompt), p.WaitUntil,
			p.Reminder, p.RemindAt)
	case *flow.NodeResumeRequested:
		return fmt.Sprintf("key=%s requestedBy=%s", p.ResumeKey, who(p.RequestedBy))
	case *flow.NodeResumed:
		return fmt.Sprintf("leaseUntil=%d timeoutAt=%d output=%s", p.LeaseUntil, p.TimeoutAt, string(p.Output))
	case *flow.NodeSucceeded:
		return fmt.Sprintf("output=%s", string(p.Output))
	case *flow.NodeFailReported:
		return fmt.Sprintf("code=%s attempt=%d retryAt=%d", code(p.Error), p.Attempt, p.RetryAt)
	case *flow.NodeFailed:
		return "code=" + code(p.Error) + detail(p.Error)
	case *flow.NodeCancelRequested:
		if automatic {
			return ""
		}
		return "reason=" + p.Reason
	case *flow.NodeCanceled:
		return fmt.Sprintf("byExecution=%t", p.ByExecution)
	case *flow.NodeInterruptRequested:
		return "worker=" + p.WorkerID
	}
	return ""
}

func who(a *flow.Actor) string {
	if a == nil {
		return "nobody"
	}
	return a.Kind + "/" + a.ID
}

func code(e *flow.Error) string {
	if e == nil {
		return ""
	}
	return e.Code
}

// detail is what the error of a Join that cannot pass tells.
func detail(e *flow.Error) string {
	if code(e) != "JOIN_NOT_PASSABLE" {
		return ""
	}
	var detail struct {
		Failed, Canceled []string
		Cause            *struct{ NodeID, Code string }
	}
	if err := json.Unmarshal(e.Detail, &detail); err != nil {
		return err.Error()
	}
	cause := ""
	if c := detail.Cause; c != nil {
		cause = c.NodeID + "/" + c.Code
	}
	return fmt.Sprintf(" failed=%s canceled=%s cause=%s", names(detail.Failed), names(detail.Canceled), cause)
}

// text is the state of the code in the words of the model.
func (b *bench) text() string {
	var out strings.Builder
	s := &b.state
	fmt.Fprintf(&out, "%s started=%t archived=%t fence=%d failed=%s/%s\n",
		s.Status, s.StartedAt != 0, s.ArchivedAt != 0, s.CancelSeq, s.FailedNode, code(s.Error))
	for _, n := range s.Nodes {
		fmt.Fprintf(&out, "%s %s attempt=%d deadline=%d retry=%d byExecution=%t error=%s cause=%d",
			n.ID, n.Status, n.Attempt, n.Deadline(), n.RetryAt, n.ByExecution, code(n.Error), b.seqs[n.Cause.ID])
		if g := n.Gate; g != nil {
			fmt.Fprintf(&out, " gate=%s%s%s%s", names(g.Expected), names(g.Completed), names(g.Failed),
				names(g.Canceled))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func (b *bench) due(now flow.Time) string {
	var all []string
	for _, e := range b.state.Due(now) {
		all = append(all, fmt.Sprintf("%s %d at %d", e.Node, e.Attempt, e.At))
	}
	slices.Sort(all)
	return names(all)
}
