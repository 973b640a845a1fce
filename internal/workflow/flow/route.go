package flow

import (
	"slices"
	"strconv"
)

// The codes of errors that the core itself reports.
const (
	CodeTimeout     = "ERR_TIMEOUT"
	CodeExpression  = "ERR_EXPRESSION"
	CodeNoEdge      = "NO_EDGE"
	CodeNotPassable = "JOIN_NOT_PASSABLE"
	CodeCanceled    = "NODE_CANCELED"
	CodeFailed      = "FAILED"
)

// step is something that follows: a node is entered from another one, or a branch
// ends at its Join. Steps wait on a stack, not in calls, since a graph may be
// thousands of nodes deep.
type step struct {
	node int       // the node that is entered, or the Join
	from int       // the node before, or the first node of the branch
	end  branchEnd // how the branch ended; 0 when the node is entered
}

// branchEnd is how a branch of a fork ended.
type branchEnd uint8

const (
	_ branchEnd = iota
	branchCompleted
	branchFailed
	branchCanceled
)

// run follows the execution until it rests: everything is waiting for somebody,
// or it has ended, or data must be read first.
func (d *draft) run() {
	for len(d.todo) > 0 && len(d.need) == 0 && d.moves() {
		last := len(d.todo) - 1
		next := d.todo[last]
		d.todo = d.todo[:last]
		switch {
		case d.dead(next):
		case next.end != 0:
			d.arrive(next.node, next.from, next.end)
		default:
			d.enter(next.node, next.from)
		}
	}
}

// dead reports whether a step comes out of a fork that a Join of this decision
// has closed: a branch may end for all before the next one is entered.
func (d *draft) dead(s step) bool {
	if d.closed.empty() {
		return false
	}
	p := &d.plan.nodes[s.from]
	if s.end == 0 && p.spec.Type == ForkKind && d.closed.has(s.from) {
		return true
	}
	for f := p.frame; f != nil; f = f.parent {
		if d.closed.has(f.fork) {
			return true
		}
	}
	return false
}

// enter is what happens when the execution reaches a node.
func (d *draft) enter(i, from int) {
	n, p := d.Nodes[i], &d.plan.nodes[i]
	if n.Status == NodeIsCanceled {
		d.leaveCanceled(i, d.branch(i, from)) // somebody cancelled it before it was reached
		return
	}
	switch p.spec.Type {
	case TaskKind:
		d.emit(&NodeReady{NodeID: n.ID, Attempt: n.Attempt + 1})
	case WaitKind:
		d.emit(&NodeReady{NodeID: n.ID})
		d.emit(&NodeWaiting{NodeID: n.ID, WaitKey: p.spec.WaitKey, WaitUntil: d.after(p.spec.Timeout)})
	case ForkKind:
		d.fork(i)
	default:
		d.finish(i, from)
	}
}

// complete is a node that did its work: it has succeeded if there is a way on.
func (d *draft) complete(i int, output Data) {
	to, e := d.wayOn(i, output)
	switch {
	case len(d.need) > 0:
	case e != nil:
		d.fail(i, e)
	default:
		d.emit(&NodeSucceeded{NodeID: d.Nodes[i].ID, Output: output})
		d.follow(i, to)
	}
}

// fork opens every branch whose condition holds.
func (d *draft) fork(i int) {
	p := &d.plan.nodes[i]
	scope := scope{draft: d, node: i}
	var heads []int
	var e *Error
	for k := range p.success {
		holds, bad := scope.holds(&p.success[k])
		if bad != nil {
			e = bad
			break
		}
		if holds {
			heads = append(heads, p.success[k].to)
		}
	}
	if e == nil && len(heads) == 0 {
		e = noEdge(p.spec.NodeID)
	}
	if len(d.need) > 0 {
		return
	}
	if e != nil {
		d.fail(i, e)
		return
	}
	branches := make([]string, len(heads))
	for k, head := range heads {
		branches[k] = d.Nodes[head].ID
	}
	d.events = slices.Grow(d.events, 2+len(heads))
	d.emit(&NodeSucceeded{NodeID: p.spec.NodeID})
	d.emit(&ForkOpened{NodeID: p.spec.NodeID, BranchIDs: branches})
	for k := len(heads) - 1; k >= 0; k-- {
		d.todo = append(d.todo, step{node: heads[k], from: i})
	}
}

// fail is a node that failed for good: on over its failure edge, or to its Join
// as a failed branch, or the execution fails.
func (d *draft) fail(i int, e *Error) {
	n := d.Nodes[i]
	to, bad := d.wayOut(i, e)
	if len(d.need) > 0 {
		return
	}
	d.emit(&NodeFailReported{NodeID: n.ID, Error: e, Attempt: n.Attempt})
	if bad != nil {
		e = bad
	}
	d.emit(&NodeFailed{NodeID: n.ID, Error: e})
	d.leave(i, d.plan.nodes[i].frame, to, e, branchFailed)
}

// branch is the branch in which a node is reached from another. It is the node's
// own, except that Failed and Canceled may be reached from several branches.
func (d *draft) branch(i, from int) *frame {
	p, last := &d.plan.nodes[i], &d.plan.nodes[from]
	switch {
	case p.frame != nil || !p.spec.Type.Terminal():
		return p.frame
	case last.spec.Type == ForkKind:
		return &frame{fork: from, head: i, parent: last.frame}
	}
	return last.frame
}

// leaveCanceled is the way on from a cancelled node that the execution stood on
// or has reached, in a branch or in none. In a fork it is a cancelled branch,
// elsewhere a failure.
func (d *draft) leaveCanceled(i int, in *frame) {
	e := canceledError(d.Nodes[i])
	to := -1
	if in == nil {
		way, bad := d.wayOut(i, e)
		if len(d.need) > 0 {
			return
		}
		if to = way; bad != nil {
			e.Message += " " + bad.Message // the node did not fail, so the code stays
		}
	}
	d.leave(i, in, to, e, branchCanceled)
}

// leave goes on from a node that did not succeed. to is its failure edge's end, or -1.
func (d *draft) leave(i int, in *frame, to int, e *Error, end branchEnd) {
	p := &d.plan.nodes[i]
	if to < 0 && in == nil {
		d.failExecution(i, e)
		return
	}
	if p.spec.Type == JoinKind {
		d.closeFork(p.peer, "join "+p.spec.NodeID+" was not passed")
	}
	if to >= 0 {
		d.follow(i, to)
		return
	}
	d.todo = append(d.todo, step{node: d.plan.nodes[in.fork].peer, from: in.head, end: end})
}

// follow goes along an edge. An edge to a Join ends the branch, and well: a
// failure that has an edge was dealt with.
func (d *draft) follow(i, to int) {
	next := &d.plan.nodes[to]
	if next.spec.Type != JoinKind {
		d.todo = append(d.todo, step{node: to, from: i})
		return
	}
	d.todo = append(d.todo, step{node: to, from: d.plan.nodes[i].frame.head, end: branchCompleted})
}

// wayOn is the first success edge whose condition holds; without one the node fails.
func (d *draft) wayOn(i int, output Data) (int, *Error) {
	to, e := d.pick(d.plan.nodes[i].success, scope{draft: d, node: i, output: output})
	if e == nil && to < 0 {
		e = noEdge(d.plan.nodes[i].spec.NodeID)
	}
	return to, e
}

// wayOut is the first failure edge whose condition holds, or -1.
func (d *draft) wayOut(i int, e *Error) (int, *Error) {
	if e == nil {
		e = new(Error) // a failure that says nothing is a failure still
	}
	return d.pick(d.plan.nodes[i].failure, scope{draft: d, node: i, err: e})
}

func (d *draft) pick(edges []planEdge, in scope) (int, *Error) {
	for k := range edges {
		holds, e := in.holds(&edges[k])
		if e != nil {
			return -1, e
		}
		if holds {
			return edges[k].to, nil
		}
	}
	return -1, nil
}

func noEdge(id string) *Error {
	return &Error{Code: CodeNoEdge, Message: "No edge leads on from node " + id + ": no condition holds."}
}

func canceledError(n *Node) *Error {
	e := &Error{Code: CodeCanceled, Message: "Node " + n.ID + " was canceled."}
	if n.Reason != "" {
		e.Message = "Node " + n.ID + " was canceled: " + strconv.Quote(n.Reason) + "."
	}
	return e
}
