package gate

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync"
	"time"

	"renga.dev/renga/internal/platform/fair"
	"renga.dev/renga/internal/platform/fault"
)

// Named maxima of what tenants use of a process at a time.
const (
	MaxWaiting       = 1024          // heavy requests of all tenants that wait for a place
	MaxTenantWaiting = 64            // of one tenant
	MaxTenantBodies  = MaxBodies / 4 // bytes of large bodies of one tenant under way
)

// What makes the requests of a tenant heavy on a route that is not: an answer of this size,
// for so long.
const (
	largeAnswer = 64 << 10
	largeFor    = time.Second
)

// maxLarge is how many tenants a route remembers large answers of.
const maxLarge = 1024

// large remembers which tenants a route gave large answers to lately: what is asked for once
// is mostly asked for again.
type large struct {
	mu    sync.Mutex
	until map[string]time.Time // by tenant
}

// note remembers an answer.
func (l *large) note(tenant string, size int, now time.Time) {
	if size < largeAnswer {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil || len(l.until) >= maxLarge {
		l.until = map[string]time.Time{}
	}
	l.until[tenant] = now.Add(largeFor)
}

// lately reports whether a tenant got one.
func (l *large) lately(tenant string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.until[tenant])
}

// newHeavy makes the places in which heavy requests run, half of them at most of one tenant, so that
// none can take all processors; 0 is four for each processor. Requests with large bodies or answers
// have a quarter as many.
func newHeavy(places int) (heavy, bulky *fair.Places) {
	if places == 0 {
		places = max(8, 4*runtime.GOMAXPROCS(0))
	}
	some := func(n int) *fair.Places {
		return fair.NewPlaces(fair.Config{Places: n, Each: max(1, n/2), Wait: MaxWaiting, WaitKey: MaxTenantWaiting})
	}
	return some(places), some(max(1, places/4))
}

// occupy waits until a heavy request may run: one of a route that says so, with a large body,
// or a read where answers were large lately. All others run at once, so that nothing refuses
// a cancel.
func (x *exchange) occupy(ctx context.Context) error {
	reads := x.r.Method == http.MethodGet || x.r.Method == http.MethodHead
	reads = reads && !x.route.Stream && x.route.Rate != rateServer // a monitor waits for no tenant
	bulky := len(x.call.Body) > smallBody || reads && x.route.large.lately(x.call.Principal.Tenant, x.started)
	if !x.route.Heavy && !bulky {
		return nil
	}
	places := x.gate.heavy
	if bulky {
		places = x.gate.bulky
	}
	switch err := places.Enter(ctx, x.call.Principal.Tenant); {
	case errors.Is(err, fair.ErrTooMany):
		return fault.TooMuch(MaxTenantWaiting,
			"%d heavy requests of this tenant wait already; send fewer at a time and try again", MaxTenantWaiting)
	case errors.Is(err, fair.ErrFull):
		return fault.Overloaded("too many heavy requests wait; nothing was done, repeat it unchanged")
	case err != nil:
		return err
	}
	x.occupies = places
	x.call.yield = x.yield
	return nil
}

// Turn does a part of a request that stays open in a place of those with large answers, as soon
// as its tenant has one.
func (c *Call) Turn(ctx context.Context, part func() error) error {
	if err := c.gate.bulky.Await(ctx, c.Principal.Tenant); err != nil {
		return err
	}
	defer c.gate.bulky.Leave(c.Principal.Tenant)
	return part()
}

// yield gives the place of a heavy request back, if it has one.
func (x *exchange) yield() {
	if places := x.occupies; places != nil {
		x.occupies = nil
		places.Leave(x.call.Principal.Tenant)
	}
}

// bodies counts the bytes of large bodies that are under way.
type bodies struct {
	mu  sync.Mutex
	all int64
	of  map[string]int64 // by tenant
}

// reserve takes room for a body, or says why there is none.
func (b *bodies) reserve(tenant string, size int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.all+size > MaxBodies:
		return fault.Overloaded("too many large requests are under way; nothing was done, repeat it unchanged")
	case b.of[tenant] > 0 && b.of[tenant]+size > MaxTenantBodies:
		return fault.TooMuch(MaxTenantBodies,
			"this tenant has %d MiB of large requests under way; send fewer at a time and try again", b.of[tenant]>>20)
	}
	if b.of == nil {
		b.of = map[string]int64{}
	}
	b.all += size
	b.of[tenant] += size
	return nil
}

// release gives the room of a body back.
func (b *bodies) release(tenant string, size int64) {
	if size == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all -= size
	if b.of[tenant] -= size; b.of[tenant] == 0 {
		delete(b.of, tenant)
	}
}
