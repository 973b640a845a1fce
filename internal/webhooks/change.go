package webhooks

import (
	"context"
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
)

// ParseDefinition reads a definition by what the operator allows.
func (w *Webhooks) ParseDefinition(body []byte) (Definition, Headers, error) {
	return w.cfg.Allowed.ParseDefinition(body)
}

// Put stores a definition that ParseDefinition has read. created says that there was no webhook with this id; the
// answer then has its secret. Deliveries that are open go to the new URL.
func (w *Webhooks) Put(ctx context.Context, c Caller, id string, d Definition, h Headers) (
	stored Webhook, created bool, err error,
) {
	if !ValidID(id) {
		return stored, false, invalid("id", "the id of a webhook is 1 to %d of A-Z a-z 0-9 . _ -", MaxID)
	}
	body, err := json.Marshal(&d, json.Deterministic(true))
	if err != nil {
		return stored, false, fault.Wrap("webhooks.put", err)
	}
	err = w.write(ctx, "put", func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		r, err := lock(ctx, tx, c.Tenant, id)
		created = isUnknown(err)
		switch {
		case created:
			r = row{
				tenant: c.Tenant, id: id, hook: uuid.NewString(), def: d, body: string(body), header: h.By,
				health: health{state: Active, since: now}, secrets: secrets{current: newSecret()}, created: now,
				updated: now,
			}
			if err := w.create(ctx, tx, c, &r, now); err != nil {
				return err
			}
			stored = r.shown(now)
			stored.Secret = r.current.text()
			return nil
		case err != nil:
			return err
		}
		if r.body == string(body) && (!h.Given || maps.Equal(h.By, r.header)) {
			stored = r.shown(now)
			return nil
		}
		if r.def, r.body, r.updated = d, string(body), now; h.Given {
			r.header = h.By
		}
		if r.strikes > 0 && r.sends() { // perhaps it is well now
			r.look = now
		}
		stored = r.shown(now)
		return w.store(ctx, tx, &r, entry{by: c, action: "webhook.put", id: id, at: now})
	})
	return stored, created, err
}

func (w *Webhooks) create(ctx context.Context, tx *sqldb.Tx, c Caller, r *row, now canonical.Stamp) error {
	var n int
	if err := tx.Row(ctx, countRows, c.Tenant).Scan(&n); err != nil {
		return err
	}
	if n >= MaxWebhooks {
		return fault.New(fault.TooLarge, "TOO_MANY_WEBHOOKS",
			"there are %d webhooks, the most that a tenant may have; delete some", n)
	}
	st, err := r.stmt(insertRow)
	if err != nil {
		return err
	}
	if err := tx.Batch(ctx, st); err != nil {
		return err
	}
	return w.note(ctx, tx, entry{by: c, action: "webhook.put", id: r.id, at: now})
}

// Delete deletes a webhook. Nothing is sent any more.
func (w *Webhooks) Delete(ctx context.Context, c Caller, id string) error {
	return w.write(ctx, "delete", func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		if _, err := lock(ctx, tx, c.Tenant, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM webhooks_webhook WHERE tenant_id = $1 AND id = $2", c.Tenant, id)
		if err != nil {
			return err
		}
		return w.note(ctx, tx, entry{by: c, action: "webhook.delete", id: id, at: now})
	})
}

// MaxReason is the most characters of the reason of a pause.
const MaxReason = 1024

// Pause lets a webhook send nothing until Resume. Its deliveries wait. Pausing what is paused changes nothing.
func (w *Webhooks) Pause(ctx context.Context, c Caller, id, reason string, key *canonical.IdempotencyKey) (
	Webhook, error,
) {
	return w.change(ctx, "pause", c, id, key, func(r *row, now canonical.Stamp) (entry, error) {
		if r.state == Paused {
			return entry{}, nil
		}
		r.state, r.since, r.reason, r.strikes, r.look = Paused, now, reason, 0, 0
		if r.recovering() {
			r.look = now
		}
		return entry{action: "webhook.pause", reason: reason}, nil
	})
}

// Resume lets a webhook send that is paused, parked or disabled. Resuming what is active changes nothing.
func (w *Webhooks) Resume(ctx context.Context, c Caller, id string, key *canonical.IdempotencyKey) (Webhook, error) {
	return w.change(ctx, "resume", c, id, key, func(r *row, now canonical.Stamp) (entry, error) {
		if r.state == Active && r.strikes == 0 {
			return entry{}, nil
		}
		r.state, r.since, r.reason, r.strikes, r.look = Active, now, "", 0, now
		return entry{action: "webhook.resume"}, nil
	})
}

// The lives of a previous secret.
const (
	DefaultOverlap = 24 * time.Hour
	mostOverlap    = 30 * 24 * time.Hour
)

// Rotate makes a new secret, which the answer has. The one before signs, too, for some time. The answer to a
// repetition has no secret.
func (w *Webhooks) Rotate(
	ctx context.Context, c Caller, id string, overlap time.Duration, key *canonical.IdempotencyKey,
) (Webhook, error) {
	if overlap < 0 || overlap > mostOverlap {
		return Webhook{}, invalid("overlap", "overlap must be between 0s and %s", mostOverlap)
	}
	var made string
	shown, err := w.change(ctx, "rotate", c, id, key, func(r *row, now canonical.Stamp) (entry, error) {
		r.secrets = secrets{current: newSecret(), previous: r.current, until: now + stamps(overlap)}
		if overlap == 0 {
			r.previous = secret{}
		}
		made = r.current.text()
		return entry{action: "webhook.rotate"}, nil
	})
	if err == nil {
		shown.Secret = made
	}
	return shown, err
}

// Recover lets the events since an instant wait that the webhook asks for and did not get.
func (w *Webhooks) Recover(
	ctx context.Context, c Caller, id string, since canonical.Stamp, key *canonical.IdempotencyKey,
) (Webhook, error) {
	return w.change(ctx, "recover", c, id, key, func(r *row, now canonical.Stamp) (entry, error) {
		switch {
		case since > now:
			return entry{}, invalid("since", "since must not be later than now")
		case since < now-stamps(bus.Horizon):
			return entry{}, invalid("since", "since must be within the last %d days: older events are not retained",
				bus.Horizon/(24*time.Hour))
		}
		r.rec, r.place, r.look = Recovery{Since: since}, -1, now
		if since <= r.missed {
			r.missed = 0
		}
		return entry{action: "webhook.recover", reason: "since " + since.String()}, nil
	})
}

// Redeliver lets a delivery wait again, whatever became of it; it is sent before later ones of its key.
func (w *Webhooks) Redeliver(
	ctx context.Context, c Caller, id, eventID string, key *canonical.IdempotencyKey,
) (Delivery, error) {
	return w.decide(ctx, "redeliver", c, id, eventID, key, func(r *row, d *Delivery, now canonical.Stamp) error {
		if d.State == Delivered || d.State == Skipped {
			r.open++
		}
		if d.State, d.Tries, d.DueAt = Waiting, 0, 0; r.sends() {
			r.wake(now)
		}
		return nil
	})
}

// Skip gives a delivery up that is open; later ones of its key go on.
func (w *Webhooks) Skip(
	ctx context.Context, c Caller, id, eventID string, key *canonical.IdempotencyKey,
) (Delivery, error) {
	return w.decide(ctx, "skip", c, id, eventID, key, func(r *row, d *Delivery, now canonical.Stamp) error {
		if d.State == Delivered || d.State == Skipped {
			return fault.New(fault.Conflict, "WEBHOOK_DELIVERY_SETTLED",
				"the delivery is %s already; there is nothing to skip", d.State)
		}
		r.open--
		d.State, d.DueAt = Skipped, 0
		if r.sends() {
			r.wake(now)
		}
		return nil
	})
}

// decide changes a delivery once for a key.
func (w *Webhooks) decide(
	ctx context.Context, op string, c Caller, id, eventID string, key *canonical.IdempotencyKey,
	set func(r *row, d *Delivery, now canonical.Stamp) error,
) (answer Delivery, err error) {
	err = w.write(ctx, op, func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		request := idempotency.Request{Tenant: c.Tenant, Key: key, At: now}
		answer, _, err = idempotency.DoJSON(ctx, tx, w.keys, request, func() (d Delivery, err error) {
			r, err := lock(ctx, tx, c.Tenant, id)
			if err != nil {
				return d, err
			}
			if d, err = deliveryOf(ctx, tx, &r, eventID); err != nil {
				return d, err
			}
			if err := set(&r, &d, now); err != nil {
				return d, err
			}
			if _, err := tx.Exec(ctx, `UPDATE webhooks_delivery SET state = $4, tries = $5, due_at = $6
				WHERE tenant_id = $1 AND hook = $2 AND seq = $3`, c.Tenant, r.hook, d.Seq, d.State, d.Tries,
				d.DueAt); err != nil {
				return d, err
			}
			return d, w.store(ctx, tx, &r, entry{
				by: c, action: "webhook." + op, id: id, reason: eventID, at: now,
			})
		})
		return err
	})
	return answer, err
}

// change changes a webhook once for a key. A change without an action changes nothing.
func (w *Webhooks) change(
	ctx context.Context, op string, c Caller, id string, key *canonical.IdempotencyKey,
	set func(r *row, now canonical.Stamp) (entry, error),
) (answer Webhook, err error) {
	err = w.write(ctx, op, func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		request := idempotency.Request{Tenant: c.Tenant, Key: key, At: now}
		answer, _, err = idempotency.DoJSON(ctx, tx, w.keys, request, func() (Webhook, error) {
			r, err := lock(ctx, tx, c.Tenant, id)
			if err != nil {
				return Webhook{}, err
			}
			note, err := set(&r, now)
			if err != nil || note.action == "" {
				return r.shown(now), err
			}
			r.updated = now
			note.by, note.id, note.at = c, id, now
			return r.shown(now), w.store(ctx, tx, &r, note)
		})
		return err
	})
	return answer, err
}

// entry is the line of the audit log about a change.
type entry struct {
	by     Caller
	action string
	id     string
	reason string
	at     canonical.Stamp
}

// store stores a locked webhook with the line of the audit log.
func (w *Webhooks) store(ctx context.Context, tx *sqldb.Tx, r *row, e entry) error {
	if err := r.save(ctx, tx); err != nil {
		return err
	}
	tx.OnCommit(w.wake)
	return w.note(ctx, tx, e)
}

func (w *Webhooks) note(ctx context.Context, tx *sqldb.Tx, e entry) error {
	line, err := audit.Stmt(audit.Entry{
		At: e.at, Tenant: e.by.Tenant, Actor: e.by.Subject, Action: e.action, Subject: e.id,
		CorrelationID: e.by.CorrelationID, Outcome: audit.Accepted, Reason: e.reason,
	})
	if err != nil {
		return err
	}
	return tx.Batch(ctx, line)
}
