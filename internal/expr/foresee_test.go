package expr

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// enough is how many of something a run must have seen; rapid makes a fifth of its
// checks in a short one.
func enough(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// checkOften makes many more checks than one run of rapid does.
func checkOften(t *testing.T, times int, check func(*rapid.T)) {
	for range times {
		if !t.Run("", func(t *testing.T) { rapid.Check(t, check) }) {
			return
		}
	}
}

// TestForesightIsRight compares what is foreseen for random expressions with what all
// the states that can come give.
func TestForesightIsRight(t *testing.T) {
	seen := map[string]int{} // answers
	checkOften(t, 30, func(t *rapid.T) {
		e := &scribe{t: t}
		src := e.truth(rapid.IntRange(0, 4).Draw(t, "depth"))
		p, err := Gate(src)
		if err != nil {
			t.Skip(err) // too deep, or too many macros
		}
		b, open := drawBranches(t)
		want := false
		for state := range laterStates(b, open) {
			want = want || holds(p, state)
		}
		f, _ := newForesight(p, b)
		got := f.search()
		seen[fmt.Sprintf("%t, states tried %t", got == yes, f.tried > 0)]++
		if got != truthOf(want) {
			t.Fatalf("%s\n%+v: got %v, the states say %t; %d were tried", src, b, got, want, f.tried)
		}
		if got := p.MayHold(b); got != want {
			t.Fatalf("%s\n%+v: got %t, want %t", src, b, got, want)
		}
	})
	for _, answer := range []string{"true, states tried false", "false, states tried false", "true, states tried true", "false, states tried true"} {
		if n := seen[answer]; n < enough(100) {
			t.Errorf("the answer %s was given %d times only", answer, n)
		}
	}
}

// TestForesightOfOddExpressions compares in every state of three branches.
func TestForesightOfOddExpressions(t *testing.T) {
	for _, src := range []string{
		`size(completed + completed) == 3`,
		`size(completed + expected) == 4 && size(failed) == 2`,
		`(failed + completed) == expected && size(failed) == 1`,
		`(failed + completed).filter(x, true) == expected`,
		`(failed + completed).map(x, x) != expected && canceled == []`,
		`["pay-1", "a"].filter(x, x in completed) == completed && size(completed) == 2`,
		`["zz", "a"] == completed || ["zz"] == ["zz"] && "b" in failed`,
		`completed[1] == "b"`,
		`completed[0] == "zz" || failed[size(failed) - 1] == "pay-1"`,
		`!(completed[0] == "a")`,
		`!(completed[1] != failed[0])`,
		`completed[0] == failed[1] || completed[size(failed)] > canceled[0]`,
		`completed[-1] == "a" || completed[0].startsWith("pay") && failed[0].matches("^b")`,
		`completed[0] in ["a", "b"] && failed[0] in expected && failed[0] + "x" == "bx"`,
		`expected.exists(x, x == completed[0] && x != "a")`,
		`expected.filter(x, x in failed || x in completed)[1] == "pay-1"`,
		`["b", "a"] == completed || completed[0] == "zz"`,
		`(size(failed) > 1 ? completed : canceled) == ["pay-1"]`,
		`(size(failed) > 1 ? completed : canceled).exists(x, x > "b" || x == (size(completed) > 0 ? "a" : failed[1]))`,
		`size(completed) >= ("a" in failed ? 2 : size(failed) > 1 ? 1 : 3)`,
		`(completed[0] == "b" ? 1 : 0) + (failed[0] == "a" ? 1 : 0) == 2`,
		`completed.exists(completed, completed == "a") && .completed == ["a"]`,
		`completed.exists(completed, .completed.exists(x, x != completed))`,
		`!(completed[0] in []) && size(failed) == 1`,
		`double(size(completed)) - double(size(failed)) > 2.5`,
		`0.5 - size(failed) - double(size(canceled)) < -2.0`,
		`-size(completed) < -2 || -double(size(failed)) == -3.0`,
		`(size(completed) + 1000000000000) * (size(failed) + 1000000000000) > 0`,
		`(size(completed) + 9223372036854775807) > 0 && size(completed) < 2`,
		`size(completed) * size(failed) * 16777217 > 33554433`,
		`4 / size(failed) == 2`,
		`4 / (size(failed) - size(completed)) == -2`,
		`-7 / (size(failed) + 1) == -3 && -7 % (size(failed) + 1) == -1`,
		`size(failed) % size(completed) == 1`,
		`(size(completed) - 2 * size(failed)) % 3 == -2`,
		`1.0 / size(failed) > 0.9 || 0.0 / size(failed) == 0.0 && size(completed) == 2`,
		`size(completed) == 2 ? 1 / size(failed) == 1 : false`,
		`(size(completed) > 1 ? 1 : 0) == 1`,
		`("a" in completed) == ("b" in failed) && ("a" in completed) != ("pay-1" in canceled)`,
		`expected.exists_one(x, x in completed || x in failed) && size(canceled) == 2`,
		`expected.all(x, size(failed) == 1 || x in completed)`,
		`expected.exists(x, completed.exists(y, x != y && y in completed) && x in failed)`,
		`completed.map(x, size(x)) == [1, 5]`,
		`size(completed) in [] || dyn(size(failed)) in [2.0, 3]`,
		`expected[3] == "c" || expected[2] == "b"`,
		`type(completed) == list && size("ab") == size(completed)`,
	} {
		p, err := Gate(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		three := Branches{Expected: branchNames[:3]}
		for b := range allStates(three, []int{0, 1, 2}) {
			want := false
			for state := range laterStates(b, openOf(b)) {
				want = want || holds(p, state)
			}
			f, _ := newForesight(p, b)
			if got := f.search(); got != truthOf(want) {
				t.Errorf("%s\n%+v: got %v, the states say %t; %d were tried", src, b, got, want, f.tried)
			}
			if got := p.MayHold(b); got != want {
				t.Errorf("%s\n%+v: got %t, want %t", src, b, got, want)
			}
		}
	}
}

// openOf are the branches that have not ended.
func openOf(b Branches) (open []int) {
	ended := slices.Concat(b.Completed, b.Failed, b.Canceled)
	for i, name := range b.Expected {
		if !slices.Contains(ended, name) {
			open = append(open, i)
		}
	}
	return open
}

func TestForesightOfListsThatDoNotFit(t *testing.T) {
	p, err := Gate("false")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []Branches{
		{Expected: []string{"a", "b"}, Completed: []string{"b", "a"}},
		{Expected: []string{"a"}, Failed: []string{"x"}},
		{Expected: []string{"a"}, Completed: []string{"a"}, Canceled: []string{"a"}},
	} {
		if !p.MayHold(b) {
			t.Errorf("%+v: it was said that it cannot hold", b)
		}
	}
}

func holds(p *Program, b Branches) bool {
	ok, err := p.Holds(b)
	return ok && err == nil
}

// drawBranches draws some branches, of which at most three are open.
func drawBranches(t *rapid.T) (b Branches, open []int) {
	b.Expected = slices.Clone(branchNames[:rapid.IntRange(1, len(branchNames)).Draw(t, "branches")])
	for i, name := range b.Expected {
		switch e := rapid.IntRange(0, 3).Draw(t, "end"); {
		case e == 0 && len(open) < 3:
			open = append(open, i)
		case e == 1:
			b.Completed = append(b.Completed, name)
		case e == 2:
			b.Failed = append(b.Failed, name)
		default:
			b.Canceled = append(b.Canceled, name)
		}
	}
	return b, open
}

// allStates are the state that is there and all that the open branches can lead to.
func allStates(b Branches, open []int) func(func(Branches) bool) { return states(b, open, 0) }

// laterStates are those in which more branches have ended.
func laterStates(b Branches, open []int) func(func(Branches) bool) { return states(b, open, 1) }

func states(b Branches, open []int, first int) func(func(Branches) bool) {
	return func(yield func(Branches) bool) {
		for s := first; s < 1<<(2*len(open)); s++ {
			ends := map[string]int{}
			for k, i := range open {
				ends[b.Expected[i]] = s >> (2 * k) & 3
			}
			state := Branches{Expected: b.Expected}
			for _, name := range b.Expected {
				switch {
				case ends[name] == 1 || slices.Contains(b.Completed, name):
					state.Completed = append(state.Completed, name)
				case ends[name] == 2 || slices.Contains(b.Failed, name):
					state.Failed = append(state.Failed, name)
				case ends[name] == 3 || slices.Contains(b.Canceled, name):
					state.Canceled = append(state.Canceled, name)
				}
			}
			if !yield(state) {
				return
			}
		}
	}
}

var branchNames = []string{"a", "pay-1", "b", "pay-2", "c"}

// scribe writes random expressions, also such as cannot be lifted.
type scribe struct {
	t    *rapid.T
	vars []string // of the macros around
}

func (e *scribe) pick(from ...string) string { return rapid.SampledFrom(from).Draw(e.t, "word") }

// or writes one of several things.
func (e *scribe) or(ways ...func() string) string {
	return ways[rapid.IntRange(0, len(ways)-1).Draw(e.t, "way")]()
}

func (e *scribe) truth(depth int) string {
	atoms := []func() string{
		func() string { return e.number(depth-1) + e.relation() + e.number(depth-1) },
		func() string { return e.number(depth-1) + e.relation() + e.number(depth-1) },
		func() string { return "double(" + e.number(depth-1) + ")" + e.relation() + e.fraction(depth-1) },
		func() string { return e.text() + " in " + e.list(depth-1) },
		func() string { return e.list(depth-1) + e.pick(" == ", " != ") + e.list(depth-1) },
		func() string { return e.text() + e.pick(" == ", " != ", " < ") + e.text() },
		func() string {
			return e.text() + e.pick(".startsWith", ".endsWith", ".contains", ".matches") + e.pick("('pay')", "('a')", "('1')")
		},
		func() string { return e.number(depth-1) + " in [1, 2, " + e.number(depth-1) + "]" },
		func() string { return e.pick("true", "false") },
	}
	if depth <= 0 {
		return e.or(atoms...)
	}
	return e.or(append(atoms,
		func() string {
			return "(" + e.truth(depth-1) + e.pick(" && ", " || ", " && ", " || ", " == ", " != ") + e.truth(depth-1) + ")"
		},
		func() string { return "(" + e.truth(depth-1) + e.pick(" && ", " || ") + e.truth(depth-1) + ")" },
		func() string { return "!(" + e.truth(depth-1) + ")" },
		func() string {
			return "(" + e.truth(depth-1) + " ? " + e.truth(depth-1) + " : " + e.truth(depth-1) + ")"
		},
		func() string { return e.macro(depth, ".all", ".exists", ".exists_one") },
		func() string { return e.macro(depth, ".all", ".exists") },
	)...)
}

func (e *scribe) relation() string { return e.pick(" < ", " <= ", " == ", " != ", " >= ", " > ") }

func (e *scribe) macro(depth int, names ...string) string {
	over := e.list(depth - 1)
	v := e.pick("x", "y", "completed")
	e.vars = append(e.vars, v)
	defer func() { e.vars = e.vars[:len(e.vars)-1] }()
	return over + e.pick(names...) + "(" + v + ", " + e.truth(depth-1) + ")"
}

func (e *scribe) text() string {
	return e.or(
		func() string { return e.pick("'a'", "'b'", "'c'", "'pay-1'", "'zz'") },
		func() string { return e.pick(append(e.vars, "'b'")...) },
		func() string { return e.pick("expected[0]", "expected[1]", "completed[0]", "failed[0]", "('a' + 'b')") },
	)
}

func (e *scribe) list(depth int) string {
	lists := func() string { return e.pick("completed", "failed", "canceled", "expected", ".completed") }
	if depth <= 0 {
		return e.or(lists, lists, lists, func() string {
			return e.pick("['a']", "['a', 'b']", "['b', 'zz', 'pay-2']", "[]", "['c', 'a']", "['a', 'a']", "['zz']")
		})
	}
	return e.or(lists, lists,
		func() string { return "[" + e.text() + ", " + e.text() + "]" },
		func() string { return e.macro(depth, ".filter") },
		func() string { return "(" + e.list(depth-1) + " + " + e.list(depth-1) + ")" },
		func() string { return lists() + ".map(x, x" + e.pick("", " + '!'") + ")" },
		func() string { return lists() + ".map(x, " + e.pick("true", "x != 'b'", "x in failed") + ", x)" },
		func() string { return "(" + e.truth(depth-1) + " ? " + e.list(depth-1) + " : " + e.list(depth-1) + ")" },
	)
}

func (e *scribe) number(depth int) string {
	size := func() string { return "size(" + e.list(depth-1) + ")" }
	constant := func() string { return e.pick("0", "1", "2", "3", "-1", "100", "9223372036854775807") }
	if depth <= 0 {
		return e.or(size, size, constant)
	}
	return e.or(size, constant,
		func() string { return "(" + e.number(depth-1) + e.pick(" + ", " - ", " * ") + e.number(depth-1) + ")" },
		func() string { return "(" + e.number(depth-1) + e.pick(" / ", " % ") + e.number(depth-1) + ")" },
		func() string { return "-" + size() },
		func() string {
			return "(" + e.truth(depth-1) + " ? " + e.number(depth-1) + " : " + e.number(depth-1) + ")"
		},
		func() string { return "int(" + e.number(depth-1) + ")" },
	)
}

func (e *scribe) fraction(depth int) string {
	constant := func() string { return e.pick("0.0", "0.5", "0.6", "1.0", "-2.5", "1e300") }
	if depth <= 0 {
		return constant()
	}
	return e.or(constant,
		func() string { return "double(" + e.number(depth-1) + ")" },
		func() string {
			return "(" + e.fraction(depth-1) + e.pick(" + ", " - ", " * ", " / ") + e.fraction(depth-1) + ")"
		},
		func() string {
			return "(" + e.fraction(depth-1) + e.pick(" + ", " - ", " * ", " / ") + e.number(depth-1) + ")"
		},
		func() string { return "-(" + e.fraction(depth-1) + ")" },
	)
}
