package store

import (
	"slices"
	"sync"
)

// MaxTail is how much memory the tail holds.
const MaxTail = 8 << 20

// tail is the end of the log in memory, on SQLite: a source that keeps up need not read back what was just written. It
// collects only while a source reads, and gives up when the source lags.
type tail struct {
	mu           sync.Mutex
	inFlight     []*inFlight    // commits that have numbers, in the order of their numbers
	known        bool           // from is known
	read         bool           // a source reads: collect
	from         int64          // every durable publication with a higher number is in publications
	publications []*publication // in order
	weight       int
}

type inFlight struct {
	publications []*publication
	ended        bool
}

// begin notes that a commit will have numbers after last, and reports whether a source reads: else publications need
// no events.
func (t *tail) begin(last int64) (f *inFlight, read bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.known {
		t.known, t.from = true, last
	}
	f = &inFlight{}
	t.inFlight = append(t.inFlight, f)
	return f, t.read
}

// end notes that a commit is durable, or has failed and has no publications. It adds those of all commits before which
// none is in flight.
func (t *tail) end(f *inFlight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f.ended = true
	for len(t.inFlight) > 0 && t.inFlight[0].ended {
		for _, n := range t.inFlight[0].publications {
			t.add(n)
		}
		t.inFlight[0] = nil
		t.inFlight = t.inFlight[1:]
	}
}

func (t *tail) add(n *publication) {
	if n.events == nil { // it was made while no source read
		t.drop(n.number)
		return
	}
	t.publications = append(t.publications, n)
	t.weight += n.weight()
	if t.weight > MaxTail {
		t.drop(n.number)
		t.read = false
	}
}

// drop leaves everything up to a number to the table.
func (t *tail) drop(number int64) { t.from, t.publications, t.weight = number, nil, 0 }

// after gives up to limit publications after a number, and drops those before. It reports whether it can: else the
// table must be read.
func (t *tail) after(number int64, limit int) ([]*publication, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read = true
	if !t.known || number < t.from {
		return nil, false
	}
	done := 0
	for done < len(t.publications) && t.publications[done].number <= number {
		t.weight -= t.publications[done].weight()
		t.publications[done] = nil
		done++
	}
	t.from, t.publications = number, t.publications[done:]
	return slices.Clone(t.publications[:min(limit, len(t.publications))]), true
}
