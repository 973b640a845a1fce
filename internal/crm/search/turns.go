package search

import (
	"context"
	"sync"
)

// turns lets searches that look at many candidates go on in turns: one of each tenant at a
// time, and a few of all. Who sees little and looks for a common word waits, and no other.
type turns struct {
	all chan struct{}

	mu      sync.Mutex
	tenants map[string]*turn
}

// turn is that of a tenant.
type turn struct {
	taken chan struct{}
	users int // who has it or waits for it
}

func newTurns(most int) *turns {
	return &turns{all: make(chan struct{}, most), tenants: map[string]*turn{}}
}

// acquire waits for a turn; leave gives it back.
func (t *turns) acquire(ctx context.Context, tenant string) (leave func(), err error) {
	t.mu.Lock()
	own := t.tenants[tenant]
	if own == nil {
		own = &turn{taken: make(chan struct{}, 1)}
		t.tenants[tenant] = own
	}
	own.users++
	t.mu.Unlock()
	out := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(t.tenants, tenant)
		}
	}
	select {
	case own.taken <- struct{}{}:
	case <-ctx.Done():
		out()
		return nil, ctx.Err()
	}
	select {
	case t.all <- struct{}{}:
	case <-ctx.Done():
		<-own.taken
		out()
		return nil, ctx.Err()
	}
	return func() { <-t.all; <-own.taken; out() }, nil
}
