package engine

import (
	"context"
	"sync"
)

// longLog is from which size on the log of an execution is not read into a state in a commit, where everybody who
// writes waits: its caller does that before.
const longLog = 128 << 10

// longExecution says that an execution has such a log. Nothing was done.
type longExecution lookup

func (longExecution) Error() string { return errLong.Error() }
func (longExecution) Unwrap() error { return errLong }

// rebuilt are the states of long executions that callers have read for the next commit.
type rebuilt struct {
	mu      sync.Mutex
	entries map[lookup]*entry
	readers map[lookup]chan struct{} // closed when whoever reads it has submitted
}

// read makes the caller the one who reads an execution, or gives what to wait for.
func (r *rebuilt) read(x longExecution) (other <-chan struct{}, done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if busy := r.readers[lookup(x)]; busy != nil {
		return busy, nil
	}
	if r.readers == nil {
		r.readers, r.entries = map[lookup]chan struct{}{}, map[lookup]*entry{}
	}
	mine := make(chan struct{})
	r.readers[lookup(x)] = mine
	return nil, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.readers, lookup(x))
		delete(r.entries, lookup(x))
		close(mine)
	}
}

func (r *rebuilt) put(ent *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[lookup{ent.tenant, ent.state.Execution}] = ent
}

// take gives the state of an execution to the loop, which changes it.
func (r *rebuilt) take(of lookup) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	ent := r.entries[of]
	delete(r.entries, of)
	return ent
}

// prepare reads it outside of the commits and submits what was to be decided about it, of a tenant one at a time.
func (x longExecution) prepare(ctx context.Context, e *Engine, submit func()) error {
	other, done := e.rebuilt.read(x)
	if other != nil {
		select {
		case <-other:
			submit()
			return nil
		case <-ctx.Done():
			return x
		}
	}
	defer done()
	if e.readers.Await(ctx, x.tenant) != nil {
		return x
	}
	defer e.readers.Leave(x.tenant)
	h, err := e.store.History(ctx, x.tenant, x.id, 0)
	if err != nil {
		return readFault(x.id, err)
	}
	ent, err := rebuild(&h)
	if err != nil {
		return damaged(err)
	}
	e.rebuilt.put(ent)
	submit()
	return nil
}

// rebuild is rebuild for executions that are short, or were read before.
func (r *rebuilt) rebuild(h *History) (*entry, error) {
	if h.size() < longLog {
		return rebuild(h)
	}
	of := lookup{h.Head.Tenant, h.Head.ID}
	ent := r.take(of)
	if ent == nil {
		return nil, longExecution(of)
	}
	if h.Rows[0].CommitNo > ent.commitNo+1 { // much was written since
		return rebuild(h)
	}
	ent.head, ent.over = h.Head, h.Head.Status.Terminal()
	for i := range h.Rows {
		if h.Rows[i].CommitNo <= ent.commitNo {
			continue
		}
		if err := ent.add(h.Head.ID, &h.Rows[i]); err != nil {
			return nil, err
		}
	}
	return ent, nil
}

// size is about how many bytes rebuild reads.
func (h *History) size() int {
	n := 0
	for i := range h.Rows {
		n += len(h.Rows[i].Body) + len(h.Rows[i].Snapshot)
	}
	return n
}
