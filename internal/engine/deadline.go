package engine

import (
	"context"
	"slices"
	"time"

	"renga.dev/renga/internal/flow"
)

// complainEvery is how often a store that is away is logged.
const complainEvery = 30 * time.Second

// dueHeads lists executions that may have a deadline by now. DueAt is a lower
// bound: whether anything is due is for their states to say.
func (e *Engine) dueHeads(ctx context.Context) []Head {
	now := e.now()
	back := !e.cfg.Exclusive && e.nextDue > now.Add(maxIdle) // the clock went back since the last look
	if e.nextDue == 0 || now < e.nextDue && !back {
		return nil
	}
	limit := sweepLimit + len(e.ill) // those that are ill do not hide others
	here := flow.At(e.clock.Now())
	heads, next, shared, err := e.store.Due(ctx, here, e.shard, limit)
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
	if len(e.ill) > 0 {
		heads = e.healthy(heads, now)
	}
	if more && len(heads) > 0 || len(heads) > sweepLimit {
		heads, e.nextDue = heads[:min(len(heads), sweepLimit)], now
	}
	return heads
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
	b.openRow(ent).swept = true
	for _, cmd := range ent.state.Due(b.now) {
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
func (e *Engine) shun(id flow.ID) {
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
		e.shun(id)
	}
}

// lookAt has the loop look for deadlines at an instant and reports whether it would
// have looked later.
func (e *Engine) lookAt(at flow.Time) bool {
	if e.nextDue != 0 && e.nextDue <= at {
		return false
	}
	e.nextDue = at
	return true
}
