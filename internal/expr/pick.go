package expr

import (
	"slices"

	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
)

// fork is a value that is one or another, by a condition.
type fork struct {
	cond            formula
	then, otherwise value
}

// forked is the operator ?: on values of any kind.
func forked(cond formula, then, otherwise value) value {
	switch {
	case then.kind == unlifted || otherwise.kind == unlifted:
		return value{}
	case then.kind == isTruth && otherwise.kind == isTruth:
		return truthValue(choose(cond, then.truth, otherwise.truth))
	}
	return value{kind: isFork, fork: &fork{cond, then, otherwise}}
}

// both does something with either value.
func (l *lifter) both(f *fork, do func(value) value) value {
	if !l.charge(1) {
		return value{}
	}
	return forked(f.cond, do(f.then), do(f.otherwise))
}

// pick is the element of a list in the order of the branches, at a place that may
// depend on how they end: the first that completed, the last that failed.
type pick struct {
	group *group
	at    *number // linear and whole
}

// judges reports whether an operator or a function gives true or false.
func judges(name string) bool {
	return slices.Contains([]string{
		operators.Equals, operators.In, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		overloads.StartsWith, overloads.EndsWith, overloads.Contains,
	}, name)
}

// picked is a condition on an element that is picked: the condition on that branch
// which is at the place. It is an error where the place is outside of the list.
func (l *lifter) picked(p *pick, cond func(value) value) formula {
	inside := and(compare(atMost, whole(0), p.at), compare(less, p.at, l.count(p.group)))
	said := make(map[int]formula) // of candidates, unless no
	all := l.candidates(p)
	sure := 0 // of how many it is yes
	for _, i := range all {
		if !l.charge(1) {
			return constant(maybe)
		}
		f := constant(maybe)
		if v := cond(value{kind: isText, text: l.expected[i], branch: i}); v.kind == isTruth {
			f = v.truth
		}
		if f.is(yes) {
			sure++
		}
		if !f.is(no) {
			said[i] = f
		}
	}
	opposite := sure == len(said) && 2*sure > len(all) // the others are fewer
	var ways []formula
	for _, i := range all {
		if l.steps < 0 {
			return constant(maybe)
		}
		if f, ok := said[i]; opposite && !ok {
			ways = append(ways, l.at(p, i))
		} else if !opposite && ok {
			ways = append(ways, and(l.at(p, i), f))
		}
	}
	if opposite {
		return choose(inside, not(or(ways...)), constant(fails))
	}
	return choose(inside, or(ways...), constant(fails))
}

// candidates are the branches that can be at the place.
func (l *lifter) candidates(p *pick) (all []int) {
	l.charge(len(l.expected) / branchesPerStep)
	least, most := 0, 0 // how many of the list are before the branch
	for i := range l.expected {
		set, possible := p.group.of(i), l.possible(i)
		if set&possible == 0 {
			continue
		}
		if !p.at.fixed() || float64(least) <= p.at.value && p.at.value <= float64(most) {
			all = append(all, i)
		}
		if most++; set&possible == possible {
			least++
		}
	}
	return all
}

// at says that a branch is in the list, and at the place.
func (l *lifter) at(p *pick, branch int) formula {
	before := l.newGroup()
	if before == nil || !l.charge(2*branch/branchesPerStep) { // it is filled and counted
		return constant(maybe)
	}
	for i := range branch {
		before.sets[i] = p.group.of(i)
	}
	return and(l.stands(branch, p.group.of(branch)), compare(equal, l.count(before), p.at))
}
