package inbound

import (
	"context"
	"sync"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

// turns lets one delivery of a tenant at a time into the engine: the next one would
// wait there for the tenant's row, and everything that shares its commit with it.
type turns struct {
	mu sync.Mutex
	of map[string]*turn // by tenant; those that somebody has or waits for
}

type turn struct {
	free  chan struct{} // holds a token when nobody has it
	users int
}

// take waits for the tenant's turn. waited says that somebody else had it.
func (t *turns) take(ctx context.Context, tenant string) (waited bool, err error) {
	t.mu.Lock()
	one := t.of[tenant]
	if one == nil {
		one = &turn{free: make(chan struct{}, 1)}
		one.free <- struct{}{}
		t.of[tenant] = one
	}
	one.users++
	t.mu.Unlock()
	select {
	case <-one.free:
		return false, nil
	default:
	}
	select {
	case <-one.free:
		return true, nil
	case <-ctx.Done():
		t.leave(tenant, one)
		return true, errLate
	}
}

// give lets the next one have its turn.
func (t *turns) give(tenant string) {
	t.mu.Lock()
	one := t.of[tenant]
	t.mu.Unlock()
	one.free <- struct{}{}
	t.leave(tenant, one)
}

func (t *turns) leave(tenant string, one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(t.of, tenant)
	}
}

var errLate = &fault.Error{
	Kind: fault.Unavailable, Code: "OVERLOADED", RetryAfter: time.Second,
	Message: "too many events of the tenant are waiting; nothing was done, send it again",
}
