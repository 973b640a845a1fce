package bus

import (
	"context"
	"math/rand/v2"
	"time"

	"renga.dev/renga/internal/platform/canonical"
)

// The backoff in milliseconds doubles, give or take half.
const (
	backoffFirst = 50
	backoffMost  = 60_000
)

// The limits of a transaction, so that other keys go on.
const (
	keysAtOnce  = 32
	eventsOfKey = 64
)

// retryRest is the pause after a run as a multiple of its time, so that thousands of failing keys leave most of it to
// others.
const retryRest = 3

// retrier retries the heads of blocked keys.
type retrier struct {
	*parts
	applier *applier
	rest    time.Time // no retry before
}

func backoff(n int) canonical.Stamp {
	d := int64(backoffMost)
	if n <= 10 {
		d = min(d, backoffFirst<<(n-1))
	}
	return canonical.Stamp(d/2 + rand.Int64N(d)) // spreads retries
}

// runDue runs if a key is due and the pause is over.
func (rt *retrier) runDue(ctx context.Context) error {
	if rt.parked.due == 0 || rt.parked.due > rt.machineNow() || time.Now().Before(rt.rest) {
		return nil
	}
	began := time.Now()
	err := rt.run(ctx)
	rt.rest = time.Now().Add(retryRest * time.Since(began))
	return err
}

// run retries the heads of due keys, and the events after successful ones.
func (rt *retrier) run(ctx context.Context) error {
	var next canonical.Stamp
	rt.bus.cfg.Passed("reader.retry")
	err := rt.progress.commit(ctx, nil, func(ctx context.Context, t *changes) error {
		keys, err := rt.parked.dueKeys(ctx, t.Tx, t.now, rt.handler.atMost(keysAtOnce))
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := rt.drain(ctx, t, key); err != nil {
				return err
			}
		}
		if err := rt.parked.save(ctx, t); err != nil {
			return err
		}
		next, err = rt.parked.nextDue(ctx, t.Tx)
		return err
	})
	if rt.handler.suspectsPoison(ctx, err) {
		return nil // still due
	}
	if err == nil {
		rt.parked.due, rt.handler.poison.isolate = next, false
	}
	return err
}

// drain retries a key's parked events in order, up to the first failure.
func (rt *retrier) drain(ctx context.Context, t *changes, key string) error {
	if _, err := rt.versions.of(ctx, t, key); err != nil {
		return err
	}
	waiting, err := rt.parked.first(ctx, t.Tx, key, rt.handler.atMost(eventsOfKey))
	if err != nil {
		return err
	}
	for i := range waiting {
		p := &waiting[i]
		v, failed, err := rt.applier.try(ctx, t, &p.item)
		if err != nil {
			return err
		}
		if failed != nil {
			on, err := rt.failedAgain(ctx, t, key, p, failed)
			if err != nil || !on {
				return err
			}
			continue
		}
		if err := rt.parked.unpark(ctx, t, key, p); err != nil {
			return err
		}
		if p.dead != 0 {
			if err := rt.dlq.end(ctx, t, p.dead, v.ended()); err != nil {
				return err
			}
		}
	}
	if len(waiting) < rt.handler.atMost(eventsOfKey) {
		t.keys[key] = nil // none left
	}
	return nil
}

// failedAgain schedules the next retry of a key's head, or makes it a dead letter; on: later events may go on.
func (rt *retrier) failedAgain(
	ctx context.Context, t *changes, key string, p *parked, cause error,
) (on bool, err error) {
	t.counts.failed++
	l := rt.parked.change(t, key)
	l.attempt++
	f := failure(t.now, l.attempt, cause)
	if !IsPermanent(cause) && l.attempt < rt.consumer.tries() {
		l.nextTry, l.errors = t.now+backoff(l.attempt), []Failure{f}
		return false, nil
	}
	history, err := rt.parked.failures(ctx, t.Tx, key, l)
	if err != nil {
		return false, err
	}
	history = append(history, f)
	if p.dead != 0 {
		err = rt.dlq.reopen(ctx, t, p.dead, cause, history)
	} else {
		_, err = rt.dlq.add(ctx, t, &p.item, cause, history)
	}
	if err != nil {
		return false, err
	}
	if err := rt.parked.unpark(ctx, t, key, p); err != nil {
		return false, err
	}
	if rt.consumer.Continue {
		return true, nil
	}
	l.state, l.nextTry = keyBlocked, 0
	return false, nil
}

func (rt *retrier) untilDue() <-chan time.Time {
	if rt.parked.due == 0 {
		return nil
	}
	return time.After(max(time.Duration(rt.parked.due-rt.machineNow())*time.Millisecond, time.Until(rt.rest),
		time.Millisecond))
}
