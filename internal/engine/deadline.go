package engine

import (
	"context"

	"renga.dev/renga/internal/flow"
)

// dueHeads lists executions that may have a deadline by now. DueAt is a lower
// bound: whether anything is due is for their states to say.
func (e *Engine) dueHeads(ctx context.Context) []Head {
	now := flow.At(e.clock.Now())
	if e.nextDue == 0 || now < e.nextDue {
		return nil
	}
	heads, next, err := e.store.Due(ctx, now, sweepLimit)
	if err != nil {
		e.cfg.Log.ErrorContext(ctx, "deadlines could not be read", "error", err)
		e.nextDue = now.Add(maxIdle)
		return nil
	}
	e.nextDue = next
	if len(heads) == sweepLimit {
		e.nextDue = now
	}
	return heads
}

// expire fires the deadlines of one execution that have come, and notes when to
// look again.
func (b *batch) expire(h Head) error {
	ent, err := b.entry(h.Tenant, h.ID)
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
