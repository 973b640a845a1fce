package expr

// truth is what is known of a condition in many states at once: the set of what it can
// be in one of them.
type truth uint8

const (
	no    truth = 1 << iota // false in all of them
	yes                     // true in all of them
	fails                   // an error in all of them

	unsure = no | yes         // true or false
	maybe  = no | yes | fails // nothing is known
)

// may reports whether a condition can be so.
func (t truth) may(be truth) bool { return t&be != 0 }

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// not is the operator !, which leaves an error an error.
func (t truth) not() truth { return t&fails | t&no<<1 | t&yes>>1 }

// and is the operator &&: false where either is, whatever the other is.
func (t truth) and(other truth) truth {
	known := t&other&yes | (t|other)&no
	if t.may(fails) && other.may(yes|fails) || other.may(fails) && t.may(yes|fails) {
		known |= fails
	}
	return known
}

// or is the operator ||.
func (t truth) or(other truth) truth { return t.not().and(other.not()).not() }

// formula is a condition on how the branches end. It is what the expression is, also an
// error where that is one, except that evaluating the expression may take too many steps.
type formula struct {
	op     connective
	known  truth     // of fixed
	branch int       // of standing
	set    endSet    // of standing
	test   *test     // of tested
	kids   []formula // of the others
}

type connective uint8

const (
	fixed    connective = iota // known is all there is to say
	standing                   // the end of branch, which is open now, is one of set
	tested                     // two numbers compare
	both                       // all kids
	either                     // one of the kids
	inverse                    // not the kid
	choice                     // the second kid if the first, else the third
)

func constant(t truth) formula { return formula{known: t} }

// is reports whether a formula is known to be so, in all states.
func (f *formula) is(t truth) bool { return f.op == fixed && f.known == t }

// visit calls functions with the branches and the linear numbers of a formula.
func (f *formula) visit(branch func(int), linear func(*number)) {
	switch f.op {
	case standing:
		branch(f.branch)
	case tested:
		f.test.a.visit(linear)
		f.test.b.visit(linear)
	}
	for i := range f.kids {
		f.kids[i].visit(branch, linear)
	}
}

// not keeps errors errors: what is unknown stays unknown.
func not(f formula) formula {
	switch f.op {
	case fixed:
		return constant(f.known.not())
	case standing:
		f.set = f.set.complement()
		return f
	case inverse:
		return f.kids[0]
	}
	return formula{op: inverse, kids: []formula{f}}
}

func and(kids ...formula) formula { return join(both, no, kids) }
func or(kids ...formula) formula  { return join(either, yes, kids) }

// join connects formulas, whose list it takes over. One that decides alone is the
// result, as it is for CEL, whatever errors the others are.
func join(op connective, decides truth, kids []formula) formula {
	rest := kids[:0]
	for _, kid := range kids {
		switch {
		case kid.is(decides):
			return kid
		case kid.is(decides.not()):
		case kid.op == standing && len(rest) > 0 && rest[len(rest)-1].op == standing && rest[len(rest)-1].branch == kid.branch:
			last := &rest[len(rest)-1]
			if *last = last.merge(op, kid.set); last.is(decides) {
				return *last
			}
			if last.op == fixed { // it says nothing
				rest = rest[:len(rest)-1]
			}
		default:
			rest = append(rest, kid)
		}
	}
	switch len(rest) {
	case 0:
		return constant(decides.not())
	case 1:
		return rest[0]
	}
	return formula{op: op, kids: rest}
}

// merge connects two formulas about one branch.
func (f formula) merge(op connective, set endSet) formula {
	if op == both {
		return stands(f.branch, f.set&set)
	}
	return stands(f.branch, f.set|set)
}

// stands says of an open branch that its end is one of a set.
func stands(branch int, set endSet) formula {
	switch set {
	case 0:
		return constant(no)
	case anyEnd:
		return constant(yes)
	}
	return formula{op: standing, branch: branch, set: set}
}

// choose is the operator ?:. Where the condition is an error so is the result.
func choose(cond, then, otherwise formula) formula {
	switch {
	case cond.is(yes):
		return then
	case cond.is(no):
		return otherwise
	}
	return formula{op: choice, kids: []formula{cond, then, otherwise}}
}

// test compares two numbers.
type test struct {
	relation relation
	a, b     *number
	steps    int // that comparing takes, once the numbers are weighed
}

type relation uint8

const (
	less relation = iota
	atMost
	equal
)

// compare is a formula that compares two numbers. Whole ones that are sums of counts
// are subtracted first: a branch that counts on both sides then counts once.
func compare(r relation, a, b *number) formula {
	if a.linear() && b.linear() && !a.fraction && !b.fraction {
		if a = plus(a, b, -1); a == nil {
			return constant(maybe)
		}
		b = whole(0)
	}
	t := &test{relation: r, a: a, b: b}
	if a.fixed() && b.fixed() {
		return constant(t.holds(nil))
	}
	return formula{op: tested, test: t}
}

// price is how many steps it takes to compare.
func (t *test) price() int {
	if t.steps == 0 {
		t.steps = 1
		for _, n := range []*number{t.a, t.b} {
			n.visit(func(n *number) { t.steps += len(n.weights) / weightsPerStep })
		}
	}
	return t.steps
}

// holds compares in all states of a box. Numbers that have a span are no errors.
func (t *test) holds(in box) truth {
	a, ok := t.a.span(in)
	if !ok {
		return maybe
	}
	b, ok := t.b.span(in)
	if !ok {
		return maybe
	}
	switch {
	case t.relation == less && a.high < b.low, t.relation == atMost && a.high <= b.low:
		return yes
	case t.relation == less && a.low >= b.high, t.relation == atMost && a.low > b.high:
		return no
	case t.relation == equal && a.low == b.high && a.high == b.low:
		return yes
	case t.relation == equal && (a.high < b.low || a.low > b.high):
		return no
	}
	return unsure
}
