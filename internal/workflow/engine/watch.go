package engine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/workflow/flow"
)

// watchers are those who want to know when an execution gets events.
type watchers struct {
	count atomic.Int64
	mu    sync.Mutex
	byID  map[flow.ID]map[chan struct{}]bool
}

// Watch wakes whenever an execution may have new events; read them with Events.
func (r *Reads) Watch(id flow.ID) (wake <-chan struct{}, stop func()) {
	w := &r.watch
	ch := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byID == nil {
		w.byID = map[flow.ID]map[chan struct{}]bool{}
	}
	if w.byID[id] == nil {
		w.byID[id] = map[chan struct{}]bool{}
	}
	w.byID[id][ch] = true
	w.count.Add(1)
	return ch, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.byID[id][ch] {
			return
		}
		delete(w.byID[id], ch)
		w.count.Add(-1)
		if len(w.byID[id]) == 0 {
			delete(w.byID, id)
		}
	}
}

func (w *watchers) wake(ids []flow.ID) {
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		for ch := range w.byID[id] {
			select {
			case ch <- struct{}{}:
			default:
			}
		}
	}
}

// maxAsked is how many watched executions one read asks about.
const maxAsked = 1000

// poll wakes those who watch executions that another process has moved, and tells those who read changes, until ctx
// ends.
func (r *Reads) poll(ctx context.Context) {
	tick := time.NewTicker(maxIdle)
	defer tick.Stop()
	seen := map[flow.ID]int64{}
	for {
		select {
		case <-tick.C:
			seen = r.look(ctx, seen)
			if r.changes.count.Load() > 0 {
				r.lookAround(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

// look wakes those whose executions have another commit than was seen, and gives
// what it saw.
func (r *Reads) look(ctx context.Context, seen map[flow.ID]int64) map[flow.ID]int64 {
	ids := r.watch.ids()
	now := make(map[flow.ID]int64, len(ids))
	for chunk := range slices.Chunk(ids, maxAsked) {
		commits, err := r.store.Commits(ctx, chunk)
		if err != nil {
			return seen
		}
		var moved []flow.ID
		for i, id := range chunk {
			now[id] = commits[i]
			if commits[i] != seen[id] {
				moved = append(moved, id)
			}
		}
		r.watch.wake(moved)
	}
	return now
}

func (w *watchers) ids() []flow.ID {
	if w.count.Load() == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.byID))
}
