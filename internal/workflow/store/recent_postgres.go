package store

import (
	"sync"

	"renga.dev/renga/internal/workflow/engine"
)

// recent is what this process has just committed on PostgreSQL, as others are told of
// it: a source that runs here need not read it back. It is found by its place in the log,
// since numbers are the database's. Like tail it collects only while somebody reads, and
// forgets everything when that is too much.
type recentRows struct {
	mu           sync.Mutex
	read         bool
	publications map[rowPlace]*publication
	weight       int
}

// rowPlace is where a row stands.
type rowPlace struct{ execution, commitNo int64 }

// told is what a commit has to say of its rows.
type placedPublication struct {
	rowPlace
	*publication
}

// reading reports whether somebody reads.
func (r *recentRows) reading() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read
}

// add takes the notices of a commit that is durable. One of a commit that is not must
// never come here: another may get its place.
func (r *recentRows) add(all []placedPublication) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.read {
		return
	}
	if r.publications == nil {
		r.publications = map[rowPlace]*publication{}
	}
	for _, t := range all {
		r.publications[t.rowPlace] = t.publication
		r.weight += t.weight()
	}
	if r.weight > MaxTail {
		r.read, r.publications, r.weight = false, nil, 0
	}
}

// take gives the notices of rows, as far as it has them as they are wanted now. It has
// no other use for them.
func (r *recentRows) remove(rows []numbered, wanted map[string]engine.PublishPolicy) []*publication {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = true
	out := make([]*publication, len(rows))
	for i, row := range rows {
		n := r.publications[row.rowPlace]
		if n == nil {
			continue
		}
		delete(r.publications, row.rowPlace)
		r.weight -= n.weight()
		if n.wanted == wanted[n.tenant] {
			n.number = row.number
			out[i] = n
		}
	}
	return out
}
