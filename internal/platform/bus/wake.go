package bus

import "sync"

// wakes are the wakeup channels of the workers of this process. A wakeup can be missed, in another process for example;
// workers poll as well.
type wakes struct {
	mu  sync.Mutex
	all map[assignment]chan struct{}
}

// of is the channel of an assignment. It holds one token at most.
func (w *wakes) of(p assignment) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[assignment]chan struct{}{}
	}
	c := w.all[p]
	if c == nil {
		c = make(chan struct{}, 1)
		w.all[p] = c
	}
	return c
}

// wake puts a token into the channel of an assignment.
func (w *wakes) wake(p assignment) { wake(w.of(p)) }

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
