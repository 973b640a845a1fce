package store

import (
	"testing"

	"renga.dev/renga/internal/workflow/engine"
)

func TestWhatWasJustCommittedIsGivenOnceAndAsItIsWanted(t *testing.T) {
	r := &recentRows{}
	row := func(n int64) numbered { return numbered{rowPlace: rowPlace{1, n}, number: 100 + n} }
	note := func(n int64, size int) []placedPublication {
		return []placedPublication{{rowPlace{1, n}, tailed(0, size)}}
	}
	has := func(n int64, wanted map[string]engine.PublishPolicy) bool {
		out := r.remove([]numbered{row(n)}, wanted)[0]
		if out != nil && out.number != 100+n {
			t.Errorf("row %d: got number %d", n, out.number)
		}
		return out != nil
	}
	r.add(note(1, 1))
	if has(1, nil) {
		t.Error("it collects, and nobody reads")
	}
	r.add(note(2, 1))
	if !has(2, nil) || has(2, nil) {
		t.Error("row 2 is not given once")
	}
	r.add(note(3, 1))
	if has(3, map[string]engine.PublishPolicy{"": engine.PublishAll}) {
		t.Error("row 3 is given as it is not wanted any more")
	}
	if r.weight != 0 || len(r.publications) != 0 {
		t.Errorf("it holds %d notices, %d bytes", len(r.publications), r.weight)
	}
	r.add(note(4, MaxTail/2))
	r.add(note(5, MaxTail/2))
	if r.reading() || r.weight != 0 || has(5, nil) {
		t.Error("it holds more than it may")
	}
}
