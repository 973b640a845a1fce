package recheck

import (
	"context"
	"sync"

	"renga.dev/renga/internal/workflow/flow"
)

// maxRecent is how many bytes of results are remembered.
const maxRecent = 16 << 20

// recent caches outcomes whose outputs are too large for the state of their execution: who polls a
// batch must not have megabytes of artifacts read each time. An output never changes.
type recent struct {
	mu   sync.Mutex
	all  map[outputAt]outcome // without what only the end of a batch needs
	size int
}

// outputAt names an output by the event that brought it.
type outputAt struct {
	execution flow.ID
	seq       uint64
}

func (r *recent) find(at outputAt) (outcome, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := r.all[at]
	return o, ok
}

func (r *recent) note(at outputAt, o outcome) {
	const beside = 256 // bytes, about, of what is no result
	size := beside + len(o.result)
	if f := o.failure; f != nil {
		size += len(f.Code) + len(f.Message)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil || r.size+size > maxRecent {
		r.all, r.size = map[outputAt]outcome{}, 0
	}
	if _, known := r.all[at]; !known {
		r.size += size
	}
	r.all[at] = o
}

// outcome reads the outcome of a node.
func (r *Rechecks) outcome(ctx context.Context, tenant string, id flow.ID, node *flow.Node) (outcome, error) {
	output, err := r.output(ctx, tenant, id, node)
	if err != nil {
		return outcome{}, err
	}
	return outcomeOf(node, output), nil
}

// shown is the outcome as readers see it: without artifacts and what the strategy learns.
func (r *Rechecks) shown(ctx context.Context, tenant string, id flow.ID, node *flow.Node) (outcome, error) {
	if node.Output.Seq == 0 {
		return r.outcome(ctx, tenant, id, node)
	}
	at := outputAt{id, node.Output.Seq}
	if o, ok := r.recent.find(at); ok {
		return o, nil
	}
	o, err := r.outcome(ctx, tenant, id, node)
	if err != nil {
		return o, err
	}
	o = outcome{status: o.status, result: o.result, failure: o.failure, at: o.at}
	r.recent.note(at, o)
	return o, nil
}
