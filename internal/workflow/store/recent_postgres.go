package store

import (
	"sync"

	"renga.dev/renga/internal/workflow/engine"
)

// recentRows are the publications that this process has just committed on PostgreSQL, for a source that runs here, by
// their position in the log. Like the tail it collects only while a source reads, and drops everything when that is
// too much.
type recentRows struct {
	mu           sync.Mutex
	read         bool
	publications map[rowPlace]*publication
	weight       int
}

// rowPlace is the position of a row in the log.
type rowPlace struct{ execution, commitNo int64 }

// placedPublication is a publication and the position of its row.
type placedPublication struct {
	rowPlace
	*publication
}

func (r *recentRows) reading() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read
}

// add adds the publications of a durable commit; another commit may get the position of one that is not.
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

// remove gives the publications of rows, as far as they are here under the current policies, and drops them.
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
