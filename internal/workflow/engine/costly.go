package engine

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"renga.dev/renga/internal/workflow/flow"
)

const (
	costlyFor  = 10 * time.Second // after a commit in which its commands took longer than a slice, a tenant is costly
	activeFor  = time.Second      // after a commit with something of them, tenants are there
	muchDearer = 4                // times what another tenant cost lately
	maxCostly  = 1024             // tenants that are remembered
)

// costly knows which tenants make others wait: their commands took longer than a time slice lately, while others cost
// far less.
type costly struct {
	clock Clock

	mu      sync.Mutex
	tenants map[string]*recent
}

type recent struct {
	at    time.Time // when they were last in a commit
	spent float64   // seconds; it halves with every activeFor
	until time.Time // it may be costly
}

// spentBy is what is left of spent at an instant.
func (r *recent) spentBy(now time.Time) float64 {
	return r.spent * math.Exp2(-now.Sub(r.at).Seconds()/activeFor.Seconds())
}

func (c *costly) note(bill map[string]time.Duration) {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tenants == nil || len(c.tenants) >= maxCostly {
		c.tenants = map[string]*recent{}
	}
	for tenant, spent := range bill {
		r := c.tenants[tenant]
		if r == nil {
			r = &recent{}
			c.tenants[tenant] = r
		}
		r.spent, r.at = r.spentBy(now)+spent.Seconds(), now
		if spent > MaxSlice {
			r.until = now.Add(costlyFor)
		}
	}
}

// isCostly reports whether a tenant is to be isolated.
func (c *costly) isCostly(tenant string) bool {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.tenants[tenant]
	if own == nil || !now.Before(own.until) {
		return false
	}
	for other, r := range c.tenants {
		if other != tenant && now.Sub(r.at) < activeFor && muchDearer*r.spentBy(now) < own.spentBy(now) {
			return true
		}
	}
	return false
}

// handOver moves the work of costly tenants to the spare engine. What that has no room for stays.
func (e *Engine) handOver(w *work) {
	if e.spare == nil || w.alone {
		return
	}
	to := &e.spare.q
	moved := false
	move := func(tenant string, put func() error) bool {
		gone := tenant != "" && e.costly(tenant) && put() == nil
		moved = moved || gone
		return gone
	}
	w.calls = slices.DeleteFunc(w.calls, func(c *call) bool {
		return move(c.tenant(), func() error { return to.put(item{call: c}) })
	})
	w.units = slices.DeleteFunc(w.units, func(u *unitCall) bool {
		return move(u.tenant(), func() error { return to.put(item{unit: u}) })
	})
	w.claims = slices.DeleteFunc(w.claims, func(c *claim) bool {
		return move(c.req.Tenant, func() error {
			e.tasks.unwait(c) // one engine has it
			return to.put(item{claim: c})
		})
	})
	if moved {
		to.wake()
	}
}

// handOverDue does it with executions that may have a deadline. All are looked at again.
func (e *Engine) handOverDue(heads []Head) []Head {
	if e.spare == nil {
		return heads
	}
	all := len(heads)
	heads = slices.DeleteFunc(heads, func(h Head) bool {
		if !e.costly(h.Tenant) {
			return false
		}
		e.spare.q.putDue(h)
		return true
	})
	if len(heads) < all {
		e.deadlines.lookAt(e.now().Add(maxIdle))
		e.spare.q.wake()
	}
	return heads
}

// putDue adds an execution that may have a deadline, if there is room.
func (q *queue) putDue(h Head) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.due) >= sweepLimit {
		return
	}
	if q.due == nil {
		q.due = map[flow.ID]Head{}
	}
	q.due[h.ID] = h
}

func (q *queue) handedOver() []Head {
	q.mu.Lock()
	defer q.mu.Unlock()
	heads := slices.SortedFunc(maps.Values(q.due), func(a, b Head) int { return int(a.Num - b.Num) })
	q.due = nil
	return heads
}
