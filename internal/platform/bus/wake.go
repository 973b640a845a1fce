package bus

import "sync"

// wakes are wakeup channels of this process's workers, which also poll: wakeups get lost, in other processes for
// example.
type wakes struct {
	mu  sync.Mutex
	all map[assignment]chan struct{}
}

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

func (w *wakes) wake(p assignment) { wake(w.of(p)) }

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
