package webhooks

import (
	"context"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// recoverRest is how long a recovery waits for room, or for events that are being committed.
const recoverRest = time.Second

// pageMost is about how many events of the outbox a page of a recovery has at most.
const pageMost = 2_000

// recoverSome plans a page of a recovery: the events of the outbox since an instant that the webhook asks for and that
// were not delivered to it. rest is how long the recovery waits then.
func (w *works) recoverSome(ctx context.Context, c *claim) (rest time.Duration, err error) {
	var r row
	err = w.read(ctx, "recovering", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		if r, err = scanRow(tx.Row(ctx, selectRow, c.tenant, c.id)); lostIfNone(err) != nil {
			return errLost
		}
		return err
	})
	if err != nil || !r.recovering() {
		return 0, err
	}
	if r.open+pageMost > MaxOpen {
		return recoverRest, nil
	}
	if c.tail == nil {
		from := bus.TailFrom{At: r.rec.Since}
		if r.place >= 0 {
			from.Place = &r.place
		}
		if c.tail, err = w.cfg.Tails.Tail(ctx, bus.EventFilter{Tenant: c.tenant}, from); err != nil {
			return 0, err
		}
	}
	page, more, err := c.tail.Next(ctx)
	if err != nil {
		return 0, err
	}
	all := make([]*event, 0, len(page))
	for _, e := range page {
		parsed, err := events.ParseEvent(e.Body)
		if err == nil {
			all = append(all, &event{
				id: parsed.ID, typ: parsed.Type, key: parsed.Key, at: parsed.OccurredAt, body: e.Body,
			})
		}
	}
	ended := !more && !c.tail.Held()
	if !more && !ended {
		rest = recoverRest
	}
	return rest, w.write(ctx, "recover", func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		locked, err := w.claimed(ctx, tx, c)
		if err != nil {
			return err
		}
		if locked.hook != r.hook || locked.rec.Since != r.rec.Since || !locked.recovering() {
			c.tail = nil // another recovery was asked for
			return nil
		}
		if err := w.replan(ctx, tx, &locked, all, now); err != nil {
			return err
		}
		if locked.place = c.tail.Place(); ended {
			locked.rec.EndedAt, c.tail = now, nil
		}
		return locked.save(ctx, tx)
	})
}

const reopen = `UPDATE webhooks_delivery SET state = 1, tries = 0, due_at = 0
	WHERE tenant_id = $1 AND hook = $2 AND state = $3 AND `

// replan lets the events wait that a locked webhook asks for and did not get.
func (w *works) replan(ctx context.Context, tx *sqldb.Tx, r *row, all []*event, now canonical.Stamp) error {
	a := asking{id: r.id, def: r.def}
	a.choose(all)
	var ids []string
	for _, one := range a.wanted {
		if one.failed == "" {
			ids = append(ids, one.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	for _, state := range []DeliveryState{Failed, Skipped} {
		binds := sqldb.Bind(r.tenant, r.hook, state)
		n, err := tx.Exec(ctx, reopen+binds.OneOf(tx, "event_id", ids), binds.Args()...)
		if err != nil {
			return err
		}
		if r.rec.Planned += n; state == Skipped {
			r.open += n
		}
	}
	n, err := w.planFor(ctx, tx, r, a.wanted, now)
	r.rec.Planned += n
	return err
}
