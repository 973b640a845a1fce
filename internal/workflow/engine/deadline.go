package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"renga.dev/renga/internal/workflow/flow"
)

// complainEvery is how often a store that is away is logged.
const complainEvery = 30 * time.Second

// dueHeads lists executions that may have a deadline by now. DueAt is a lower
// bound: whether anything is due is for their states to say.
func (e *Engine) dueHeads(ctx context.Context) []Head {
	if e.shard.none() {
		e.nextDue = 0 // others look
		return e.q.handedOver()
	}
	now := e.now()
	back := !e.cfg.Exclusive && e.nextDue > now.Add(maxIdle) // the clock went back since the last look
	if e.nextDue == 0 || now < e.nextDue && !back {
		return nil
	}
	limit := sweepLimit + len(e.ill) // those that are ill do not hide others
	here := flow.At(e.clock.Now())
	heads, next, shared, err := e.store.Due(ctx, here, e.shard, Head{}, limit)
	if err != nil {
		if since := e.clock.Now().Sub(e.complained); since < 0 || since > complainEvery {
			e.cfg.Log.ErrorContext(ctx, "deadlines could not be read", "error", err)
			e.complained = e.clock.Now()
		}
		e.nextDue = now.Add(maxIdle)
		return nil
	}
	e.complained = time.Time{}
	now, e.skew, e.nextDue = shared, shared.Sub(here), next
	if !e.cfg.Exclusive {
		e.lookAt(now.Add(maxIdle)) // others set deadlines too, and may be gone when those come
	}
	more := len(heads) == limit
	if more {
		heads = append(heads, e.behind(ctx, here, heads[limit-1])...)
	}
	if len(e.ill) > 0 {
		heads = e.healthy(heads, now)
	}
	heads = e.handOverDue(e.inTurn(heads))
	switch {
	case more && len(heads) == 0: // another engine is at them
		e.nextDue = now.Add(deepOften)
	case more || len(heads) > sweepLimit:
		heads, e.nextDue = heads[:min(len(heads), sweepLimit)], now
	}
	return heads
}

// What is read of the deadlines after the first sweepLimit ones.
const (
	deepLimit = 4 * sweepLimit
	deepOften = 100 * time.Millisecond
)

// behind lists more executions that may have a deadline, now and then, when there are many: the
// earliest may all be of one tenant, which does not come to their end. Each time it goes on
// where it was, or after one of them, and begins anew at the end.
func (e *Engine) behind(ctx context.Context, here flow.Time, last Head) []Head {
	if since := e.clock.Now().Sub(e.deep); since >= 0 && since < deepOften {
		return nil
	}
	e.deep = e.clock.Now()
	if cmp.Or(cmp.Compare(e.deepAt.DueAt, last.DueAt), cmp.Compare(e.deepAt.Num, last.Num)) < 0 {
		e.deepAt = last
	}
	heads, _, _, err := e.store.Due(ctx, here, e.shard, e.deepAt, deepLimit)
	if e.deepAt = (Head{}); err == nil && len(heads) == deepLimit {
		e.deepAt = heads[deepLimit-1]
	}
	return heads
}

// inTurn brings executions into an order in which tenants take turns, those first whose last turn
// is longest ago.
func (e *Engine) inTurn(heads []Head) []Head {
	of, tenants := map[string][]Head{}, []string(nil)
	for _, h := range heads {
		if of[h.Tenant] == nil {
			tenants = append(tenants, h.Tenant)
		}
		of[h.Tenant] = append(of[h.Tenant], h)
	}
	if len(tenants) < 2 {
		return heads
	}
	slices.SortStableFunc(tenants, func(a, b string) int { return cmp.Compare(e.served[a], e.served[b]) })
	for i := 0; i < len(heads); {
		for _, tenant := range tenants {
			if left := of[tenant]; len(left) > 0 {
				heads[i], of[tenant] = left[0], left[1:]
				i++
			}
		}
		tenants = slices.DeleteFunc(tenants, func(tenant string) bool { return len(of[tenant]) == 0 })
	}
	return heads
}

// serve notes that it was a tenant's turn.
func (e *Engine) serve(tenant string) {
	if len(e.served) >= maxCostly {
		e.served = nil
	}
	if e.served == nil {
		e.served = map[string]int{}
	}
	e.turns++
	e.served[tenant] = e.turns
}

// expire fires the deadlines of one execution that have come, and notes when to
// look again.
func (b *batch) expire(h Head) error {
	ent, err := b.entry(h.Tenant, h.ID)
	if unusable(err) {
		b.e.cfg.Log.ErrorContext(b.ctx, "deadlines could not be handled", "error", err)
		b.ill = append(b.ill, h.ID)
		return nil
	}
	if err != nil {
		return err
	}
	if err := b.planOf(ent); err != nil {
		if g, ok := errors.AsType[coldGraph](err); ok {
			b.e.warmLater(g, queueKey{}, b.e.q.wake)
			b.ill = append(b.ill, h.ID)
			return nil
		}
		return err
	}
	b.openRow(ent).swept = true
	began := b.spent()
	for i, cmd := range ent.state.Due(b.now) {
		if i > 0 && b.spent()-began >= MaxSlice {
			return nil // the others are still due
		}
		_, err := b.decide(ent, &Request{
			Tenant: ent.tenant, Execution: h.ID, Command: cmd,
			Actor: flow.Actor{Kind: flow.KindScheduler}, CorrelationID: ent.state.CorrelationID,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pause is how long an execution is left alone whose deadlines could not be handled,
// since its log is damaged, somebody holds it, or what they lead to cannot be written. Otherwise it
// would fail the commits of others twice a second for ever.
type pause struct {
	until flow.Time
	took  time.Duration
}

const (
	maxPause = time.Minute
	maxIll   = 10_000 // executions that are left alone; with more, all are tried again
)

// shun leaves an execution alone for a while, longer each time.
func (e *Engine) backOff(id flow.ID) {
	took := min(max(2*e.ill[id].took, maxIdle), maxPause)
	if len(e.ill) >= maxIll {
		clear(e.ill)
	}
	e.ill[id] = pause{e.now().Add(took), took}
	e.lookAt(e.ill[id].until)
}

// healthy leaves out the executions that are to be left alone.
func (e *Engine) healthy(heads []Head, now flow.Time) []Head {
	return slices.DeleteFunc(heads, func(h Head) bool {
		p := e.ill[h.ID]
		if p.until > now {
			e.lookAt(p.until)
		}
		return p.until > now
	})
}

// recovered forgets that executions were ill whose deadlines were handled.
func (e *Engine) recovered(due []Head, ill []flow.ID) {
	for _, h := range due {
		if !slices.Contains(ill, h.ID) {
			delete(e.ill, h.ID)
		}
	}
	for _, id := range ill {
		e.backOff(id)
	}
}

// lookAt has the loop look for deadlines at an instant and reports whether it would
// have looked later.
func (e *Engine) lookAt(at flow.Time) bool {
	if e.shard.none() || e.nextDue != 0 && e.nextDue <= at {
		return false
	}
	e.nextDue = at
	return true
}
