package flow

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/workflow/expr"
)

// verdict is what a gate says when a branch has ended.
type verdict uint8

const (
	gateOpen       verdict = iota // more branches may decide
	gatePassable                  // the Join lets the execution pass
	gateImpossible                // it never will
)

// arrive is a branch that ends at its Join.
func (d *draft) arrive(j, head int, end branchEnd) {
	n, p := d.Nodes[j], &d.plan.nodes[j]
	if n.Status == NodeIsCanceled {
		d.leaveCanceled(j, p.frame) // somebody cancelled it before it was reached
		return
	}
	if !d.affords(j) {
		const why = " cannot be passed: too many of its branches end in one decision."
		d.fail(j, &Error{Code: CodeNotPassable, Message: "Join " + p.spec.NodeID + why})
		return
	}
	update := d.gate(j, d.Nodes[head].ID, end)
	said, e := d.judge(p, update)
	update.Passable = said == gatePassable
	d.emit(update)
	switch said {
	case gatePassable:
		d.pass(j)
	case gateImpossible:
		d.fail(j, e)
	}
}

// affords counts the update of a gate, which names all branches, against the budget of the
// decision: thousands of branches that end at once, since their nodes were cancelled before,
// would be gigabytes.
func (d *draft) affords(j int) bool {
	for _, name := range d.Nodes[d.plan.nodes[j].peer].Branches {
		d.gates += len(name) + len(`"",`)
	}
	return d.gates <= MaxGates
}

// pass lets the execution through a Join. What is still at work in the fork can
// no longer matter and is cancelled.
func (d *draft) pass(j int) {
	p := &d.plan.nodes[j]
	to, e := d.wayOn(j, nil)
	switch {
	case len(d.need) > 0:
	case e != nil:
		d.fail(j, e)
	default:
		d.closeFork(p.peer, "join "+p.spec.NodeID+" was passed")
		d.emit(&JoinPassed{NodeID: p.spec.NodeID})
		d.emit(&NodeSucceeded{NodeID: p.spec.NodeID})
		d.follow(j, to)
	}
}

// closeFork cancels, in the order of the nodes, what is at work in the branches of a fork. It
// looks at nothing else: one decision may close thousands of forks beside thousands of nodes.
func (d *draft) closeFork(fork int, reason string) {
	d.closed.add(fork)
	var live []int
	for _, i := range d.plan.nodes[fork].inside {
		if d.Nodes[i].Live() {
			live = append(live, i)
		}
	}
	slices.Sort(live)
	for _, i := range live {
		d.emit(&NodeCancelRequested{NodeID: d.Nodes[i].ID, Reason: reason})
		d.interrupt(i, reason)
	}
}

// atWork reports whether a fork is open. One that is has something live in it; what
// an outer Join has closed has nothing, and its own Join leads nowhere any more.
func (d *draft) atWork(fork int) bool {
	return slices.ContainsFunc(d.plan.nodes[fork].inside, func(i int) bool { return d.Nodes[i].Live() })
}

// gate is the update of a Join's gate: one more branch has ended.
func (d *draft) gate(j int, branch string, end branchEnd) *JoinGateUpdated {
	p := &d.plan.nodes[j]
	u := &JoinGateUpdated{NodeID: p.spec.NodeID, Policy: p.spec.Policy, Expected: d.Nodes[p.peer].Branches}
	if g := d.Nodes[j].Gate; g != nil {
		u.Completed, u.Failed, u.Canceled = g.Completed, g.Failed, g.Canceled
	}
	list := &u.Completed
	switch end {
	case branchFailed:
		list = &u.Failed
	case branchCanceled:
		list = &u.Canceled
	}
	*list = insert(u.Expected, *list, branch)
	return u
}

// insert adds a name to a list that is in the order of all. The list itself stays
// as it is: an earlier event holds it.
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

// judge asks the policy of a Join. An error says why it can never pass.
func (d *draft) judge(p *planNode, u *JoinGateUpdated) (verdict, *Error) {
	done := len(u.Completed) + len(u.Failed) + len(u.Canceled)
	all := done == len(u.Expected)
	passable, impossible := false, all
	switch p.spec.Policy {
	case AnySuccess:
		passable = len(u.Completed) > 0
	case AllDone:
		passable = all
	case Custom:
		b := expr.Branches{Expected: u.Expected, Completed: u.Completed, Failed: u.Failed, Canceled: u.Canceled}
		ok, err := d.budget.Holds(p.gate, b)
		if err != nil {
			return gateImpossible, &Error{
				Code:    CodeExpression,
				Message: fmt.Sprintf("The expression of join %s failed: %v", p.spec.NodeID, err),
			}
		}
		passable = ok
	default: // ALL_SUCCESS
		passable = len(u.Completed) == len(u.Expected)
		impossible = len(u.Completed) < done
	}
	switch {
	case passable:
		return gatePassable, nil
	case impossible:
		return gateImpossible, notPassable(p, u)
	}
	return gateOpen, nil
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
