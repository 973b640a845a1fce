package expr

import (
	"slices"

	"cel.dev/cel-go/common/ast"
)

// group is a list whose elements depend on how the branches end: the name of a branch
// is in it when its end is one of a set. No element is in it twice.
type group struct {
	all     endSet   // the set of every branch, when sets is nil
	sets    []endSet // the set of each branch
	others  []string // elements that name no branch; they are always there
	ordered bool     // it has the order of the branches, and no others
	askew   bool     // it surely has two branches in another order
}

// of is the set of a branch.
func (g *group) of(branch int) endSet {
	if g.sets == nil {
		return g.all
	}
	return g.sets[branch]
}

// newGroup is an empty one, nil when there are no steps left for it.
func (l *lifter) newGroup() *group {
	if !l.charge(1 + len(l.expected)/branchesPerStep) {
		return nil
	}
	return &group{sets: make([]endSet, len(l.expected)), ordered: true}
}

// list is a list that is written out. It is lifted if it is names, each only once.
func (l *lifter) list(elements []ast.Expr) value {
	g := l.newGroup()
	if g == nil {
		return value{}
	}
	last := -1
	for _, element := range elements {
		v := l.value(element)
		switch {
		case v.kind != isText:
			return value{}
		case v.branch < 0 && !slices.Contains(g.others, v.text):
			g.others = append(g.others, v.text)
			g.ordered = false
		case v.branch >= 0 && g.sets[v.branch] == 0:
			g.sets[v.branch] = anyEnd
			g.askew = g.askew || v.branch < last
			g.ordered = g.ordered && !g.askew
			last = v.branch
		default:
			return value{}
		}
	}
	return groupValue(g)
}

// possible are the ends that a branch can still come to.
func (l *lifter) possible(branch int) endSet {
	if e := l.ends[branch]; e != stillOpen {
		return only(e)
	}
	return anyEnd
}

// stands says of a branch that its end is one of a set.
func (l *lifter) stands(branch int, set endSet) formula {
	if e := l.ends[branch]; e != stillOpen {
		return constant(truthOf(set.has(e)))
	}
	return stands(branch, set)
}

// contains is the operator in.
func (l *lifter) contains(g *group, elem value) formula {
	if elem.branch < 0 {
		return constant(truthOf(slices.Contains(g.others, elem.text)))
	}
	return l.stands(elem.branch, g.of(elem.branch))
}

// element is a list at an index.
func (l *lifter) element(g *group, at *number) value {
	i := int(at.value)
	switch {
	case at.fraction || !at.linear():
		return value{}
	case g == l.lists["expected"] && at.fixed() && i >= 0 && i < len(l.expected):
		return value{kind: isText, text: l.expected[i], branch: i}
	case g.ordered:
		return value{kind: isPick, pick: &pick{g, at}}
	}
	return value{}
}

// same is the operator == of two lists.
func (l *lifter) same(a, b *group) formula {
	if !a.ordered || !b.ordered {
		if (len(a.others) > 0) != (len(b.others) > 0) || a.askew && b.ordered || a.ordered && b.askew {
			return constant(no)
		}
		return constant(maybe)
	}
	differ := l.newGroup()
	if differ == nil {
		return constant(maybe)
	}
	for i := range differ.sets {
		differ.sets[i] = a.of(i) ^ b.of(i)
	}
	return compare(equal, l.count(differ), whole(0))
}

// concatenate is the operator + of two lists that have no element in common.
func (l *lifter) concatenate(a, b *group) value {
	g := l.newGroup()
	if g == nil || len(a.others) > 0 && len(b.others) > 0 {
		return value{}
	}
	for i := range g.sets {
		if a.of(i)&b.of(i)&l.possible(i) != 0 {
			return value{}
		}
		g.sets[i] = a.of(i) | b.of(i)
	}
	g.others, g.ordered = slices.Concat(a.others, b.others), false
	return groupValue(g)
}

// count is the size of a list. Branches that have ended are counted here, open ones
// by the term, if their end makes a difference.
func (l *lifter) count(g *group) *number {
	n := &number{value: float64(len(g.others))}
	sure, differs := 0, false
	if g.sets == nil {
		for e := endCompleted; e < ends; e++ {
			if g.all.has(e) {
				n.value += float64(l.stand[e])
			}
		}
		if g.all == anyEnd {
			sure = l.stand[stillOpen]
		}
		differs = g.all != anyEnd && l.stand[stillOpen] > 0
	}
	for i, set := range g.sets {
		switch e := l.ends[i]; {
		case e == stillOpen && set == anyEnd:
			sure++
		case e == stillOpen:
			differs = differs || set != 0
		case set.has(e):
			n.value++
		}
	}
	if differs {
		n.terms = []term{{g, 1}}
	} else {
		n.value += float64(sure)
	}
	return n
}
