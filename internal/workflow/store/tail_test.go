package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/workflow/flow"
)

// tailed is a notice as a tail holds it.
func tailed(number int64, size int) *publication {
	data := flow.Data(make([]byte, size))
	return &publication{number: number, events: []flow.Event{{Payload: &flow.ExecutionCompleted{Result: data}}}}
}

// tells compares what a tail has behind a number, or that it has to be read in the table.
func tells(t *testing.T, tail *tail, number int64, can bool, want ...int64) {
	t.Helper()
	notices, ok := tail.after(number, 100)
	var got []int64
	for _, n := range notices {
		got = append(got, n.number)
	}
	if diff := cmp.Diff(want, got); ok != can || diff != "" {
		t.Errorf("after %d: got %v, want %v (-want +got):\n%s", number, ok, can, diff)
	}
}

func TestATailFollowsTheOrderOfCommits(t *testing.T) {
	tail := &tail{}
	tells(t, tail, 0, false) // nothing is known
	one, _ := tail.begin(7)
	one.publications = []*publication{tailed(8, 1), tailed(9, 1)}
	two, _ := tail.begin(9)
	two.publications = []*publication{tailed(10, 1)}
	three, read := tail.begin(10)
	three.publications = nil // it fails
	if !read {
		t.Error("somebody reads")
	}
	tail.end(three)
	tail.end(two)
	tells(t, tail, 7, true) // the first may still fail
	tail.end(one)
	tells(t, tail, 6, false) // 7 was there before
	tells(t, tail, 7, true, 8, 9, 10)
	tells(t, tail, 7, true, 8, 9, 10) // they could not be published
	tells(t, tail, 8, true, 9, 10)
	tells(t, tail, 7, false) // 8 is forgotten
	tells(t, tail, 10, true)
}

func TestATailGivesUpWhenItsReaderFallsBehind(t *testing.T) {
	tail := &tail{}
	number := int64(0)
	add := func(size int) (read bool) {
		f, read := tail.begin(number)
		number++
		f.publications = []*publication{{number: number}}
		if read {
			f.publications[0] = tailed(number, size)
		}
		tail.end(f)
		return read
	}
	if add(1) {
		t.Error("it collects, and nobody reads")
	}
	tells(t, tail, 0, false)
	tells(t, tail, 1, true)
	for range 8 {
		if !add(MaxTail / 10) {
			t.Fatal("it gave up too soon")
		}
	}
	tells(t, tail, 1, true, 2, 3, 4, 5, 6, 7, 8, 9)
	add(MaxTail / 3)
	if add(1) {
		t.Error("it holds more than it may")
	}
	tells(t, tail, 1, false)
	if tail.weight != 0 {
		t.Errorf("it holds %d bytes of nothing", tail.weight)
	}
	add(1)
	tells(t, tail, number-1, true, number)
	f, _ := tail.begin(number)
	f.publications = []*publication{{number: number + 1}} // made when nobody read
	tail.end(f)
	tells(t, tail, number-1, false)
	tells(t, tail, number+1, true)
}
