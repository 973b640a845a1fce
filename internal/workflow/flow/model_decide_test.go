package flow_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"renga.dev/renga/internal/workflow/flow"
)

// verdict is what the model says of a command: events, or the guard that refuses.
type verdict struct {
	events   []string
	guard    flow.Guard
	cause    int  // of a refusal: the event that made the state that refused
	notFound bool // there is no such node
	unfit    bool // the output of a resume does not fit
}

// decide carries a command out, or says why it is refused.
func (m *model) decide(c flow.Command, f flow.Facts) verdict {
	m.now, m.out, m.readyNow = int64(f.Now), nil, nil
	m.by, m.after = f.Actor.Kind+"/"+f.Actor.ID, m.cause
	n := m.nodes[c.Target()]
	if c.Target() != "" && n == nil {
		m.note("no such node")
		_, deadline := c.(flow.Expire)
		return verdict{notFound: !deadline}
	}
	if n != nil {
		m.after = n.cause
	}
	if guard, cause := m.refuses(c, n); guard != "" {
		m.note("guard " + string(guard))
		return verdict{guard: guard, cause: cause}
	}
	if resume, ok := c.(flow.Resume); ok && n.Schema != nil && !strings.Contains(string(resume.Output), `"x"`) {
		m.note("output does not fit")
		return verdict{unfit: true}
	}
	m.phase(c, n)
	m.carryOut(c, n, f)
	return verdict{events: m.out}
}

// refuses asks the guards, in their order. The cause is the execution's state, or
// the node's where the guard is about the node.
func (m *model) refuses(c flow.Command, n *modelNode) (flow.Guard, int) {
	ended := m.status == "COMPLETED" || m.status == "FAILED"
	switch c.(type) {
	case flow.Create, flow.Expire:
		return "", 0
	case flow.Cancel:
		if ended {
			m.note("cancel refused after " + m.status)
			return "execution_active", m.cause
		}
		return "", 0
	case flow.Archive:
		if m.status == "ACTIVE" {
			return "execution_terminal", m.cause
		}
		if m.archived {
			return "not_archived", m.filed
		}
		return "", 0
	}
	if m.fence != 0 {
		return "cancel_fence", m.cause
	}
	if ended {
		return "execution_active", m.cause
	}
	if _, ok := c.(flow.Start); ok {
		if m.started {
			return "not_started", m.cause
		}
		return "", 0
	}
	if !m.started {
		return "started", m.cause
	}
	return nodeRefuses(c, n, m.by[:strings.Index(m.by, "/")]), n.cause
}

// nodeRefuses asks the guards of a node.
func nodeRefuses(c flow.Command, n *modelNode, by string) flow.Guard {
	if n.retryAt != 0 {
		return "retry_pending"
	}
	switch c := c.(type) {
	case flow.StartNode:
		if n.Type != flow.TaskKind {
			return "node_task"
		}
		if n.status != "READY" {
			return "node_ready"
		}
		if c.Attempt != 0 && c.Attempt != n.attempt+1 { // 0 is "not given"
			return "attempt_due"
		}
	case flow.Progress:
		return runningRefuses(n, c.Attempt, c.Worker)
	case flow.Wait:
		return runningRefuses(n, c.Attempt, c.Worker)
	case flow.Succeed:
		return runningRefuses(n, c.Attempt, c.Worker)
	case flow.Fail:
		return runningRefuses(n, c.Attempt, c.Worker)
	case flow.Resume:
		if n.status != "WAITING" {
			return "node_waiting"
		}
		if n.waitKey != "" && c.ResumeKey != n.waitKey {
			return "resume_key"
		}
		if n.Assignees != nil && n.status == "WAITING" && n.Type == flow.WaitKind && by == flow.KindUser &&
			!slices.Contains(c.As.Roles, "boss") && !slices.Contains(c.As.Users, "ann") {
			return "assignee"
		}
	case flow.CancelNode:
		if n.ended() {
			return "node_not_terminal"
		}
	}
	return ""
}

func runningRefuses(n *modelNode, attempt int, worker string) flow.Guard {
	if n.Type != flow.TaskKind {
		return "node_task"
	}
	if n.status != "RUNNING" {
		return "node_running"
	}
	if attempt != 0 && attempt != n.attempt {
		return "attempt_due"
	}
	if worker != "" && n.worker != "" && worker != n.worker {
		return "lease_owner"
	}
	return ""
}

// carryOut does what a command that nothing refuses asks for.
func (m *model) carryOut(c flow.Command, n *modelNode, f flow.Facts) {
	switch c := c.(type) {
	case flow.Create:
		m.create(c)
	case flow.Start:
		m.emit("EXECUTION_STARTED", "", "startedBy="+m.by)
		m.started, m.cause = true, m.seq
		m.succeed(m.shape.start(), "")
	case flow.Cancel:
		if m.status != "CANCELED" {
			m.cancelAll(c.Reason, m.by, m.shape.graph.OnCancel != nil && m.started)
		}
	case flow.Archive:
		m.emit("EXECUTION_ARCHIVED", "", "reason="+c.Reason)
		m.archived, m.filed = true, m.seq
	case flow.StartNode:
		m.startNode(n, c.Worker, int64(c.Lease)*1000)
	case flow.Progress:
		m.progress(c, n)
	case flow.Wait:
		m.putWaiting(c, n)
	case flow.Resume:
		m.resume(c, n)
	case flow.Succeed:
		m.leased(n)
		m.succeed(n.NodeID, string(c.Output))
		m.next(c.Next, n, c.Worker)
	case flow.Fail:
		m.leased(n)
		code, again := "", true
		if c.Error != nil {
			code = c.Error.Code
			if again = !c.Error.Final; !again {
				m.note("no retry after a final error")
			}
		}
		m.fail(n.NodeID, code, again)
		m.next(c.Next, n, c.Worker)
	case flow.CancelNode:
		reached := n.live()
		if n.gate != nil && len(n.gate.end) > 0 { // a Join that a branch has come to
			if n.gate.decided {
				m.note("Join cancelled in a fork that an outer Join has closed")
			} else {
				m.note("Join cancelled with its gate open")
				reached, n.gate.decided = true, true
			}
		}
		m.cancelNode(n, "reason="+c.Reason)
		if reached {
			m.afterCancel(n.NodeID, m.shape.place[n.NodeID])
		}
	case flow.Expire:
		m.expire(c, n)
	}
}

func (m *model) create(c flow.Create) {
	m.after = 0
	m.input, m.status = string(c.Input), "ACTIVE"
	m.emit("EXECUTION_CREATED", "", "graph="+graphID+" input="+m.input)
	m.cause = m.seq
	for _, spec := range m.shape.graph.Nodes {
		m.emit("NODE_CREATED", spec.NodeID, spec.Type.String())
		m.put(m.nodes[spec.NodeID], "CREATED")
	}
}

// leased makes the worker the actor of what a claimed node reports.
func (m *model) leased(n *modelNode) {
	if n.lease > 0 {
		m.by = "external/" + n.worker
	}
}

func (m *model) startNode(n *modelNode, worker string, lease int64) {
	if lease > 0 {
		m.by = "external/" + worker
	}
	n.attempt++
	n.worker, n.lease, n.timeoutAt = worker, lease, 0
	if n.Timeout != 0 {
		n.timeoutAt = m.now + millis(n.Timeout)
	}
	n.renew(m.now)
	m.emit("NODE_STARTED", n.NodeID, fmt.Sprintf("attempt=%d worker=%s lease=%d leaseUntil=%d timeoutAt=%d",
		n.attempt, worker, lease/1000, n.leaseUntil, n.timeoutAt))
	m.put(n, "RUNNING")
}

// renew lets a lease run anew, never past the timeout.
func (n *modelNode) renew(now int64) {
	n.leaseUntil = 0
	if n.lease > 0 {
		n.leaseUntil = now + n.lease
		if n.timeoutAt != 0 && n.timeoutAt < n.leaseUntil {
			n.leaseUntil = n.timeoutAt
		}
	}
}

func (m *model) progress(c flow.Progress, n *modelNode) {
	m.leased(n)
	n.renew(m.now)
	value := "none"
	if c.Progress != nil {
		value = fmt.Sprint(*c.Progress)
	}
	m.emit("NODE_PROGRESS_REPORTED", n.NodeID, fmt.Sprintf("progress=%s message=%s metrics=%s leaseUntil=%d", value,
		c.Message, string(c.Metrics), n.leaseUntil))
}

func (m *model) putWaiting(c flow.Wait, n *modelNode) {
	m.leased(n)
	n.waitKey, n.remindAt = c.WaitKey, 0
	n.timeLeft = max(1, n.timeoutAt-m.now) // an attempt that is over already ends at once when it is resumed
	m.emit("NODE_WAITING", n.NodeID, fmt.Sprintf("key=%s prompt=%s until=0 reminder=0 next=0", c.WaitKey,
		string(c.Prompt)))
	m.put(n, "WAITING")
}

func (m *model) resume(c flow.Resume, n *modelNode) {
	m.emit("NODE_RESUME_REQUESTED", n.NodeID, fmt.Sprintf("key=%s requestedBy=%s", c.ResumeKey, m.by))
	if n.Type == flow.WaitKind {
		m.emit("NODE_RESUMED", n.NodeID, "leaseUntil=0 timeoutAt=0 output=")
		m.succeed(n.NodeID, string(c.Output))
		return
	}
	if n.timeoutAt != 0 {
		n.timeoutAt = m.now + n.timeLeft
	}
	n.renew(m.now)
	m.emit("NODE_RESUMED", n.NodeID, fmt.Sprintf("leaseUntil=%d timeoutAt=%d output=%s", n.leaseUntil, n.timeoutAt,
		string(c.Output)))
	m.put(n, "RUNNING")
}

// next starts a Task that the decision made ready, for the same worker.
func (m *model) next(asked bool, done *modelNode, worker string) {
	if !asked {
		return
	}
	if worker == "" {
		worker = done.worker
	}
	for _, id := range m.readyNow {
		n := m.nodes[id]
		if n.status == "READY" && n.Queue == done.Queue {
			m.note("next started")
			m.by = "external/" + worker
			m.startNode(n, worker, done.lease)
			return
		}
	}
	m.note("next found nothing")
}

// expire lets a deadline fire, if it is still the one that stands.
func (m *model) expire(c flow.Expire, n *modelNode) {
	if m.status != "ACTIVE" || c.Attempt != n.attempt || int64(c.At) != n.deadline() || c.At == 0 ||
		int64(c.At) > m.now {
		m.note("deadline without effect")
		return
	}
	m.by = "scheduler/"
	switch n.status {
	case "RUNNING":
		if n.leaseUntil != 0 && n.leaseUntil != n.timeoutAt {
			m.note("lease ran out")
		} else {
			m.note("attempt timed out")
		}
		m.fail(n.NodeID, "ERR_TIMEOUT", true)
	case "WAITING":
		if n.remindAt != 0 && int64(c.At) < cmp.Or(n.waitUntil, math.MaxInt64) {
			m.note("reminded")
			n.reminders++
			n.remindAt = m.reminder(n)
			m.emit("NODE_WAITING", n.NodeID, fmt.Sprintf("key=%s prompt= until=%d reminder=%d next=%d", n.waitKey,
				n.waitUntil, n.reminders, n.remindAt))
			return
		}
		if n.For != 0 {
			m.note("timer fired")
			m.emit("NODE_RESUMED", n.NodeID, "leaseUntil=0 timeoutAt=0 output=")
			m.succeed(n.NodeID, "")
			return
		}
		m.note("Wait timed out")
		m.fail(n.NodeID, "ERR_TIMEOUT", false)
	default:
		m.note("retry became ready")
		m.ready(n, "", "on= after=")
	}
}

// phase notes where in the life of an execution a cancel came.
func (m *model) phase(c flow.Command, n *modelNode) {
	switch c.(type) {
	case flow.Cancel:
		switch {
		case m.status == "CANCELED":
			m.note("cancel again")
		case !m.started:
			m.note("cancel before start")
		}
		if m.status == "ACTIVE" {
			for _, n := range m.nodes {
				if n.live() {
					m.note("cancel while " + n.phase())
				}
				if n.gate != nil && !n.ended() {
					m.note("cancel while a fork is open")
				}
			}
		}
	case flow.CancelNode:
		where := "outside"
		if m.shape.place[n.NodeID] != nil {
			where = "in a fork"
		}
		m.note("node cancelled while " + n.phase() + " " + where)
	}
}

func (n *modelNode) phase() string {
	if n.retryAt != 0 {
		return "retry pending"
	}
	return n.status
}
