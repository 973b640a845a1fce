package bus

import (
	"context"
	"fmt"

	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// decisionsAtOnce is how many decisions a transaction carries out.
const decisionsAtOnce = 64

type decidedLetter struct {
	num    int64
	status Status
	item   item
}

// decider carries out decisions about dead letters, of operators and automatic ones.
type decider struct{ *parts }

// run carries out decisions; more: there may be more.
func (dc *decider) run(ctx context.Context) (more bool, err error) {
	more, err = dc.autoRedrive(ctx)
	if err != nil {
		return false, err
	}
	var found []decidedLetter
	err = dc.bus.read(ctx, "bus.decisions", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		found, err = dc.dlq.decided(ctx, tx)
		return err
	})
	if err != nil || len(found) == 0 {
		return more, err
	}
	err = dc.progress.commit(ctx, nil, func(ctx context.Context, t *changes) error {
		for i := range found {
			if err := dc.carryOut(ctx, t, &found[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return more || len(found) == decisionsAtOnce, err
}

func (dc *decider) carryOut(ctx context.Context, t *changes, l *decidedLetter) error {
	if l.status == Skipping {
		return dc.skip(ctx, t, l)
	}
	e := &l.item.event
	if e.Key == "" { // unreadable, so there is no key to block
		return dc.dlq.reopen(ctx, t, l.num, l.item.bad, []Failure{failure(t.now, 1, l.item.bad)})
	}
	if dc.parked.of(t, e.Key) == nil {
		t.block(e)
	}
	if err := dc.parked.park(ctx, t, &l.item, l.num); err != nil {
		return err
	}
	dc.parked.retryNow(t, e.Key)
	return nil
}

// skip ends a dead letter without applying its event and unblocks its key. If the consumer refuses, it is open again
// with the reason.
func (dc *decider) skip(ctx context.Context, t *changes, l *decidedLetter) error {
	e := &l.item.event
	if l.item.bad == nil {
		failed, err := dc.markSkipped(ctx, t, e)
		if err != nil {
			return err
		}
		if failed != nil {
			return dc.dlq.reopen(ctx, t, l.num, failed, []Failure{failure(t.now, 1, failed)})
		}
	}
	if err := dc.dlq.end(ctx, t, l.num, Skipped); err != nil {
		return err
	}
	if l := dc.parked.of(t, e.Key); l == nil || l.state != keyBlocked {
		return nil
	}
	var waiting int
	if err := t.Row(ctx, "SELECT count(*) FROM bus_parked WHERE consumer = $1 AND partition_key = $2",
		dc.consumer.Name,
		e.Key).Scan(&waiting); err != nil {
		return err
	}
	if waiting == 0 {
		t.keys[e.Key] = nil
		return nil
	}
	dc.parked.retryNow(t, e.Key)
	return nil
}

// markSkipped marks an event as processed and calls GivenUp. failed is the consumer's refusal, after which nothing
// was written; err is why the transaction cannot continue.
func (dc *decider) markSkipped(ctx context.Context, t *changes, e *events.Event) (failed, err error) {
	err = t.Savepoint(ctx, func(ctx context.Context) error {
		if err := t.Batch(ctx, dc.dedupe.insert(e)); err != nil {
			return err
		}
		return dc.handler.handleSkipped(ctx, t.Tx, e)
	})
	switch {
	case fault.KindOf(err) == fault.Unavailable:
		return nil, err
	case err != nil:
		return fmt.Errorf("the event cannot be skipped: %w", err), nil
	}
	p, err := dc.versions.of(ctx, t, e.Key)
	if err != nil || versionOf(e).compare(p) <= 0 {
		return nil, err
	}
	t.versions[e.Key] = versionOf(e)
	return nil, dc.versions.save(ctx, t, []string{e.Key})
}
