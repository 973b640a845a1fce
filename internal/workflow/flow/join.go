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
		return notPassable(p, u)
	}
	return nil
}

func notPassable(p *planNode, u *JoinGateUpdated) *Error {
	detail, err := json.Marshal(struct {
		Failed   []string `json:"failed"`
		Canceled []string `json:"canceled"`
	}{u.Failed, u.Canceled})
	if err != nil {
		detail = nil // cannot be: names of nodes are plain ASCII
	}
	return &Error{
		Code:    CodeNotPassable,
		Message: fmt.Sprintf("Join %s (%s) can no longer be passed.", p.spec.NodeID, p.spec.Policy),
		Detail:  detail,
	}
}
