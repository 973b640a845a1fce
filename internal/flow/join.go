package flow

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/expr"
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
	update := d.gate(j, d.Nodes[head].ID, end)
	said, e := judge(p, update)
	update.Passable = said == gatePassable
	d.emit(update)
	switch said {
	case gatePassable:
		d.pass(j)
	case gateImpossible:
		d.fail(j, e)
	}
}

// hopeless fails a CUSTOM Join whose fork has just opened when no end of its branches
// could let it pass. They are not entered then. Every other policy has an end that does,
// and a Join that was cancelled before is left to the first branch that comes to it.
func (d *draft) hopeless(j int) bool {
	p := &d.plan.nodes[j]
	if p.spec.Policy != Custom || d.Nodes[j].Status == NodeIsCanceled {
		return false
	}
	update := &JoinGateUpdated{NodeID: p.spec.NodeID, Policy: Custom, Expected: d.Nodes[p.peer].Branches}
	if p.gate.MayHold(expr.Branches{Expected: update.Expected}) {
		return false
	}
	d.emit(update)
	d.fail(j, notPassable(p, update))
	return true
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

// closeFork cancels, node by node, what is at work in the branches of a fork.
func (d *draft) closeFork(fork int, reason string) {
	d.closed.add(fork)
	for i, n := range d.Nodes {
		if n.Live() && d.plan.nodes[i].frame.within(fork) {
			d.emit(&NodeCancelRequested{NodeID: n.ID, Reason: reason})
			d.interrupt(i, reason)
		}
	}
}

// atWork reports whether a fork is open. One that is has something live in it; what
// an outer Join has closed has nothing, and its own Join leads nowhere any more.
func (d *draft) atWork(fork int) bool {
	for i, n := range d.Nodes {
		if n.Live() && d.plan.nodes[i].frame.within(fork) {
			return true
		}
	}
	return false
}

// within reports whether a branch is one of a fork, or lies inside one.
func (f *frame) within(fork int) bool {
	for ; f != nil; f = f.parent {
		if f.fork == fork {
			return true
		}
	}
	return false
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
func judge(p *planNode, u *JoinGateUpdated) (verdict, *Error) {
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
		ok, err := p.gate.Holds(b)
		if err != nil {
			return gateImpossible, &Error{
				Code:    CodeExpression,
				Message: fmt.Sprintf("The expression of join %s failed: %v", p.spec.NodeID, err),
			}
		}
		passable, impossible = ok, all || !ok && !p.gate.MayHold(b)
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
