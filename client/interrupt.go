package client

import (
	"context"
	"time"
)

const (
	// watchAfter is how long a Task is held before it is watched: most are done by
	// then. It is also how often a watch may be asked anew.
	watchAfter = 250 * time.Millisecond
	watchWait  = 30 * time.Second
)

// watch learns which of the held tasks are not the worker's any more and interrupts
// their handlers, until ctx ends.
func (r *run) watch(ctx context.Context) {
	for ctx.Err() == nil {
		asked := time.Now()
		holds, young := r.watchable(asked, true)
		switch {
		case len(holds) > 0:
			r.ask(ctx, holds)
			sleep(ctx, watchAfter-time.Since(asked))
		case young:
			sleep(ctx, watchAfter)
		default:
			select {
			case <-r.began:
			case <-ctx.Done():
			}
		}
	}
}

// watchable lists what is held long enough to be watched, and whether there is
// more that will be. With note, these are watched from now on.
func (r *run) watchable(now time.Time, note bool) (holds []*hold, young bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for h := range r.held {
		switch {
		case h.lost:
		case now.Sub(h.since) < watchAfter:
			young = true
		case note || !h.watched:
			h.watched = h.watched || note
			holds = append(holds, h)
		}
	}
	return holds, young
}

// ask asks the server about holds, until it answers or there are others to ask about.
func (r *run) ask(ctx context.Context, holds []*hold) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	defer func() { cancel(); <-done }()
	go func() {
		defer close(done)
		for sleep(ctx, watchAfter) {
			if more, _ := r.watchable(time.Now(), false); len(more) > 0 {
				cancel()
			}
		}
	}()
	refs := make([]TaskRef, len(holds))
	by := make(map[TaskRef]*hold, len(holds))
	for i, h := range holds {
		refs[i] = h.task.Ref()
		by[refs[i]] = h
	}
	interrupted, err := r.Client.Tasks.Watch(ctx, refs, watchWait)
	for _, t := range interrupted {
		if h := by[t.TaskRef]; h != nil {
			r.interrupt(h, "the node is "+string(t.Status))
		}
	}
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("tasks cannot be watched", "error", err)
		sleep(ctx, maxPause)
	}
}
