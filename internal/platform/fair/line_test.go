package fair

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// drain takes everything, each item at a cost.
func drain(l *Line[string], cost map[string]int64) string {
	var got []string
	for {
		item, ok := l.Next(0, Anybody)
		if !ok {
			item, ok = l.Next(1, Anybody)
		}
		if !ok {
			return strings.Join(got, " ")
		}
		got = append(got, item)
		l.Charge(item[:1], cost[item[:1]])
	}
}

// TestKeysComeInTheOrderOfWhatTheyCost lets a key with many items and one with few share a
// loop, at one cost and at very different ones.
func TestKeysComeInTheOrderOfWhatTheyCost(t *testing.T) {
	fill := func() *Line[string] {
		l := &Line[string]{}
		for i := range 4 {
			l.Put("a", 1, fmt.Sprint("a", i))
		}
		l.Put("b", 1, "b0")
		l.Put("b", 1, "b1")
		l.Put("a", 0, "a!")
		return l
	}
	for _, tc := range []struct {
		name string
		cost map[string]int64
		want string
	}{
		{"as one", nil, "a! b0 a0 b1 a1 a2 a3"},
		{"a is costly", map[string]int64{"a": 10}, "a! b0 b1 a0 a1 a2 a3"},
		{"b is costly", map[string]int64{"b": 10}, "a! b0 a0 a1 a2 a3 b1"},
	} {
		if got := drain(fill(), tc.cost); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestWhoOwesComesAfterWhoComes lets a key go away with a debt: it comes back behind others,
// and who was away has saved up nothing.
func TestWhoOwesComesAfterWhoComes(t *testing.T) {
	l := &Line[string]{}
	l.Put("a", 1, "a0")
	drain(l, map[string]int64{"a": 100})
	l.Put("a", 1, "a1")
	l.Put("b", 1, "b0")
	if _, ok := l.Next(1, l.Now()+50); !ok {
		t.Fatal("b owes nothing")
	}
	if item, ok := l.Next(1, l.Now()+50); ok {
		t.Errorf("%s came within a limit that it is beyond", item)
	}
	if got := drain(l, nil); got != "a1" {
		t.Errorf("got %s", got)
	}
	for i := range 3 {
		l.Put("b", 1, fmt.Sprint("b", i))
		l.Put("a", 1, fmt.Sprint("a", i))
	}
	if got := drain(l, nil); got != "b0 a0 b1 a1 b2 a2" && got != "a0 b0 a1 b1 a2 b2" {
		t.Errorf("got %s, want that they take turns", got)
	}
	if l.Len(1) != 0 {
		t.Errorf("%d are left", l.Len(1))
	}
}

// letter is the key of an item of these tests, its first letter, and its kind: 0 with a "!".
func letter(item string) (key string, kind int) {
	if strings.HasSuffix(item, "!") {
		return item[:1], 0
	}
	return item[:1], 1
}

// TestItemsThatArePutBackComeFirst puts items of several keys and kinds back that were there
// before the others: they come before those, and in their own order.
func TestItemsThatArePutBackComeFirst(t *testing.T) {
	l := &Line[string]{}
	l.Put("a", 1, "a3")
	l.Put("a", 0, "a2!")
	l.PutBack([]string{"a1", "b1", "a1!", "a2", "b2"}, letter)
	if l.Len(0) != 2 || l.Len(1) != 5 {
		t.Errorf("%d and %d wait, want 2 and 5", l.Len(0), l.Len(1))
	}
	if got := drain(l, nil); got != "a1! a2! b1 b2 a1 a2 a3" {
		t.Errorf("got %s", got)
	}
	if l.Len(0)+l.Len(1) != 0 || len(l.ahead) != 0 {
		t.Errorf("%d and %d are left", l.Len(0), l.Len(1))
	}
}

// TestAnItemIsTakenOutBeforeItsTurn takes items out of the middle and the last one of a key.
func TestAnItemIsTakenOutBeforeItsTurn(t *testing.T) {
	l := &Line[string]{}
	for _, item := range []string{"a1", "a2", "a3", "b1", "a1!"} {
		key, kind := letter(item)
		l.Put(key, kind, item)
	}
	remove := func(key, item string) bool { return l.Remove(key, 1, func(s string) bool { return s == item }) }
	if !remove("a", "a2") || !remove("b", "b1") || remove("a", "a2") || remove("a", "a1!") || remove("c", "c1") {
		t.Error("not just those are taken out that are there")
	}
	if l.Of("a", 1) != 2 || l.Of("a", 0) != 1 || l.Of("b", 1) != 0 || l.Of("c", 1) != 0 || l.Len(1) != 2 {
		t.Errorf("%d of a, %d of b and %d in all wait", l.Of("a", 1), l.Of("b", 1), l.Len(1))
	}
	if got := drain(l, nil); got != "a1! a1 a3" || len(l.ahead) != 0 {
		t.Errorf("got %s", got)
	}
}

// TestManyItemsArePutBackAtOnce bounds what it costs to put back all but one of thousands: a copy
// of them for each is 16 MiB here.
func TestManyItemsArePutBackAtOnce(t *testing.T) {
	const n = 2048
	l := &Line[int]{}
	for i := range n {
		l.Put("a", 1, i)
	}
	left := make([]int, 0, n)
	for range n {
		item, _ := l.Next(1, Anybody)
		left = append(left, item)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l.PutBack(left, func(int) (string, int) { return "a", 1 })
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 256<<10 {
		t.Errorf("%d KiB are allocated to put %d items back, want at most 256", bytes>>10, n)
	}
	if l.Len(1) != n {
		t.Errorf("%d items wait, want %d", l.Len(1), n)
	}
}

// TestIdleKeysAreDropped lets far more keys come than are remembered.
func TestIdleKeysAreDropped(t *testing.T) {
	l := &Line[string]{}
	for i := range 10 * maxRemembered {
		l.Put(fmt.Sprint(i), 1, "x")
		l.Next(1, Anybody)
		l.Charge(fmt.Sprint(i), 1000)
	}
	if n := len(l.keys); n > maxRemembered+1 {
		t.Errorf("%d keys are remembered", n)
	}
}
