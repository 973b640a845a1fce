package expr

import "slices"

// search looks for a later state in which the formula is true: yes when there is one,
// no when there is none, maybe when it cannot tell.
func (f *foresight) search() truth {
	if f.stand[stillOpen] == 0 {
		return no // nothing comes after this
	}
	root := and(lift(f), f.later())
	s := &searcher{foresight: f}
	s.classify(&root)
	if s.steps < 0 {
		return maybe
	}
	if s.allComplete(&root) { // mostly the answer
		return yes
	}
	return s.solve(&root)
}

// later says that a branch has ended that is open now.
func (f *foresight) later() formula {
	ended := &number{terms: []term{{&group{all: only(stillOpen).complement()}, 1}}}
	return compare(atMost, whole(1), ended)
}

// searcher searches one formula.
type searcher struct {
	*foresight
	class []int // of each branch that is open
	box   box   // the states that are looked at
}

// allComplete reports whether the formula is true when all that is open completes.
func (s *searcher) allComplete(root *formula) bool {
	before := slices.Clone(s.box)
	defer copy(s.box, before)
	for i := range s.box {
		s.box[i].low[endCompleted] = s.box[i].size
		s.box[i].tighten()
	}
	known, _ := s.eval(root)
	return known == yes
}

// solve looks at a box, and where that does not tell, at its halves. Where the rest
// could not be lifted, the states are tried. It changes the box and puts it back.
func (s *searcher) solve(root *formula) truth {
	known, undecided := s.eval(root)
	switch {
	case s.steps < 0:
		return maybe
	case !known.may(yes):
		return no
	case known == yes:
		return yes
	case undecided == nil:
		return s.try()
	}
	place, halves := s.halve(undecided)
	before := s.box[place]
	defer func() { s.box[place] = before }()
	for _, half := range halves {
		if !half.tighten() {
			continue
		}
		s.box[place] = half
		if known := s.solve(root); known != no {
			return known
		}
	}
	return no
}

// eval is what is known of a formula in the box. It also names the first part that a
// smaller box could decide; there is none where all that is open could not be lifted.
func (s *searcher) eval(f *formula) (known truth, undecided *formula) {
	s.charge(1)
	switch f.op {
	case standing:
		known = s.box[s.class[f.branch]].within(f.set)
	case tested:
		s.charge(f.test.price())
		if known = f.test.holds(s.box); known != yes && known != no {
			if _, _, width := s.widest(f.test); width == 0 {
				return known, nil
			}
		}
	case inverse:
		known, undecided = s.eval(&f.kids[0])
		return known.not(), undecided
	case choice:
		return s.evalChoice(f)
	case both:
		return s.evalAll(f, no, truth.and)
	case either:
		return s.evalAll(f, yes, truth.or)
	default:
		return f.known, nil
	}
	if known.may(no) && known.may(yes) {
		undecided = f
	}
	return known, undecided
}

// evalAll is eval of both and either, which one of the kids may decide.
func (s *searcher) evalAll(f *formula, decides truth, connect func(a, b truth) truth) (known truth, undecided *formula) {
	known = decides.not()
	for i := range f.kids {
		kid, open := s.eval(&f.kids[i])
		if kid == decides {
			return kid, nil
		}
		known = connect(known, kid)
		if undecided == nil {
			undecided = open
		}
	}
	return known, undecided
}

func (s *searcher) evalChoice(f *formula) (known truth, undecided *formula) {
	cond, undecided := s.eval(&f.kids[0])
	known = cond & fails
	for i, taken := range []truth{yes, no} {
		if !cond.may(taken) {
			continue
		}
		kid, open := s.eval(&f.kids[1+i])
		known |= kid
		if undecided == nil {
			undecided = open
		}
	}
	return known, undecided
}

// halve divides a class so that the undecided part of the formula comes closer to
// being decided.
func (s *searcher) halve(undecided *formula) (place int, halves [2]class) {
	if undecided.op == standing {
		place = s.class[undecided.branch]
		halves = [2]class{s.box[place], s.box[place]}
		for e := range ends {
			if undecided.set.has(end(e)) {
				halves[1].high[e] = 0
			} else {
				halves[0].high[e] = 0
			}
		}
		return place, halves
	}
	place, e, _ := s.widest(undecided.test)
	c := s.box[place]
	halves = [2]class{c, c}
	middle := (c.low[e] + c.high[e]) / 2
	halves[0].low[e], halves[1].high[e] = middle+1, middle
	return place, halves
}

// widest is the class and the end whose range leaves the numbers of a test most open.
func (s *searcher) widest(t *test) (place int, e end, width int) {
	for _, n := range []*number{t.a, t.b} {
		n.visit(func(n *number) {
			s.charge(1 + len(n.weights))
			for i := range n.weights {
				w := &n.weights[i]
				c := &s.box[w.class]
				for k := range ends {
					if wide := c.high[k] - c.low[k]; w.by[k] != 0 && wide > width {
						place, e, width = w.class, end(k), wide
					}
				}
			}
		})
	}
	return place, e, width
}
