package expr

// Branches is what the expression of a CUSTOM join looks at: all branches of its
// fork, and those of them that have ended, in the same order.
type Branches struct{ Expected, Completed, Failed, Canceled []string }

// Holds evaluates the expression of a CUSTOM join.
func (p *Program) Holds(b Branches) (bool, error) {
	ok, _, err := p.eval(b.vars())
	return ok, err
}

func (b Branches) vars() map[string]any {
	return map[string]any{
		"expected": some(b.Expected), "completed": some(b.Completed), "failed": some(b.Failed), "canceled": some(b.Canceled),
	}
}

// some makes no list an empty one: an expression asks for its size.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// MayHold reports whether the expression can still come true: whether it holds in
// some state that comes after this one, in which each branch that is open now is open
// still or ended in one of three ways, and at least one has ended. False is proven;
// true is also the answer when MaxForesight steps are not enough to find out.
//
// It does not try the states one by one, there are four to the power of the open
// branches. Nearly every expression looks at the branches only by counting some of
// them and by asking for a few by name. Such an expression is lifted (lift.go) into a
// formula over counts, in which branches that it cannot tell apart are one class, and
// the formula is searched by halving ranges of counts (search.go). What cannot be
// lifted is unknown, which neither proves nor disproves; where that leaves the answer
// open, the states are tried after all, if they are few enough (try.go).
func (p *Program) MayHold(b Branches) bool {
	f, ok := newForesight(p, b)
	return !ok || f.search() != no
}

// end is how a branch stands.
type end uint8

const (
	stillOpen end = iota
	endCompleted
	endFailed
	endCanceled

	ends = 4 // how many there are
)

// endSet is a set of ends.
type endSet uint8

const anyEnd endSet = 1<<ends - 1

func only(e end) endSet             { return 1 << e }
func (s endSet) has(e end) bool     { return s&(1<<e) != 0 }
func (s endSet) complement() endSet { return anyEnd &^ s }

// How many branches a step of a look ahead goes through, how many it puts into classes,
// and how many classes it adds up.
const (
	branchesPerStep = 16
	dividedPerStep  = 2
	weightsPerStep  = 4
)

// foresight is one look ahead.
type foresight struct {
	program  *Program
	expected []string
	ends     []end     // of each branch
	stand    [ends]int // how many branches stand so
	steps    int       // that are left
	tried    int       // states in which the expression was evaluated
}

// newForesight finds out how each branch stands. It is not ok when the lists are not
// what they should be.
func newForesight(p *Program, b Branches) (*foresight, bool) {
	f := &foresight{program: p, expected: b.Expected, ends: make([]end, len(b.Expected)), steps: MaxForesight}
	lists := [ends][]string{endCompleted: b.Completed, endFailed: b.Failed, endCanceled: b.Canceled}
	ended := len(b.Completed) + len(b.Failed) + len(b.Canceled)
	for i, name := range b.Expected {
		for e := endCompleted; e < ends; e++ {
			if len(lists[e]) > 0 && lists[e][0] == name {
				lists[e] = lists[e][1:]
				f.ends[i] = e
				ended--
				break
			}
		}
		f.stand[f.ends[i]]++
	}
	return f, ended == 0
}

// charge takes steps and reports whether there were enough.
func (f *foresight) charge(steps int) bool {
	f.steps -= steps
	return f.steps >= 0
}

// branches are the lists of a state.
func (f *foresight) branches(state []end) Branches {
	var lists [ends][]string
	for i, e := range state {
		lists[e] = append(lists[e], f.expected[i])
	}
	return Branches{f.expected, lists[endCompleted], lists[endFailed], lists[endCanceled]}
}
