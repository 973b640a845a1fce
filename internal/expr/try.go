package expr

import "math"

// What trying states takes: the steps for one, beside those of the evaluation, and how
// many branches may be free in a class before nobody counts its states.
const (
	trySteps = 32
	maxFree  = 10
)

// try evaluates the expression in all states of the box, if there are steps for it.
func (s *searcher) try() truth {
	states := 1.0
	for i := range s.box {
		states *= s.box[i].states()
	}
	if !s.charge(int(min(states, MaxForesight)) * trySteps) {
		return maybe
	}
	t := &trial{searcher: s, left: append(box(nil), s.box...), state: append([]end(nil), s.ends...)}
	for i, e := range s.ends {
		if e == stillOpen {
			t.open = append(t.open, i)
		}
	}
	return t.from(0)
}

// states is how many states of its branches a class allows, or infinity.
func (c *class) states() float64 {
	free := c.size
	for _, n := range c.low {
		free -= n
	}
	if free > maxFree {
		return math.Inf(1)
	}
	sum := 0.0
	for a := c.low[1]; a <= c.high[1]; a++ {
		for b := c.low[2]; b <= c.high[2]; b++ {
			for d := c.low[3]; d <= c.high[3]; d++ {
				if open := c.size - a - b - d; open >= c.low[0] && open <= c.high[0] {
					sum += choices(c.size, a) * choices(c.size-a, b) * choices(c.size-a-b, d)
				}
			}
		}
	}
	return sum
}

// choices is in how many ways k of n can be chosen.
func choices(n, k int) float64 {
	ways := 1.0
	for i := range min(k, n-k) {
		ways = ways * float64(n-i) / float64(i+1)
	}
	return ways
}

// trial goes through the states of a box, one branch after the other.
type trial struct {
	*searcher
	open  []int // the branches that are open now
	left  box   // what the branches that have no end yet may come to
	state []end
}

// from tries every end of the kth open branch and those after it.
func (t *trial) from(k int) truth {
	if k == len(t.open) {
		return t.holds()
	}
	branch := t.open[k]
	c := &t.left[t.class[branch]]
	before := *c
	defer func() { *c = before; t.state[branch] = stillOpen }()
	for _, e := range []end{endCompleted, endFailed, endCanceled, stillOpen} {
		if before.high[e] == 0 {
			continue
		}
		*c = before
		c.size--
		c.high[e]--
		c.low[e] = max(0, c.low[e]-1)
		if !c.tighten() {
			continue
		}
		t.state[branch] = e
		if known := t.from(k + 1); known != no {
			return known
		}
	}
	return no
}

// holds evaluates the expression in one state.
func (t *trial) holds() truth {
	t.tried++
	ok, steps, err := t.program.eval(t.branches(t.state).vars())
	switch {
	case ok && err == nil:
		return yes
	case !t.charge(int(steps)):
		return maybe
	}
	return no
}
