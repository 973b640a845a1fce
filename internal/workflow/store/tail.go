package store

import "sync"

// MaxTail is how much memory the tail takes.
const MaxTail = 8 << 20

// tail is the end of the log as a source reads it, in memory: on SQLite, where all
// rows are written by this process, a source that keeps up need not read what was just
// written. It collects only while somebody reads, and gives up when the reader falls
// behind; then the table is read.
type tail struct {
	mu      sync.Mutex
	flights []*flight // commits that have numbers, in the order of their numbers
	known   bool      // from is known
	read    bool      // somebody reads: collect
	from    int64     // every notice with a higher number that is durable is in notices
	notices []*notice // in order
	weight  int
}

// flight is the news of a commit that may still fail.
type flight struct {
	notices []*notice
	over    bool
}

// begin notes that a commit will have numbers, all of which are higher than last. It
// reports whether somebody reads: else notices need no events.
func (t *tail) begin(last int64) (f *flight, read bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.known {
		t.known, t.from = true, last
	}
	f = &flight{}
	t.flights = append(t.flights, f)
	return f, t.read
}

// end notes that a commit is durable, or has failed and has no notices any more. It
// takes over the notices of all commits before which none is under way.
func (t *tail) end(f *flight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f.over = true
	for len(t.flights) > 0 && t.flights[0].over {
		for _, n := range t.flights[0].notices {
			t.add(n)
		}
		t.flights[0] = nil
		t.flights = t.flights[1:]
	}
}

func (t *tail) add(n *notice) {
	if n.events == nil { // it was made while nobody read
		t.forget(n.number)
		return
	}
	t.notices = append(t.notices, n)
	t.weight += n.weight()
	if t.weight > MaxTail {
		t.forget(n.number)
		t.read = false
	}
}

// forget leaves everything up to a number to the table.
func (t *tail) forget(number int64) { t.from, t.notices, t.weight = number, nil, 0 }

// after gives up to limit notices behind a number, and drops those before. It reports
// whether it can: else the table must be read.
func (t *tail) after(number int64, limit int) ([]*notice, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read = true
	if !t.known || number < t.from {
		return nil, false
	}
	done := 0
	for done < len(t.notices) && t.notices[done].number <= number {
		t.weight -= t.notices[done].weight()
		t.notices[done] = nil
		done++
	}
	t.from, t.notices = number, t.notices[done:]
	return append([]*notice(nil), t.notices[:min(limit, len(t.notices))]...), true
}
