package bus

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

const (
	batchMost    = 256                   // events of one transaction
	batchLeast   = 16                    // of a slow one
	batchTimeout = 2 * time.Second       // for the handlers
	oneByOneTime = 20 * time.Millisecond // after which single events are committed
	batchTime    = 50 * time.Millisecond // after which batches shrink
)

// errOneByOne: an event of the batch fails, so they must be applied one by one.
var errOneByOne = errors.New("the batch must be taken event by event")

// applier applies events: each is a duplicate, stale, parked at its blocked key, or handled.
type applier struct {
	*parts
	most int // events of a transaction
}

// consume applies events and commits the position after them, in transactions of at most most events, so that other
// writers do not wait long.
func (ap *applier) consume(ctx context.Context, items []item, behind func([]item) position) error {
	for len(items) > 0 {
		n := min(len(items), ap.most)
		if err := ap.consumeBatch(ctx, items[:n], behind); err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}

// consumeBatch applies a batch in one transaction without savepoints. If an event fails, it applies the batch again
// event by event, each in a savepoint.
func (ap *applier) consumeBatch(ctx context.Context, items []item, behind func([]item) position) error {
	to := behind(items)
	err := ap.progress.commit(ctx, &to, func(ctx context.Context, t *changes) error {
		began := time.Now()
		defer func() { ap.fit(len(items), time.Since(began)) }()
		return ap.applyBatch(ctx, t, items)
	})
	if !errors.Is(err, errOneByOne) && !ap.handler.suspectsPoison(ctx, err) {
		return err
	}
	for len(items) > 0 {
		n := 0
		err := ap.progress.commit(ctx, &to, func(ctx context.Context, t *changes) (err error) {
			if n, err = ap.applySome(ctx, t, items); err == nil {
				to = behind(items[:n])
			}
			return err
		})
		if ap.handler.suspectsPoison(ctx, err) {
			continue
		}
		if err != nil {
			return err
		}
		items = items[n:]
	}
	ap.handler.poison.isolate = false
	return nil
}

func (ap *applier) fit(n int, took time.Duration) {
	switch {
	case took > batchTime:
		ap.most = max(batchLeast, n/2)
	case took < batchTime/4 && n == ap.most:
		ap.most = min(batchMost, 2*n)
	}
}

// applySome applies events one by one for oneByOneTime, at least one, so that a slow handler does not hold up other
// writers.
func (ap *applier) applySome(ctx context.Context, t *changes, items []item) (n int, err error) {
	for began := time.Now(); n < len(items); {
		if err := ap.applyOne(ctx, t, &items[n]); err != nil {
			return n, err
		}
		if n++; ap.handler.poison.isolate || time.Since(began) > oneByOneTime {
			break
		}
	}
	return n, nil
}

// applyBatch applies a batch; if anything fails it returns errOneByOne.
func (ap *applier) applyBatch(ctx context.Context, t *changes, items []item) error {
	if err := ap.versions.load(ctx, t, items); err != nil {
		return err
	}
	var todo []*item
	for i := range items {
		it := &items[i]
		switch {
		case it.Relay.Epoch < ap.progress.pos.minRelay:
		case ap.parked.keys[it.event.Key] != nil:
			if err := ap.parked.park(ctx, t, it, 0); err != nil {
				return err
			}
		case it.bad != nil:
			return errOneByOne
		default:
			if again, err := ap.dlq.isKnownDead(ctx, t, &it.event); err != nil || again {
				if err != nil {
					return err
				}
				continue
			}
			switch t.judge(&it.event) {
			case apply:
				todo = append(todo, it)
			case conflict:
				return errOneByOne
			}
		}
	}
	if err := ap.dedupe.markAll(ctx, t.Tx, todo); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	touched := make(map[string]bool, len(todo))
	if err := ap.handler.handleAll(ctx, t.Tx, todo); err != nil {
		return errOneByOne
	}
	for _, it := range todo {
		touched[it.event.Key] = true
	}
	t.counts.applied += len(todo)
	return ap.versions.save(ctx, t, slices.Sorted(maps.Keys(touched)))
}

func (ap *applier) applyOne(ctx context.Context, t *changes, it *item) error {
	key := it.event.Key
	switch {
	case it.Relay.Epoch < ap.progress.pos.minRelay:
		return nil
	case ap.parked.of(t, key) != nil:
		return ap.parked.park(ctx, t, it, 0)
	}
	if again, err := ap.dlq.isKnownDead(ctx, t, &it.event); err != nil || again {
		return err
	}
	if err := ap.versions.load(ctx, t, []item{*it}); err != nil {
		return err
	}
	_, failed, err := ap.try(ctx, t, it)
	if err != nil || failed == nil {
		return err
	}
	return ap.fail(ctx, t, it, failed)
}

// try applies one event, unless the version guard rejects it, and rolls back to a savepoint when its handler fails.
// failed is why the event cannot be applied, err why the transaction cannot continue.
func (ap *applier) try(ctx context.Context, t *changes, it *item) (v verdict, failed, err error) {
	if it.bad != nil {
		return apply, it.bad, nil
	}
	e, before, counted := &it.event, t.versions[it.event.Key], t.counts
	if v = t.judge(e); v == conflict {
		return v, Permanent(conflictOf(e, before)), nil
	}
	if v != apply {
		return v, nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, handleTimeout)
	defer cancel()
	t.Disown() // each event has the budgets of a transaction
	err = t.Savepoint(ctx, func(ctx context.Context) error {
		left, err := ap.dedupe.mark(ctx, t, []*item{it})
		if err != nil || len(left) == 0 {
			v = duplicate
			return err
		}
		if failed = ap.handler.handle(ctx, t.Tx, e); failed != nil {
			return failed
		}
		t.counts.applied++
		return ap.versions.save(ctx, t, []string{e.Key})
	})
	if failed != nil {
		t.versions[e.Key], t.counts = before, counted
		return v, failed, nil
	}
	return v, nil, err
}

// fail blocks the key of an event after its first failure: the event is parked for a retry or becomes a dead letter.
func (ap *applier) fail(ctx context.Context, t *changes, it *item, cause error) error {
	e := &it.event
	if again, err := ap.dlq.isDead(ctx, t.Tx, e); err != nil || again {
		t.counts.duplicate++
		return err
	}
	t.counts.failed++
	f := failure(t.now, 1, cause)
	l := t.block(e)
	if it.bad == nil { // a broken event's version says nothing about later ones
		l.last = keyVersion{version: e.Version, index: e.Index}
	}
	if IsPermanent(cause) || ap.consumer.tries() == 1 {
		if _, err := ap.dlq.add(ctx, t, it, cause, []Failure{f}); err != nil {
			return err
		}
		l.state = keyBlocked
		if ap.consumer.Continue || e.Key == "" {
			delete(t.keys, e.Key)
		}
		return nil
	}
	l.attempt, l.nextTry, l.errors = 1, t.now+backoff(1), []Failure{f}
	return ap.parked.park(ctx, t, it, 0)
}
