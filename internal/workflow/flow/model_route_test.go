package flow_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"renga.dev/renga/internal/workflow/flow"
)

// enter is routing that comes to a node from the one before.
func (m *model) enter(id, from string, on flow.Outcome) {
	n, f := m.nodes[id], m.nodes[from]
	if n.Type != flow.JoinKind {
		n.first = f.first
		if on == flow.OnFailure && (f.first == "" || m.maySucceed(from)) {
			n.first = from
		}
		if n.first != "" && n.first != from {
			m.note("an earlier failure is remembered")
		}
	}
	switch {
	case n.Type == flow.JoinKind:
		m.endBranch(id, m.shape.place[from].head, "completed")
	case n.status == "CANCELED":
		m.note("reached a node that was cancelled before")
		m.afterCancel(id, m.where(id, from))
	case n.Type == flow.TaskKind:
		m.reach(n, on)
	case n.Type == flow.WaitKind:
		m.wait(n, on)
	case n.Type == flow.ForkKind:
		m.succeed(id, "")
	default:
		m.finish(n, m.nodes[from])
	}
}

// where is the branch that a node is reached in. Failed and Canceled may be reached
// from several branches: the one that counts is the one that the way came from.
func (m *model) where(id, from string) *place {
	switch {
	case !m.nodes[id].Type.Terminal():
		return m.shape.place[id]
	case m.nodes[from].Type == flow.ForkKind: // it is a branch by itself
		return &place{fork: from, head: id}
	}
	return m.shape.place[from]
}

// maySucceed reports whether a way from a node leads to a Success.
func (m *model) maySucceed(id string) bool {
	if m.nodes[id].Type == flow.SuccessKind {
		return true
	}
	return slices.ContainsFunc(m.shape.graph.Edges, func(e flow.Edge) bool {
		return e.From == id && m.maySucceed(e.To)
	})
}

// failure is the code of a node that did not succeed.
func (m *model) failure(id string) string {
	if m.nodes[id].status == "CANCELED" {
		return "NODE_CANCELED"
	}
	return m.nodes[id].code
}

// reach makes a Task ready, with the input that it declares.
func (m *model) reach(n *modelNode, on flow.Outcome) {
	input, ok := m.declared(n, n.Input, on)
	if !ok {
		m.note("the input of a Task failed")
		return
	}
	if input != "" {
		m.note("a Task declares its input")
	}
	if on != flow.OnFailure {
		on = ""
	}
	m.ready(n, input, fmt.Sprintf("on=%s after=%s", on, n.first))
}

// declared is an object of the members that a node declares, unless one fails it.
func (m *model) declared(n *modelNode, members map[string]string, on flow.Outcome) (object string, ok bool) {
	code := ""
	if on == flow.OnFailure {
		code = m.failure(n.first)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value, err := m.shape.values[members[name]](m.scope("", code), on == flow.OnFailure)
		if err != nil {
			m.fail(n.NodeID, "ERR_EXPRESSION", false)
			return "", false
		}
		object += fmt.Sprintf(",%q:%s", name, value)
	}
	if object != "" {
		object = "{" + object[1:] + "}"
	}
	return object, true
}

func (m *model) ready(n *modelNode, input, how string) {
	m.emit("NODE_READY", n.NodeID, fmt.Sprintf("attempt=%d input=%s %s", n.attempt+1, input, how))
	m.put(n, "READY")
	n.retryAt = 0
	m.readyNow = append(m.readyNow, n.NodeID)
}

func (m *model) wait(n *modelNode, on flow.Outcome) {
	prompt := ""
	if n.Prompt != nil {
		shown, ok := m.declared(n, n.Prompt.Fields, on)
		if !ok {
			m.note("the prompt of a Wait failed")
			return
		}
		m.note("a Wait shows fields")
		prompt = `{"title":"Well?","fields":` + shown + "}"
	}
	if on != flow.OnFailure {
		on = ""
	}
	m.emit("NODE_READY", n.NodeID, fmt.Sprintf("attempt=0 input= on=%s after=%s", on, n.first))
	n.waitKey, n.waitUntil = n.WaitKey, 0
	if n.Timeout != 0 {
		n.waitUntil = m.now + millis(n.Timeout)
	}
	if n.For != 0 {
		n.waitUntil = m.now + millis(n.For)
	}
	n.reminders, n.remindAt = 0, m.reminder(n)
	m.emit("NODE_WAITING", n.NodeID, fmt.Sprintf("key=%s prompt=%s until=%d reminder=0 next=%d", n.waitKey, prompt,
		n.waitUntil, n.remindAt))
	m.put(n, "WAITING")
}

// reminder is when a node is reminded of next, 0 if it is not.
func (m *model) reminder(n *modelNode) int64 {
	if n.Remind == nil {
		return 0
	}
	most, at := max(n.Remind.Max, 1), m.now+millis(n.Remind.After)
	if n.reminders > 0 && n.Remind.Every != 0 {
		at = m.now + millis(n.Remind.Every)
	}
	if n.reminders == most || n.waitUntil != 0 && n.waitUntil <= at {
		m.note("reminded no more")
		return 0
	}
	return at
}

// finish reaches a terminal node.
func (m *model) finish(n, from *modelNode) {
	m.emit("NODE_SUCCEEDED", n.NodeID, "output=")
	m.put(n, "SUCCEEDED")
	switch n.Type {
	case flow.SuccessKind:
		m.emit("EXECUTION_COMPLETED", "", "result="+from.output+" outcome="+n.Outcome)
		m.end("COMPLETED")
	case flow.FailedKind:
		node, code := n.NodeID, "FAILED"
		if n.first != "" {
			node, code = n.first, m.failure(n.first)
		}
		m.note("reached Failed from " + from.status)
		m.dropLive()
		m.fails(node, code)
	case flow.CanceledKind:
		m.note("reached Canceled")
		m.cancelAll("reached node "+n.NodeID, "system/", false)
	}
}

func (m *model) end(status string) { m.status, m.cause = status, m.seq }

func (m *model) fails(node, code string) {
	m.emit("EXECUTION_FAILED", "", fmt.Sprintf("node=%s code=%s", node, code))
	m.failed, m.failCode = node, code
	m.end("FAILED")
}

// dropLive ends what is live when the execution fails.
func (m *model) dropLive() {
	for _, spec := range m.shape.graph.Nodes {
		if n := m.nodes[spec.NodeID]; n.live() {
			m.note("live node ended by a failure")
			m.emit("NODE_INTERRUPT_REQUESTED", n.NodeID, "worker="+n.busy())
			m.canceled(n, false)
		}
	}
}

func (m *model) canceled(n *modelNode, byExecution bool) {
	m.emit("NODE_CANCELED", n.NodeID, fmt.Sprintf("byExecution=%t", byExecution))
	m.put(n, "CANCELED")
	n.byExec, n.retryAt = byExecution, 0
}

// cancelAll cancels the execution.
func (m *model) cancelAll(reason, by string, cleanup bool) {
	m.emit("EXECUTION_CANCEL_REQUESTED", "", fmt.Sprintf("reason=%s requestedBy=%s", reason, by))
	m.fence = m.seq
	for _, spec := range m.shape.graph.Nodes {
		n := m.nodes[spec.NodeID]
		if n.ended() {
			continue
		}
		if n.status == "RUNNING" {
			m.emit("NODE_INTERRUPT_REQUESTED", n.NodeID, "worker="+n.busy())
		}
		m.canceled(n, true)
	}
	if cleanup {
		m.note("cleanup started")
	}
	m.emit("EXECUTION_CANCELED", "", fmt.Sprintf("at=%d cleanup=%t", m.now, cleanup))
	m.end("CANCELED")
}

// cancelNode cancels one node, whatever follows from it.
func (m *model) cancelNode(n *modelNode, reason string) {
	m.emit("NODE_CANCEL_REQUESTED", n.NodeID, reason)
	if n.live() {
		m.emit("NODE_INTERRUPT_REQUESTED", n.NodeID, "worker="+n.busy())
	}
	m.canceled(n, false)
}

// succeed ends a node well, if its edges lead anywhere.
func (m *model) succeed(id, output string) {
	n := m.nodes[id]
	sees := m.scope(output, "")
	if output != "" {
		sees.outputs[id] = sees.output // its own is one of them already
	}
	to, err := m.pick(m.edges(id, flow.OnSuccess), n.Type == flow.ForkKind, sees)
	if err != nil {
		m.fail(id, "ERR_EXPRESSION", false)
		return
	}
	if len(to) == 0 {
		m.fail(id, "NO_EDGE", false)
		return
	}
	if n.Type == flow.JoinKind { // JOIN_PASSED says that it went on, so only now
		m.closeFork(id)
		m.emit("JOIN_PASSED", id, "")
	}
	m.emit("NODE_SUCCEEDED", id, "output="+output)
	m.put(n, "SUCCEEDED")
	n.output, n.code = output, ""
	if n.Type != flow.ForkKind {
		m.enter(to[0], id, flow.OnSuccess)
		return
	}
	m.emit("FORK_OPENED", id, names(to)+n.first)
	join := m.nodes[m.shape.join[id]]
	join.gate = &modelGate{expected: to, end: map[string]string{}}
	for _, head := range to {
		if m.status != "ACTIVE" || join.gate.decided {
			m.note("join decided while its fork opened")
			return
		}
		m.enter(head, id, flow.OnSuccess)
	}
}

// fail ends an attempt of a node badly. Failures that a worker or a clock reports
// may be tried again.
func (m *model) fail(id, code string, again bool) {
	n := m.nodes[id]
	n.code = code
	if again && n.Retry != nil && slices.Contains(n.Retry.Except, code) {
		m.note("no retry after " + code)
		again = false
	}
	if again && n.Retry != nil && n.attempt < n.Retry.MaxAttempts {
		m.note("retried")
		n.retryAt = m.now + pause(n.Retry, n.attempt)
		m.emit("NODE_FAIL_REPORTED", id, fmt.Sprintf("code=%s attempt=%d retryAt=%d", code, n.attempt, n.retryAt))
		m.put(n, "CREATED")
		return
	}
	m.emit("NODE_FAIL_REPORTED", id, fmt.Sprintf("code=%s attempt=%d retryAt=0", code, n.attempt))
	to, err := m.failureEdge(id, code)
	if err != nil {
		m.note("expression of a failure edge failed")
		code, n.code = "ERR_EXPRESSION", "ERR_EXPRESSION" // for good; what was reported stays
	}
	m.emit("NODE_FAILED", id, "code="+code+m.detail(n))
	m.put(n, "FAILED")
	m.note("failed with " + code)
	m.afterFailure(id, code, to)
}

// detail is what the error of a Join that cannot pass tells.
func (m *model) detail(n *modelNode) string {
	if n.code != "JOIN_NOT_PASSABLE" {
		return ""
	}
	return fmt.Sprintf(" failed=%s canceled=%s cause=%s", names(n.gate.list("failed")), names(n.gate.list("canceled")),
		n.gate.cause)
}

// pause is how long a Task waits after its nth attempt.
func pause(r *flow.Retry, n int) int64 {
	return millis(flow.Duration(min(float64(r.InitialInterval)*math.Pow(r.Backoff, float64(n-1)),
		float64(r.MaxInterval))))
}

// millis rounds up to whole milliseconds.
func millis(d flow.Duration) int64 {
	return int64(math.Ceil(float64(d) / float64(time.Millisecond)))
}

// afterFailure is the failure edge, else the end of the branch, else of the execution.
func (m *model) afterFailure(id, code, to string) {
	p := m.shape.place[id]
	if m.nodes[id].Type == flow.JoinKind && (to != "" || p != nil) {
		m.closeFork(id)
	}
	switch {
	case to != "":
		m.note("failure edge taken")
		m.enter(to, id, flow.OnFailure)
	case p != nil:
		m.failBranch(m.nodes[m.shape.join[p.fork]].gate, m.nodes[id])
		m.endBranch(m.shape.join[p.fork], p.head, "failed")
	default:
		m.failExecution(id, code)
	}
}

// afterCancel is the end of the branch, else the failure edge, else the end of the execution.
func (m *model) afterCancel(id string, p *place) {
	to, err := m.failureEdge(id, "NODE_CANCELED")
	if err != nil {
		m.note("expression of a failure edge failed after a node was cancelled")
	}
	if m.nodes[id].Type == flow.JoinKind && (to != "" || p != nil) {
		m.closeFork(id)
	}
	switch {
	case p != nil:
		m.endBranch(m.shape.join[p.fork], p.head, "canceled")
	case to != "":
		m.note("failure edge taken after a node was cancelled")
		m.enter(to, id, flow.OnFailure)
	default:
		m.failExecution(id, "NODE_CANCELED")
	}
}

// failureEdge is where the failure edges lead, "" if nowhere.
func (m *model) failureEdge(id, code string) (string, error) {
	if code == "ERR_TIMEOUT" {
		to, err := m.pick(m.edges(id, flow.OnTimeout), false, m.scope("", code))
		if err != nil {
			return "", err
		}
		if len(to) > 0 {
			m.note("timeout edge taken")
			return to[0], nil
		}
	}
	to, err := m.pick(m.edges(id, flow.OnFailure), false, m.scope("", code))
	if err != nil || len(to) == 0 {
		return "", err
	}
	return to[0], nil
}

func (m *model) failExecution(id, code string) {
	m.emit("EXECUTION_FAIL_REQUESTED", "", "")
	m.dropLive()
	m.fails(id, code)
}

// closeFork cancels what still lives in the branches of a Join's Fork. The Joins in
// there decide nothing any more.
func (m *model) closeFork(join string) {
	for _, spec := range m.shape.graph.Nodes {
		n := m.nodes[spec.NodeID]
		if !m.inBranches(n.NodeID, m.shape.fork(join)) {
			continue
		}
		if n.gate != nil {
			n.gate.decided = true
		}
		if n.live() {
			m.note("live branch closed by " + string(m.nodes[join].Policy))
			m.cancelNode(n, "")
		}
	}
}

// failBranch notes the first failure that ended a branch of a Join; a Join in a branch has its own.
func (m *model) failBranch(g *modelGate, n *modelNode) {
	cause := n.NodeID + "/" + n.code
	if n.gate != nil && n.gate.cause != "" && n.code == "JOIN_NOT_PASSABLE" {
		cause = n.gate.cause
		m.note("cause of a Join in a Join")
	}
	if g.cause == "" {
		g.cause = cause
	}
}

// endBranch tells a Join that a branch has ended.
func (m *model) endBranch(join, head, how string) {
	j := m.nodes[join]
	g := j.gate
	if g.decided {
		return
	}
	j.first = m.nodes[m.shape.fork(join)].first
	if j.status == "CANCELED" {
		m.note("reached a Join that was cancelled before")
		g.decided = true
		m.afterCancel(join, m.shape.place[join])
		return
	}
	g.end[head] = how
	pass, hopeless, broken := m.judge(j)
	m.updateGate(j, pass)
	m.note("branch " + how)
	g.decided = broken || pass || hopeless
	outcome := func(what string) { m.note(strings.Join([]string{"join", string(j.Policy), what}, " ")) }
	switch {
	case broken:
		outcome("broken")
		m.fail(join, "ERR_EXPRESSION", false)
	case pass:
		outcome("passed")
		m.succeed(join, "")
	case hopeless:
		outcome("impossible")
		m.fail(join, "JOIN_NOT_PASSABLE", false)
	default:
		outcome("open")
	}
}

func (m *model) updateGate(j *modelNode, pass bool) {
	g := j.gate
	g.told = true
	m.emit("JOIN_GATE_UPDATED", j.NodeID, fmt.Sprintf("%s%s%s%s %s passable=%t",
		names(g.expected), names(g.list("completed")), names(g.list("failed")), names(g.list("canceled")), j.Policy,
		pass))
}

// judge asks the policy of a Join.
func (m *model) judge(j *modelNode) (pass, hopeless, broken bool) {
	g := j.gate
	completed, failed, canceled := len(g.list("completed")), len(g.list("failed")), len(g.list("canceled"))
	done := completed+failed+canceled == len(g.expected)
	switch j.Policy {
	case flow.AllSuccess:
		return completed == len(g.expected), failed+canceled > 0, false
	case flow.AnySuccess:
		return completed > 0, done && completed == 0, false
	case flow.AllDone:
		return done, false, false
	default:
		pass, err := m.shape.gates[j.Expression](g)
		return pass, done && !pass, err != nil
	}
}
