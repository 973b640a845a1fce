package flow

import (
	"slices"
	"strconv"

	"renga.dev/renga/internal/workflow/expr"
)

// The codes of errors that the core itself reports.
const (
	CodeTimeout     = "ERR_TIMEOUT"
	CodeExpression  = "ERR_EXPRESSION"
	CodeNoEdge      = "NO_EDGE"
	CodeNotPassable = "JOIN_NOT_PASSABLE"
	CodeCanceled    = "NODE_CANCELED"
	CodeFailed      = "FAILED"

	CodeUnfit = "OUTPUT_INVALID" // of a resume whose output does not fit the schema of its Wait
)

// step is something that follows: a node is entered from another one, or a branch ends at its
// Join. Steps wait on a stack, not in calls: a graph may be thousands of nodes deep.
type step struct {
	node int       // the node that is entered, or the Join
	from int       // the node before, or the first node of the branch
	end  branchEnd // how the branch ended; 0 when the node is entered
	way  way
}

// way is how the path to a node went.
type way struct {
	on     Outcome // failure: its last edge is a failure edge
	failed string  // the node whose failure it leads on from, "" if there is none
}

// branchEnd is how a node, or a branch of a fork, ended.
type branchEnd uint8

const (
	_ branchEnd = iota
	branchCompleted
	branchFailed
	branchCanceled
)

// router leads an execution on from a node that ended, until it rests: everything is waiting for
// somebody, or it has ended, or data must be read first.
type router struct {
	d       *draft
	way            // to the node that is being entered or left
	todo    []step // what follows, last first
	closed  bitset // the forks whose Join ended in this decision
	need    Need   // data that must be read before this can be decided
	budget  expr.Budget
	gates   int           // bytes of the branches that updates of gates name
	decoded map[*byte]any // data that conditions have looked at, by its first byte
}

func (r *router) run(from ending) {
	at := from.node
	if p := &r.d.plan.nodes[at]; p.spec.Type == JoinKind {
		at = p.peer // what failed in the branches is for the Join to judge
	}
	r.way = way{failed: r.d.Nodes[at].FailedNode}
	switch from.how {
	case branchCompleted:
		r.complete(from.node, from.output)
	case branchFailed:
		r.fail(from.node, from.err)
	case branchCanceled:
		r.leaveCanceled(from.node, r.d.plan.nodes[from.node].frame)
	}
	for len(r.todo) > 0 && len(r.need) == 0 && r.d.moves() {
		last := len(r.todo) - 1
		next := r.todo[last]
		r.todo = r.todo[:last]
		r.way = next.way
		switch {
		case r.dead(next):
		case next.end != 0:
			r.arrive(next.node, next.from, next.end)
		default:
			r.enter(next.node, next.from)
		}
	}
}

// dead reports whether a step comes out of a fork that this decision has closed: a branch may end
// for all before the next one is entered.
func (r *router) dead(s step) bool {
	if r.closed.empty() {
		return false
	}
	p := &r.d.plan.nodes[s.from]
	if s.end == 0 && p.spec.Type == ForkKind && r.closed.has(s.from) {
		return true
	}
	for f := p.frame; f != nil; f = f.parent {
		if r.closed.has(f.fork) {
			return true
		}
	}
	return false
}

func (r *router) enter(i, from int) {
	n, p := r.d.Nodes[i], &r.d.plan.nodes[i]
	if n.Status == NodeIsCanceled {
		r.leaveCanceled(i, r.d.plan.branch(i, from)) // somebody cancelled it before it was reached
		return
	}
	switch p.spec.Type {
	case TaskKind:
		input, e := r.input(i)
		switch {
		case len(r.need) > 0:
		case e != nil:
			r.fail(i, e)
		default:
			r.d.emit(&NodeReady{
				NodeID: n.ID, Attempt: n.Attempt + 1, Input: input, On: r.on, FailedNodeID: r.failed,
			})
		}
	case WaitKind:
		prompt, e := r.prompt(i)
		var awaited *Awaited
		if e == nil && len(r.need) == 0 {
			awaited, e = r.awaited(i)
		}
		switch {
		case len(r.need) > 0:
		case e != nil:
			r.fail(i, e)
		default:
			r.d.emit(&NodeReady{NodeID: n.ID, On: r.on, FailedNodeID: r.failed})
			until := after(r.d.facts.Now, max(p.spec.Timeout, p.spec.For))
			r.d.emit(&NodeWaiting{
				NodeID: n.ID, WaitKey: p.spec.WaitKey, Prompt: prompt, Assignees: p.spec.Assignees,
				WaitUntil: until, RemindAt: p.spec.Remind.next(r.d.facts.Now, 0, until), Awaits: awaited,
			})
		}
	case ForkKind:
		r.fork(i)
	default:
		r.finish(i, from)
	}
}

// complete is a node that did its work: it succeeds if there is a way on.
func (r *router) complete(i int, output Data) {
	to, e := r.wayOn(i, output)
	switch {
	case len(r.need) > 0:
	case e != nil:
		r.fail(i, e)
	default:
		if p := &r.d.plan.nodes[i]; p.spec.Type == JoinKind {
			// What is still at work in the fork can no longer matter.
			r.closeFork(p.peer, "join "+p.spec.NodeID+" was passed")
			r.d.emit(&JoinPassed{NodeID: p.spec.NodeID})
		}
		r.d.emit(&NodeSucceeded{NodeID: r.d.Nodes[i].ID, Output: output})
		r.follow(i, to, way{failed: r.failed})
	}
}

// fork opens every branch whose condition holds.
func (r *router) fork(i int) {
	p := &r.d.plan.nodes[i]
	scope := scope{r: r, node: i}
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
	if len(r.need) > 0 {
		return
	}
	if e != nil {
		r.fail(i, e)
		return
	}
	branches := make([]string, len(heads))
	for k, head := range heads {
		branches[k] = r.d.Nodes[head].ID
	}
	r.d.events = slices.Grow(r.d.events, 2+len(heads))
	r.d.emit(&NodeSucceeded{NodeID: p.spec.NodeID})
	r.d.emit(&ForkOpened{NodeID: p.spec.NodeID, BranchIDs: branches, FailedNodeID: r.failed})
	for k := len(heads) - 1; k >= 0; k-- {
		r.todo = append(r.todo, step{node: heads[k], from: i, way: way{failed: r.failed}})
	}
}

// fail leads on from a node that failed for good: over its failure edge, or to its Join as a
// failed branch, or the execution fails.
func (r *router) fail(i int, e *Error) {
	n := r.d.Nodes[i]
	to, bad := r.wayOut(i, e)
	if len(r.need) > 0 {
		return
	}
	r.d.emit(&NodeFailReported{NodeID: n.ID, Error: e, Attempt: n.Attempt})
	if bad != nil {
		e = bad
	}
	r.d.emit(&NodeFailed{NodeID: n.ID, Error: e})
	r.leave(i, r.d.plan.nodes[i].frame, to, e, branchFailed)
}

// leaveCanceled leads on from a cancelled node: in a fork its branch is cancelled, elsewhere it is
// a failure.
func (r *router) leaveCanceled(i int, in *frame) {
	e := canceledError(r.d.Nodes[i])
	to := -1
	if in == nil {
		way, bad := r.wayOut(i, e)
		if len(r.need) > 0 {
			return
		}
		if to = way; bad != nil {
			e.Message += " " + bad.Message // the node did not fail, so the code stays
		}
	}
	r.leave(i, in, to, e, branchCanceled)
}

// leave leads on from a node that did not succeed; to is where its failure edge leads, or -1.
func (r *router) leave(i int, in *frame, to int, e *Error, end branchEnd) {
	p := &r.d.plan.nodes[i]
	if to < 0 && in == nil {
		r.failExecution(i, e)
		return
	}
	if p.spec.Type == JoinKind {
		r.closeFork(p.peer, "join "+p.spec.NodeID+" was not passed")
	}
	if to >= 0 {
		r.follow(i, to, way{on: OnFailure, failed: r.first(i)})
		return
	}
	r.todo = append(r.todo, step{node: r.d.plan.nodes[in.fork].peer, from: in.head, end: end})
}

// first is the failure that the path leads on from after that of node i: an earlier one where no Success could be
// reached any more, so that the execution was being undone.
func (r *router) first(i int) string {
	if p := &r.d.plan.nodes[i]; r.failed == "" || !p.lost {
		return p.spec.NodeID
	}
	return r.failed
}

// follow goes along an edge. One to a Join completes the branch: a failure that has an edge was
// dealt with.
func (r *router) follow(i, to int, by way) {
	next := &r.d.plan.nodes[to]
	if next.spec.Type != JoinKind {
		r.todo = append(r.todo, step{node: to, from: i, way: by})
		return
	}
	r.todo = append(r.todo, step{node: to, from: r.d.plan.nodes[i].frame.head, end: branchCompleted})
}

// wayOn is the first success edge whose condition holds; without one the node fails.
func (r *router) wayOn(i int, output Data) (int, *Error) {
	to, e := r.pick(r.d.plan.nodes[i].success, scope{r: r, node: i, output: output})
	if e == nil && to < 0 {
		e = noEdge(r.d.plan.nodes[i].spec.NodeID)
	}
	return to, e
}

// wayOut is the first failure edge whose condition holds, or -1. After a timeout the timeout edges are asked first.
func (r *router) wayOut(i int, e *Error) (int, *Error) {
	if e == nil {
		e = new(Error) // a failure that says nothing is a failure still
	}
	p, in := &r.d.plan.nodes[i], scope{r: r, node: i, err: e}
	if e.Code == CodeTimeout {
		if to, bad := r.pick(p.timeout, in); bad != nil || to >= 0 || len(r.need) > 0 {
			return to, bad
		}
	}
	return r.pick(p.failure, in)
}

func (r *router) pick(edges []planEdge, in scope) (int, *Error) {
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
