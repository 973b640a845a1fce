package expr

// box is a set of states: all those in which of every class as many branches come to
// each end as it says.
type box []class

// class is branches that are open and make the same difference.
type class struct {
	size      int
	member    int // one of its branches
	low, high [ends]int
}

// tighten draws the bounds of each end as close as those of the others allow. It
// reports whether any state is left.
func (c *class) tighten() bool {
	low, high := 0, 0
	for e := range ends {
		low += c.low[e]
	}
	for e := range ends {
		c.high[e] = min(c.high[e], c.size-(low-c.low[e]))
		high += c.high[e]
	}
	for e := range ends {
		c.low[e] = max(c.low[e], c.size-(high-c.high[e]))
		if c.low[e] > c.high[e] {
			return false
		}
	}
	return true
}

// within reports whether the branches of a class come to ends of a set.
func (c *class) within(set endSet) truth {
	in, out := false, false
	for e, n := range c.high {
		if n > 0 {
			in, out = in || set.has(end(e)), out || !set.has(end(e))
		}
	}
	switch {
	case !out:
		return yes
	case !in:
		return no
	}
	return unsure
}

// sums are the least and the greatest sum that the branches of a class can have, when
// each adds something by its end.
func (c *class) sums(by *[ends]float64) (least, greatest float64) {
	free := c.size
	for e, n := range c.low {
		least += float64(n) * by[e]
		free -= n
	}
	greatest = least
	var order [ends]int // the ends, by what they add
	for e := range ends {
		i := e
		for ; i > 0 && by[order[i-1]] > by[e]; i-- {
			order[i] = order[i-1]
		}
		order[i] = e
	}
	for i, left := 0, free; left > 0 && i < ends; i++ {
		n := min(left, c.high[order[i]]-c.low[order[i]])
		least += float64(n) * by[order[i]]
		left -= n
	}
	for i, left := ends-1, free; left > 0 && i >= 0; i-- {
		n := min(left, c.high[order[i]]-c.low[order[i]])
		greatest += float64(n) * by[order[i]]
		left -= n
	}
	return least, greatest
}

// classify puts the open branches into classes, and the numbers of the formula in
// terms of them. A branch that is asked for by name is a class of its own.
func (s *searcher) classify(root *formula) {
	s.class = make([]int, len(s.ends)) // 0: those without a name
	var groups []*group
	known := make(map[*group]bool)
	root.visit(func(branch int) { s.class[branch] = 1 + branch }, func(n *number) {
		for _, t := range n.terms {
			if t.group.sets != nil && !known[t.group] {
				known[t.group] = true
				groups = append(groups, t.group)
			}
		}
	})
	if !s.charge(len(s.ends)/branchesPerStep + len(s.ends)*len(groups)/dividedPerStep) {
		return
	}
	for _, g := range groups {
		s.divide(g)
	}
	s.fill()
	root.visit(func(int) {}, s.weigh)
}

// divide takes classes apart whose branches differ in a group.
func (s *searcher) divide(g *group) {
	type part struct {
		class int
		set   endSet
	}
	parts := make(map[part]int)
	for i, class := range s.class {
		p := part{class, g.sets[i]}
		if _, known := parts[p]; !known {
			parts[p] = len(parts)
		}
		s.class[i] = parts[p]
	}
}

// fill makes the box of all states, and counts the classes through.
func (s *searcher) fill() {
	places := make([]int, len(s.ends)+1) // of the classes, from 1
	for i, e := range s.ends {
		if e != stillOpen {
			continue
		}
		place := &places[s.class[i]]
		if *place == 0 {
			s.box = append(s.box, class{member: i})
			*place = len(s.box)
		}
		s.class[i] = *place - 1
		s.box[*place-1].size++
	}
	for i := range s.box {
		c := &s.box[i]
		c.high = [ends]int{c.size, c.size, c.size, c.size}
	}
}

// weigh finds out what the branches of each class add to a number.
func (s *searcher) weigh(n *number) {
	if n.weighed || s.steps < 0 {
		return
	}
	n.weighed = true
	s.charge(len(s.box) * len(n.terms))
	for i := range s.box {
		c := &s.box[i]
		w := weight{class: i}
		for _, t := range n.terms {
			for e := range ends {
				if t.group.of(c.member).has(end(e)) {
					w.by[e] += t.factor
				}
			}
		}
		open := w.by[stillOpen]
		for e := range ends {
			w.by[e] -= open
		}
		n.value += float64(c.size) * open
		if w.by != [ends]float64{} {
			n.weights = append(n.weights, w)
		}
	}
}
