package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"renga.dev/renga/internal/workflow/flow"
)

// deadlines looks for executions with a deadline that has come. Whoever has the baton uses it.
type deadlines struct {
	e          *Engine
	next       flow.Time         // when to look; 0: no deadline is known to be set
	ill        map[flow.ID]pause // executions whose deadlines are backed off
	served     map[string]int    // the last turn of tenants whose deadlines were handled
	turns      int               // counts them
	left       []Head            // were read and had no turn yet
	more       bool              // there were more than those when they were read
	readAt     time.Time         // when that was
	deep       time.Time         // when more than the earliest deadlines were read
	deepAt     Head              // up to here
	complained time.Time         // when it was last logged that deadlines cannot be read
}

const complainEvery = 30 * time.Second

// heads lists executions that may have a deadline by now: DueAt is a lower bound.
func (d *deadlines) heads(ctx context.Context) []Head {
	if d.e.shard.none() {
		d.next = 0 // others look
		return d.e.q.handedOver()
	}
	now := d.e.now()
	back := !d.e.cfg.Exclusive && d.next > now.Add(maxIdle) // the clock went back since the last look
	if d.next == 0 || now < d.next && !back {
		return nil
	}
	if len(d.left) > 0 && !d.isOver(d.readAt) {
		d.next = now // until everybody in left had a turn, and they are read again
	} else if !d.read(ctx, now) {
		return nil
	}
	now = d.e.now()
	heads := d.left
	if d.left = nil; len(d.ill) > 0 {
		heads = d.ready(heads, now)
	}
	heads = d.e.handOverDue(d.inTurn(heads))
	switch {
	case d.more && len(heads) == 0: // another engine is at them
		d.next = now.Add(deepEvery)
	case d.more || len(heads) > sweepLimit:
		cut := min(len(heads), sweepLimit)
		heads, d.left, d.next = slices.Clip(heads[:cut]), heads[cut:], now
	}
	return heads
}

// read reads into left, and reports whether that could be done.
func (d *deadlines) read(ctx context.Context, now flow.Time) bool {
	limit := sweepLimit + len(d.ill) // those that are backed off do not hide others
	here := flow.At(d.e.clock.Now())
	heads, next, shared, err := d.e.store.Due(ctx, here, d.e.shard, Head{}, limit)
	if err != nil {
		if since := d.e.clock.Now().Sub(d.complained); since < 0 || since > complainEvery {
			d.e.cfg.Log.ErrorContext(ctx, "deadlines could not be read", "error", err)
			d.complained = d.e.clock.Now()
		}
		d.left, d.next = nil, now.Add(maxIdle)
		return false
	}
	d.complained = time.Time{}
	d.e.skew, d.next = shared.Sub(here), next
	if !d.e.cfg.Exclusive {
		d.lookAt(shared.Add(maxIdle)) // others set deadlines too, and may be gone when those come
	}
	if d.more = len(heads) == limit; d.more {
		heads = append(heads, d.later(ctx, here, heads[limit-1])...)
	}
	d.left, d.readAt = heads, d.e.clock.Now()
	return true
}

// isOver reports whether deepEvery has passed since an instant.
func (d *deadlines) isOver(since time.Time) bool {
	took := d.e.clock.Now().Sub(since)
	return took < 0 || took >= deepEvery
}

// putBack returns what had no turn in a commit; it goes before what is left.
func (d *deadlines) putBack(heads []Head) {
	d.left = slices.Concat(heads, d.left)
	d.next = d.e.now()
}

// What is read of the deadlines after the first sweepLimit ones.
const (
	deepLimit = 4 * sweepLimit
	deepEvery = 100 * time.Millisecond
)

// later lists more executions that may have a deadline, at most every deepEvery: the earliest may all be of one tenant.
// Each time it goes on where it was, or after last, and begins anew at the end.
func (d *deadlines) later(ctx context.Context, here flow.Time, last Head) []Head {
	if !d.isOver(d.deep) {
		return nil
	}
	d.deep = d.e.clock.Now()
	if cmp.Or(cmp.Compare(d.deepAt.DueAt, last.DueAt), cmp.Compare(d.deepAt.Num, last.Num)) < 0 {
		d.deepAt = last
	}
	heads, _, _, err := d.e.store.Due(ctx, here, d.e.shard, d.deepAt, deepLimit)
	if d.deepAt = (Head{}); err == nil && len(heads) == deepLimit {
		d.deepAt = heads[deepLimit-1]
	}
	return heads
}

// inTurn orders executions so that tenants take turns, those first whose last turn is longest ago.
func (d *deadlines) inTurn(heads []Head) []Head {
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
	slices.SortStableFunc(tenants, func(a, b string) int { return cmp.Compare(d.served[a], d.served[b]) })
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

func (d *deadlines) noteTurn(tenant string) {
	if len(d.served) >= maxCostly {
		d.served = nil
	}
	if d.served == nil {
		d.served = map[string]int{}
	}
	d.turns++
	d.served[tenant] = d.turns
}

// expire fires the deadlines of one execution that have come.
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

// pause is the backoff of an execution whose deadlines could not be handled. Otherwise it would fail the commits of
// others twice a second for ever.
type pause struct {
	until flow.Time
	took  time.Duration
}

const (
	maxPause = time.Minute
	maxIll   = 10_000 // executions that are backed off; with more, all are tried again
)

func (d *deadlines) backOff(id flow.ID) {
	took := min(max(2*d.ill[id].took, maxIdle), maxPause)
	if len(d.ill) >= maxIll {
		clear(d.ill)
	}
	d.ill[id] = pause{d.e.now().Add(took), took}
	d.lookAt(d.ill[id].until)
}

// ready leaves out the executions that are backed off.
func (d *deadlines) ready(heads []Head, now flow.Time) []Head {
	return slices.DeleteFunc(heads, func(h Head) bool {
		p := d.ill[h.ID]
		if p.until > now {
			d.lookAt(p.until)
		}
		return p.until > now
	})
}

// note ends the backoff of executions whose deadlines were handled, and backs off those that could not be.
func (d *deadlines) note(due []Head, ill []flow.ID) {
	for _, h := range due {
		if !slices.Contains(ill, h.ID) {
			delete(d.ill, h.ID)
		}
	}
	for _, id := range ill {
		d.backOff(id)
	}
}

// lookAt has the loop look for deadlines at an instant and reports whether it would have looked later.
func (d *deadlines) lookAt(at flow.Time) bool {
	if d.e.shard.none() || d.next != 0 && d.next <= at {
		return false
	}
	d.next = at
	return true
}

func (d *deadlines) untilNext() time.Duration {
	if d.next == 0 {
		return maxIdle
	}
	return min(maxIdle, max(0, d.next.Sub(d.e.now())))
}
