package flow

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/workflow/expr"
)

func (r *router) arrive(j, head int, end branchEnd) {
	n, p := r.d.Nodes[j], &r.d.plan.nodes[j]
	r.way = way{failed: r.d.Nodes[p.peer].FailedNode} // what failed in the branches is for the Join to judge
	if n.Status == NodeIsCanceled {
		r.leaveCanceled(j, p.frame) // somebody cancelled it before it was reached
		return
	}
	if !r.affords(j) {
		const why = " cannot be passed: too many of its branches end in one decision."
		r.fail(j, &Error{Code: CodeNotPassable, Message: "Join " + p.spec.NodeID + why})
		return
	}
	update := &JoinGateUpdated{NodeID: n.ID, Policy: p.spec.Policy, Expected: r.d.Nodes[p.peer].Branches}
	update.count(n.Gate, r.d.Nodes[head].ID, end)
	never := r.judge(p, update)
	r.d.emit(update)
	switch {
	case update.Passable:
		r.complete(j, nil)
	case never != nil:
		r.fail(j, never)
	}
}

// affords counts the update of a gate, which names all branches, against the budget of the
// decision: thousands of branches that end at once would be gigabytes.
func (r *router) affords(j int) bool {
	for _, name := range r.d.Nodes[r.d.plan.nodes[j].peer].Branches {
		r.gates += len(name) + len(`"",`)
	}
	return r.gates <= MaxGates
}

// closeFork cancels, in the order of the nodes, what is at work in a fork. It looks at nothing
// else: one decision may close thousands of forks beside thousands of nodes.
func (r *router) closeFork(fork int, reason string) {
	r.closed.add(fork)
	var live []int
	for _, i := range r.d.plan.nodes[fork].inside {
		if r.d.Nodes[i].Live() {
			live = append(live, i)
		}
	}
	slices.Sort(live)
	for _, i := range live {
		r.d.emit(&NodeCancelRequested{NodeID: r.d.Nodes[i].ID, Reason: reason})
		r.d.interrupt(i, reason)
	}
}

func (p *JoinGateUpdated) count(before *Gate, branch string, end branchEnd) {
	if before != nil {
		p.Completed, p.Failed, p.Canceled = before.Completed, before.Failed, before.Canceled
	}
	list := &p.Completed
	switch end {
	case branchFailed:
		list = &p.Failed
	case branchCanceled:
		list = &p.Canceled
	}
	*list = insert(p.Expected, *list, branch)
}

// insert adds a name to a copy of a list that is in the order of all.
func insert(all, list []string, name string) []string {
	longer := make([]string, 0, len(list)+1)
	for _, candidate := range all {
		switch {
		case candidate == name:
			longer = append(longer, name)
		case len(list) > 0 && list[0] == candidate:
			longer, list = append(longer, candidate), list[1:]
		}
		if len(longer) == cap(longer) {
			break
		}
	}
	return longer
}

// judge asks the policy of a Join whether it is passable now; an error says why it never will be.
func (r *router) judge(p *planNode, u *JoinGateUpdated) *Error {
	done := len(u.Completed) + len(u.Failed) + len(u.Canceled)
	all := done == len(u.Expected)
	impossible := all
	switch p.spec.Policy {
	case AnySuccess:
		u.Passable = len(u.Completed) > 0
	case AllDone:
		u.Passable = all
	case Custom:
		b := expr.Branches{Expected: u.Expected, Completed: u.Completed, Failed: u.Failed, Canceled: u.Canceled}
		ok, err := r.budget.Holds(p.gate, b)
		if err != nil {
			const why = "The expression of join %s failed: %v"
			return &Error{Code: CodeExpression, Message: fmt.Sprintf(why, p.spec.NodeID, err)}
		}
		u.Passable = ok
	default: // ALL_SUCCESS
		u.Passable = len(u.Completed) == len(u.Expected)
		impossible = len(u.Completed) < done
	}
	if !u.Passable && impossible {
		return r.notPassable(p, u)
	}
	return nil
}

// gateDetail is the detail of the error of a Join that can pass no more.
type gateDetail struct {
	Failed   []string `json:"failed"`
	Canceled []string `json:"canceled"`
	Cause    *failure `json:"cause,omitempty"`
}

// failure is that of a node, as the error of a Join names it.
type failure struct {
	NodeID  string `json:"nodeId"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

func (r *router) notPassable(p *planNode, u *JoinGateUpdated) *Error {
	text := fmt.Sprintf("Join %s (%s) can no longer be passed", p.spec.NodeID, p.spec.Policy)
	detail := gateDetail{Failed: u.Failed, Canceled: u.Canceled, Cause: r.cause(p.peer, u.Failed)}
	if c := detail.Cause; c != nil {
		text += ": node " + c.NodeID + " failed"
		if c.Code != "" {
			text += " with " + c.Code
		}
	}
	e := &Error{Code: CodeNotPassable, Message: text + "."}
	if raw, err := json.Marshal(&detail); err == nil { // it cannot fail: texts are valid UTF-8
		e.Detail = raw
	}
	return e
}

// cause is the first of the failures that ended these branches of a fork. That of a Join in a branch is its own cause.
func (r *router) cause(fork int, failed []string) *failure {
	last := make(map[string]*Node, len(failed)) // what failed last in a branch ended it
	for _, i := range r.d.plan.nodes[fork].inside {
		n, in := r.d.Nodes[i], r.d.plan.nodes[i].frame
		if n.Status != NodeIsFailed || in.fork != fork {
			continue
		}
		head := r.d.Nodes[in.head].ID
		if before := last[head]; before == nil || before.Cause.Seq < n.Cause.Seq {
			last[head] = n
		}
	}
	var first *Node
	for _, head := range failed {
		if n := last[head]; n != nil && (first == nil || n.Cause.Seq < first.Cause.Seq) {
			first = n
		}
	}
	if first == nil {
		return nil
	}
	return causeOf(first)
}

func causeOf(n *Node) *failure {
	c := &failure{NodeID: n.ID}
	if n.Error == nil {
		return c
	}
	var detail gateDetail
	if n.Gate != nil && n.Error.Code == CodeNotPassable && json.Unmarshal(n.Error.Detail, &detail) == nil &&
		detail.Cause != nil {
		return detail.Cause
	}
	c.Code, c.Message = n.Error.Code, n.Error.Message
	return c
}
