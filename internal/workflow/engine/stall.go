package engine

import (
	"context"
	"time"
)

// slow is how long a claim may wait for a task that is ready until the log says why.
const slow = time.Second

// noteLate counts a claim whose task was ready for longer than slow, and says why: the commit took
// that long, the claim stood in the queue of the loop, or it waited and nothing woke it.
func (e *Engine) noteLate(ctx context.Context, b *batch, c *claim) {
	if len(c.out.Tasks) == 0 || c.ready == 0 { // replayed: they were given long ago
		return
	}
	now := e.clock.Now()
	since := c.ready.Add(-e.skew).Std()
	if since.Before(c.since) {
		since = c.since
	}
	waited := now.Sub(since)
	if waited <= slow {
		return
	}
	reason := "queue"
	switch {
	case 2*now.Sub(b.began) > waited:
		reason = "commit"
	case c.asked.Load():
		reason = "wake"
	}
	e.counters.stalls.Add(1)
	e.cfg.Log.WarnContext(ctx, "a claim was held up", "reason", reason, "ms", waited.Milliseconds(),
		"tenant", c.req.Tenant,
		"queue", c.out.Tasks[0].Queue)
}
