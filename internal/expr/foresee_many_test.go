package expr

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// many are n branches, b0, b1 …, of which the first have ended in one way.
func many(n, ended int, e end) Branches {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("b", i)
	}
	b := Branches{Expected: names}
	switch e {
	case endCompleted:
		b.Completed = names[:ended]
	case endFailed:
		b.Failed = names[:ended]
	case endCanceled:
		b.Canceled = names[:ended]
	}
	return b
}

// foreseen is an expression as an author writes it. Branches end one after the other,
// all in the same way; after the last of them it can no longer come true.
type foreseen struct {
	src  string
	end  end
	last int
}

// counting are expressions that count branches and ask for some by name.
func counting(n int) []foreseen {
	k := n * 6 / 10
	return []foreseen{
		{fmt.Sprintf(`size(completed) >= %d`, k), endFailed, n - k + 1},
		{fmt.Sprintf(`completed.size() == %d`, k), endCompleted, k + 1},
		{fmt.Sprintf(`size(completed) in [%d, %d]`, n-1, n), endCanceled, 2},
		{`size(failed) == 0`, endFailed, 1},
		{`failed == []`, endFailed, 1},
		{`completed == expected`, endFailed, 1},
		{`completed != [] && failed == ["b0"]`, endFailed, 2},
		{`size(completed) > size(failed)`, endFailed, n / 2},
		{`size(completed) * 2 > size(expected)`, endFailed, n / 2},
		{`size(completed) > size(expected) / 2`, endFailed, n / 2},
		{`size(completed) >= size(expected) - 2`, endFailed, 3},
		{`size(completed) >= 0.6 * size(expected)`, endFailed, n - k + 1},
		{`double(size(completed)) / double(size(expected)) >= 0.75`, endFailed, n/4 + 1},
		{`size(completed) * 100 / size(expected) >= 60`, endFailed, n - k + 1},
		{`size(completed) * 100 / (size(completed) + size(failed)) >= 80`, endFailed, n/5 + 1},
		{`size(completed) + size(failed) == size(expected)`, endCanceled, 1},
		{`size(completed + failed) == size(expected)`, endCanceled, 1},
		{`size(completed) == size(failed) && size(canceled) == 0`, endFailed, n/2 + 1},
		{fmt.Sprintf(`size(completed) >= %d && size(failed) >= %d`, k, n-k+1), endFailed, 1},
		{fmt.Sprintf(`size(completed) == 2 * size(failed) + 1 && size(canceled) > %d`, n/2), endCompleted, n/3 + 1},
		{`size(completed) % 10 == 3 && size(failed) > size(completed)`, endCompleted, n/2 - 6},
		{`"b3" in completed`, endFailed, 4},
		{`!("b3" in failed || "b3" in canceled)`, endFailed, 4},
		{`"zz" in completed || "b3" in completed`, endFailed, 4},
		{`expected[2] in completed`, endFailed, 3},
		{fmt.Sprintf(`("b1" in completed || "b2" in completed) && size(completed) >= %d`, k), endFailed, 3},
		{fmt.Sprintf(`"b1" in completed && size(failed) < 3 || size(completed) >= %d`, n-5), endFailed, 6},
		{`"b1" in completed ? size(failed) < 3 : size(failed) < 2`, endFailed, 2},
		{`size(completed) >= (size(expected) > 10 ? 8 : 2) && size(failed) < 5`, endFailed, 5},
		{`size(completed) > size(expected)`, endCompleted, 1},
		{`completed[0] == "b3"`, endCompleted, 1},
		{`completed[0] == "b3"`, endFailed, 4},
		{`completed[size(completed) - 1] == "b1"`, endCanceled, 2},
		{`size(completed) > 1 && completed[1] in ["b2", "b5"]`, endFailed, 5},
		{`failed == [] || failed[0] != "b0"`, endFailed, 1},
		{fmt.Sprintf(`size(completed) >= ("b0" in failed ? %d : %d)`, n-1, k), endFailed, 2},
		{`(size(failed) > 2 ? canceled : completed) == expected`, endFailed, 1},
	}
}

// walking are expressions that walk through branches.
func walking(n int) []foreseen {
	return []foreseen{
		{`completed.exists(c, c == "b3")`, endCanceled, 4},
		{`["b0", "b1", "b2"].all(x, x in completed)`, endCanceled, 1},
		{`["b0", "b1", "b2"].exists(x, x in completed)`, endCanceled, 3},
		{`["b0", "b1", "zz"].filter(x, x in completed).size() >= 2`, endFailed, 1},
		{`completed.exists_one(c, c in ["b0", "b1"])`, endCompleted, 2},
		{`expected.all(e, e in completed || e in failed)`, endCanceled, 1},
		{`expected.filter(e, e in completed).size() > size(expected) - 2`, endFailed, 2},
		{`failed.all(f, f in ["b0", "b1"])`, endFailed, 3},
		{`!failed.exists(f, !(f == "b0" || f.matches("^b[12]$")))`, endFailed, 4},
		{`completed.exists(c, c.startsWith("b1"))`, endFailed, n / 5},
		{`size(completed.filter(c, c.endsWith("0"))) >= 2`, endFailed, n - 19},
		{`expected.exists(e, e == "b5" && e in completed) && size(canceled) < 5`, endCanceled, 5},
		{`["b0", "b1"].exists(x, x in completed && size(failed) < 1)`, endFailed, 1},
		{`["b1", "b0"] == completed || completed.exists(c, c == "b" + "3")`, endFailed, 4},
		{`size(completed) > 0 && !completed[0].matches("^b[0-3]$")`, endCompleted, 1},
	}
}

func TestTypicalExpressionsAreForeseenAtOnce(t *testing.T) {
	for n, all := range map[int][]foreseen{
		100: append(counting(100), walking(100)...), 1_000: append(counting(1_000), walking(1_000)...), 10_000: counting(10_000),
	} {
		for _, tt := range all {
			p, err := Gate(tt.src)
			if err != nil {
				t.Fatal(err)
			}
			for ended := max(1, tt.last-1); ended <= tt.last; ended++ {
				f, ok := newForesight(p, many(n, ended, tt.end))
				if got, want := f.search(), truthOf(ended < tt.last); !ok || got != want {
					t.Errorf("%s\n%d branches, %d ended: got %v, want %v, %d steps left", tt.src, n, ended, got, want, f.steps)
				}
			}
		}
	}
}

// TestStatesAreTriedWhereTheRestAllowsFew looks at expressions of which a part is not
// understood, with 99 branches open.
func TestStatesAreTriedWhereTheRestAllowsFew(t *testing.T) {
	for src, want := range map[string]truth{
		`size(failed) >= 99 && completed.map(c, size(c)) == [4]`:                                                     no,
		`size(failed) >= 99 && completed.map(c, size(c)) == [3]`:                                                     yes,
		`size(completed) >= 99 && completed.map(c, c + "!")[0] == "b1!"`:                                             yes,
		`size(completed) >= 99 && completed.map(c, c + "!")[97] == "b1!"`:                                            no,
		`"b7" in completed && size(failed) >= 98 && size(completed[0]) > 2 && completed.map(c, c + "!")[0] != "b7!"`: no,
		`size(completed) > 50 && completed.map(c, size(c)) == [4]`:                                                   maybe, // too many
	} {
		p, err := Gate(src)
		if err != nil {
			t.Fatal(err)
		}
		f, ok := newForesight(p, many(100, 1, endFailed))
		if got := f.search(); !ok || got != want || (f.tried > 0) != (want != maybe) {
			t.Errorf("%s\ngot %v, want %v; %d states were tried, %d steps left", src, got, want, f.tried, f.steps)
		}
	}
}

// TestForesightIsRightAboutManyBranches looks for a state that was said not to be.
func TestForesightIsRightAboutManyBranches(t *testing.T) {
	impossible := 0
	checkOften(t, 8, func(t *rapid.T) {
		e := &scribe{t: t}
		src := e.truth(3)
		p, err := Gate(src)
		if err != nil {
			t.Skip(err)
		}
		n := rapid.IntRange(5, 40).Draw(t, "branches")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		names := append([]string(nil), branchNames...)
		for i := len(names); i < n; i++ {
			names = append(names, fmt.Sprint(e.pick("a", "pay-", "x"), "-", i))
		}
		r.Shuffle(n, func(i, j int) { names[i], names[j] = names[j], names[i] })
		now := randomEnds(r, make([]end, n))
		f := &foresight{expected: names}
		b := f.branches(now)
		if p.MayHold(b) {
			return
		}
		impossible++
		for range 60 {
			then := randomEnds(r, now)
			if state := f.branches(then); !slices.Equal(then, now) && holds(p, state) {
				t.Fatalf("%s\n%+v\nholds in\n%+v", src, b, state)
			}
		}
	})
	if impossible < enough(100) {
		t.Errorf("only %d were impossible", impossible)
	}
}

// randomEnds lets some open branches end, mostly in one way or another.
func randomEnds(r *rand.Rand, from []end) []end {
	odds := [ends]int{}
	for e := range odds {
		odds[e] = r.IntN(10) * r.IntN(10)
	}
	to := append([]end(nil), from...)
	for i := range to {
		roll := r.IntN(1 + odds[0] + odds[1] + odds[2] + odds[3])
		for e := stillOpen; to[i] == stillOpen && e < ends; e++ {
			if roll -= odds[e]; roll < 0 {
				to[i] = e
				break
			}
		}
	}
	return to
}

func BenchmarkMayHold(b *testing.B) {
	for _, tt := range append(counting(1_000), walking(1_000)...) {
		p, err := Gate(tt.src)
		if err != nil {
			b.Fatal(err)
		}
		for name, ended := range map[string]int{"may": max(1, tt.last-1), "not": tt.last} {
			branches := many(1_000, ended, tt.end)
			b.Run(name+"/"+tt.src, func(b *testing.B) {
				for b.Loop() {
					p.MayHold(branches)
				}
			})
		}
	}
}
