package store

import "sync"

// MaxTail is how much memory the tail takes.
const MaxTail = 8 << 20

// tail is the end of the log as a source reads it, in memory: on SQLite, where all
// rows are written by this process, a source that keeps up need not read what was just
// written. It collects only while somebody reads, and gives up when the reader falls
// behind; then the table is read.
type tail struct {
	mu           sync.Mutex
	inFlight     []*inFlight    // commits that have numbers, in the order of their numbers
	known        bool           // from is known
	read         bool           // somebody reads: collect
	from         int64          // every notice with a higher number that is durable is in notices
	publications []*publication // in order
	weight       int
}

// flight is the news of a commit that may still fail.
type inFlight struct {
	publications []*publication
	ended        bool
}

// begin notes that a commit will have numbers, all of which are higher than last. It
// reports whether somebody reads: else notices need no events.
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

// end notes that a commit is durable, or has failed and has no notices any more. It
// takes over the notices of all commits before which none is under way.
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
	if n.events == nil { // it was made while nobody read
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

// forget leaves everything up to a number to the table.
func (t *tail) drop(number int64) { t.from, t.publications, t.weight = number, nil, 0 }

// after gives up to limit notices behind a number, and drops those before. It reports
// whether it can: else the table must be read.
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
	return append([]*publication(nil), t.publications[:min(limit, len(t.publications))]...), true
}
