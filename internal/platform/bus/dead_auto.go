package bus

import (
	"context"
	"time"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

const Automatic = "system"

func redrive(ctx context.Context, tx *sqldb.Tx, l *Foreseen, now canonical.Stamp) error {
	d := Decision{Tenant: l.Tenant, Actor: Automatic, Reason: "automatic redrive"}
	_, err := tx.Exec(ctx, `UPDATE bus_dead SET status = $2, decided_by = $3, decided_at = $4, redrive_at = 0,
		reason = $5, decided_in = ''
		WHERE id = $1 AND status = 0`, l.ID, int(Redriving), d.Actor, now, d.Reason)
	if err != nil {
		return err
	}
	return audit.Write(ctx, tx, d.entry(&l.DeadLetter, &DeadAnswer{Verdict: l.Verdict}, now))
}

// Bounds of the postponement of a redrive while an older dead letter of its key is in front.
const (
	putOffLeast = time.Second
	putOffMost  = time.Minute
)

// redriveAt is when a new dead letter is redriven; 0: never.
func (dq *deadLetterQueue) redriveAt(cause error, now canonical.Stamp) canonical.Stamp {
	if IsPermanent(cause) || dq.consumer.AutoRedrive == 0 {
		return 0
	}
	return now + max(1, canonical.Stamp(dq.consumer.AutoRedrive/time.Millisecond))
}

func (dq *deadLetterQueue) dueForRedrive(
	ctx context.Context,
	tx *sqldb.Tx,
	now canonical.Stamp,
) ([]DeadLetter, error) {
	return deadRows(ctx, tx, "SELECT "+deadColumns+` FROM bus_dead WHERE consumer = $1 AND part = $2 AND status = 0
		AND redrive_at > 0 AND redrive_at <= $3 ORDER BY num LIMIT $4`, dq.consumer.Name, dq.lease.part, now,
		decideChunk)
}

// postponeRedrive postpones a redrive while an older dead letter of the key is in front; otherwise it cancels it.
func (dq *deadLetterQueue) postponeRedrive(
	ctx context.Context, t *changes, l *Foreseen, guard Guard,
) error {
	var at canonical.Stamp
	if guard == GuardKeyOrder {
		at = t.now + canonical.Stamp(min(max(dq.consumer.AutoRedrive, putOffLeast), putOffMost)/time.Millisecond)
	}
	_, err := t.Exec(ctx, "UPDATE bus_dead SET redrive_at = $2 WHERE id = $1 AND status = 0", l.ID, at)
	return err
}

// autoRedrive redrives what is due; more: there may be more.
func (dc *decider) autoRedrive(ctx context.Context) (more bool, err error) {
	if dc.consumer.AutoRedrive == 0 {
		return false, nil
	}
	first, err := readValue[canonical.Stamp](
		ctx,
		dc.bus,
		"bus.redrive",
		`SELECT coalesce(min(redrive_at), 0) FROM bus_dead
		WHERE consumer = $1 AND part = $2 AND status = 0 AND redrive_at > 0`,
		dc.consumer.Name,
		dc.lease.part,
	)
	if err != nil || first == 0 || first > dc.machineNow() {
		return false, err
	}
	err = dc.progress.commit(ctx, nil, func(ctx context.Context, t *changes) (err error) {
		more, err = dc.redriveDue(ctx, t)
		return err
	})
	return more, err
}

// redriveDue decides like an operator, one by one. One that must wait for an older dead letter of its key is
// postponed, so those of a key go in order.
func (dc *decider) redriveDue(ctx context.Context, t *changes) (more bool, err error) {
	due, err := dc.dlq.dueForRedrive(ctx, t.Tx, t.now)
	if err != nil {
		return false, err
	}
	for i := range due {
		seen, err := foresee(ctx, t.Tx, due[i].Tenant, nil, []string{due[i].ID}, true)
		if err != nil {
			return false, err
		}
		if status, guard := seen[0].Status.decide(false, seen[0].Verdict); status == Redriving && guard == "" {
			err = redrive(ctx, t.Tx, &seen[0], t.now)
		} else {
			err = dc.dlq.postponeRedrive(ctx, t, &seen[0], guard)
		}
		if err != nil {
			return false, err
		}
	}
	return len(due) == decideChunk, nil
}
