package flow

import (
	"slices"
	"strings"
)

// checkReach sorts the nodes topologically and refuses cycles and nodes that nothing leads to.
func (c *compiler) checkReach() error {
	waiting := make([]int, len(c.nodes))
	c.order = make([]int, 0, len(c.nodes))
	for i := range c.nodes {
		waiting[i] = len(c.nodes[i].preds)
		if waiting[i] == 0 {
			c.order = append(c.order, i)
		}
	}
	next := make([][]int, len(c.nodes))
	for i := range c.nodes {
		for _, from := range c.nodes[i].preds {
			next[from] = append(next[from], i)
		}
	}
	for done := 0; done < len(c.order); done++ {
		for _, to := range next[c.order[done]] {
			if waiting[to]--; waiting[to] == 0 {
				c.order = append(c.order, to)
			}
		}
	}
	if len(c.order) < len(c.nodes) {
		return c.cycle(waiting)
	}
	return c.checkReached()
}

// cycle names one among the nodes that still wait for a predecessor.
func (c *compiler) cycle(waiting []int) error {
	at := 0
	for waiting[at] == 0 {
		at++
	}
	place := make(map[int]int) // node: when the walk backwards came by
	var walk []int
	for {
		if since, been := place[at]; been {
			walk = walk[since:]
			break
		}
		place[at] = len(walk)
		walk = append(walk, at)
		for _, from := range c.nodes[at].preds {
			if waiting[from] > 0 {
				at = from
				break
			}
		}
	}
	var path strings.Builder
	path.WriteString(c.name(at))
	const shown = 8
	for k := len(walk) - 1; k >= 0; k-- {
		if len(walk)-k > shown && k > 0 {
			path.WriteString(" → …")
			k = 0
		}
		path.WriteString(" → " + c.name(walk[k]))
	}
	return refuse("node", c.name(at), "is part of a cycle: %s", path.String())
}

func (c *compiler) checkReached() error {
	reached := make([]bool, len(c.nodes))
	reached[c.start] = true
	for _, i := range c.order {
		for _, from := range c.nodes[i].preds {
			reached[i] = reached[i] || reached[from]
		}
	}
	for i, ok := range reached {
		if !ok {
			return refuse("node", c.name(i), "cannot be reached from the Start node")
		}
	}
	return nil
}

// checkForks gives every node its frame and every Fork its Join. A node stands in one branch of one
// fork whichever way it is reached, so that it is known which Join waits for it. Only Failed and
// Canceled, which end everything, may be reached from anywhere.
func (c *compiler) checkForks() error {
	heads := make(map[[2]int]*frame) // fork and head: the branch
	for _, i := range c.order {
		var err error
		switch p := &c.nodes[i]; p.spec.Type {
		case StartKind:
		case JoinKind:
			err = c.closeFrame(i, heads)
		case FailedKind, CanceledKind:
			p.frame, _ = c.commonFrame(i, heads)
		default:
			err = c.keepFrame(i, heads)
		}
		if err != nil {
			return err
		}
		if err := c.openFrames(i, heads); err != nil {
			return err
		}
	}
	for i := range c.nodes {
		if p := &c.nodes[i]; p.spec.Type == ForkKind && p.peer < 0 {
			return refuse("fork", p.spec.NodeID, "has no Join")
		}
	}
	return nil
}

func (c *compiler) openFrames(i int, heads map[[2]int]*frame) error {
	p := &c.nodes[i]
	if p.spec.Type != ForkKind {
		return nil
	}
	depth := 1
	if p.frame != nil {
		depth += p.frame.depth
	}
	if depth > MaxNesting {
		return refuse("fork", p.spec.NodeID, "stands in %d other forks; at most %d are allowed", depth-1,
			MaxNesting-1)
	}
	for _, e := range p.success {
		if c.nodes[e.to].spec.Type == JoinKind {
			return refuse("fork", p.spec.NodeID, "leads straight to join %q; a branch needs a node of its own",
				c.name(e.to))
		}
		heads[[2]int{i, e.to}] = &frame{fork: i, head: e.to, parent: p.frame, depth: depth}
	}
	return nil
}

// frameFrom is the branch in which a node stands when it is reached from another.
func (c *compiler) frameFrom(from, to int, heads map[[2]int]*frame) *frame {
	if p := &c.nodes[from]; p.spec.Type != ForkKind {
		return p.frame
	}
	return heads[[2]int{from, to}]
}

// commonFrame is the one branch in which a node stands; false when there are several.
func (c *compiler) commonFrame(i int, heads map[[2]int]*frame) (*frame, bool) {
	preds := c.nodes[i].preds
	f := c.frameFrom(preds[0], i, heads)
	for _, from := range preds[1:] {
		if c.frameFrom(from, i, heads) != f {
			return nil, false
		}
	}
	return f, true
}

// keepFrame puts a node into the branch that it is reached from.
func (c *compiler) keepFrame(i int, heads map[[2]int]*frame) error {
	p := &c.nodes[i]
	f, one := c.commonFrame(i, heads)
	if !one {
		return c.mixedFrames(i, heads)
	}
	if p.spec.Type == SuccessKind && f != nil {
		return refuse("node", p.spec.NodeID, "is a Success node inside fork %q; the fork must be joined first",
			c.name(f.fork))
	}
	p.frame = f
	return nil
}

// closeFrame pairs a Join with the Fork whose branches end at it.
func (c *compiler) closeFrame(i int, heads map[[2]int]*frame) error {
	p := &c.nodes[i]
	first := c.frameFrom(p.preds[0], i, heads)
	for _, from := range p.preds {
		f := c.frameFrom(from, i, heads)
		if f == nil {
			return refuse("join", p.spec.NodeID, "is reached from %q, which stands in no fork",
				c.name(from))
		}
		if f.fork != first.fork {
			return c.mixedFrames(i, heads)
		}
	}
	fork := &c.nodes[first.fork]
	if fork.peer >= 0 {
		return refuse("fork", fork.spec.NodeID, "has two Joins, %q and %q", c.name(fork.peer),
			p.spec.NodeID)
	}
	fork.peer, p.peer, p.frame = i, first.fork, first.parent
	return nil
}

// fillForks lists for every Fork what stands inside it. The list of a fork is a part of that of the
// fork around it: they take as much memory as there are nodes, however deep forks are nested.
func (c *compiler) fillForks() {
	size := make([]int, len(c.nodes))
	for _, i := range slices.Backward(c.order) { // what is inside a fork comes before the fork
		if f := c.nodes[i].frame; f != nil {
			size[f.fork] += 1 + size[i]
		}
	}
	for _, i := range c.order {
		p := &c.nodes[i]
		if p.frame == nil {
			p.inside = make([]int, 0, size[i])
			continue
		}
		around := &c.nodes[p.frame.fork]
		around.inside = append(around.inside, i)
		from := len(around.inside)
		around.inside = around.inside[:from+size[i]] // what this fork will put there
		p.inside = around.inside[from:from:len(around.inside)]
	}
}

// findLost notes the nodes from where an execution can end in no Success any more.
func (c *compiler) findLost() {
	for _, i := range slices.Backward(c.order) {
		p := &c.nodes[i]
		saved := func(e planEdge) bool { return !c.nodes[e.to].lost }
		p.lost = p.spec.Type != SuccessKind
		for _, on := range []Outcome{OnSuccess, OnFailure, OnTimeout} {
			p.lost = p.lost && !slices.ContainsFunc(*p.edges(on), saved)
		}
	}
}

// mixedFrames names two ways to a node that do not go together.
func (c *compiler) mixedFrames(i int, heads map[[2]int]*frame) error {
	kind, of, join := "node", "branches", c.nodes[i].spec.Type == JoinKind
	if join {
		kind, of = "join", "forks"
	}
	preds := c.nodes[i].preds
	first := c.frameFrom(preds[0], i, heads)
	other := preds[0]
	for _, from := range preds[1:] {
		if f := c.frameFrom(from, i, heads); f != first && (!join || f.fork != first.fork) {
			other = from
			break
		}
	}
	return refuse(kind, c.name(i), "is reached from different "+of+": from %q (%s) and from %q (%s)",
		c.name(preds[0]), c.describe(first), c.name(other), c.describe(c.frameFrom(other, i, heads)))
}

func (c *compiler) describe(f *frame) string {
	if f == nil {
		return "in no fork"
	}
	return "branch " + c.name(f.head) + " of fork " + c.name(f.fork)
}
