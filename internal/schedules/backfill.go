package schedules

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
)

// MaxBackfill is how many instants of backfills of a schedule may wait at a time, and one backfill may be about.
const MaxBackfill = 1000

// Window is the past instants that a backfill is about: from From on, before To.
type Window struct {
	From canonical.Stamp `json:"from"`
	To   canonical.Stamp `json:"to"`
}

// Backfill is what a backfill found in its window.
type Backfill struct {
	Window
	Instants int `json:"instants"` // at which the schedule comes
	Queued   int `json:"queued"`   // of them, that wait from now on
	Covered  int `json:"covered"`  // of them, that have an execution or were waiting
}

// insertBackfill lets an instant wait that an earlier backfill could not start.
var insertBackfill = sqldb.NewInsert("schedules_run (tenant_id, schedule_id, "+runColumns+")",
	`ON CONFLICT (tenant_id, schedule_id, due_at, origin) DO UPDATE SET outcome = excluded.outcome, reason = '',
	message = '', execution_id = '', overlapped = '', decided_at = excluded.decided_at`,
	"text", "text", "bigint", "bigint", "bigint", "bigint", "bigint", "text", "text", "text", "text", "bigint")

// Backfill lets the instants of a window wait that have no execution. They are started one after the other, the oldest
// first, when nothing else of the schedule is active or waits.
func (s *Schedules) Backfill(
	ctx context.Context, c Caller, id string, w Window, reason string, key *canonical.IdempotencyKey,
) (answer Backfill, err error) {
	if w.From >= w.To {
		return answer, invalid("to", "to must be after from")
	}
	err = s.change(ctx, "backfill", c.Tenant, id, func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		request := idempotency.Request{Tenant: c.Tenant, Key: key, At: now}
		answer, _, err = idempotency.DoJSON(ctx, tx, s.keys, request, func() (Backfill, error) {
			r, err := locked(ctx, tx, c.Tenant, id, now)
			if err != nil {
				return Backfill{}, err
			}
			return s.backfill(ctx, tx, c, &r, w, reason, now)
		})
		return err
	})
	return answer, err
}

func (s *Schedules) backfill(
	ctx context.Context, tx *sqldb.Tx, c Caller, r *row, w Window, reason string, now canonical.Stamp,
) (out Backfill, err error) {
	out.Window = w
	if w.To > now {
		return out, invalid("to", "to must not be later than now: the schedule starts the instants to come itself")
	}
	t, err := r.timing()
	if err != nil {
		return out, err
	}
	all, _ := t.due(t.next(w.From-1), w.To-1, MaxBackfill+1)
	if len(all) > MaxBackfill {
		return out, invalid("from", "the schedule comes more than %d times between from and to; make that shorter",
			MaxBackfill)
	}
	covered, err := sqldb.Collect(ctx, tx, sqldb.Column[canonical.Stamp], `SELECT due_at FROM schedules_run
		WHERE tenant_id = $1 AND schedule_id = $2 AND due_at >= $3 AND due_at < $4 AND outcome IN (1, 4)
		ORDER BY due_at`, c.Tenant, r.ID, w.From, w.To)
	if err != nil {
		return out, err
	}
	var waits facts
	if err := waits.waiting(ctx, tx, c.Tenant, r.ID); err != nil {
		return out, err
	}
	var values []any
	for _, due := range all {
		if _, found := slices.BinarySearch(covered, due); found {
			out.Covered++
			continue
		}
		one := Run{DueAt: due, LastAt: due, Instants: 1, Origin: ByBackfill, Outcome: Queued, DecidedAt: now}
		values = append(values, one.values(c.Tenant, r.ID)...)
		out.Queued++
	}
	if out.Instants = len(all); waits.filling+out.Queued > MaxBackfill {
		return out, fault.New(fault.TooLarge, "TOO_MANY_INSTANTS",
			"%d instants of backfills wait, and %d more would be more than %d; make the window shorter, or wait",
			waits.filling, out.Queued, MaxBackfill)
	}
	detail, err := json.Marshal(&out)
	if err != nil {
		return out, err
	}
	if r.held = 0; out.Queued > 0 {
		r.Queued += out.Queued
		r.look = now
	}
	note := entry{by: c, action: "schedule.backfill", id: r.ID, reason: reason, detail: detail, at: now}
	if err := s.store(ctx, tx, r.update(c.Tenant), note); err != nil {
		return out, err
	}
	return out, tx.Batch(ctx, insertBackfill.Stmts(tx, values)...)
}

// CancelBackfill gives up the instants of backfills that wait. What was started goes on. It changes nothing where none
// waits.
func (s *Schedules) CancelBackfill(ctx context.Context, c Caller, id string) error {
	return s.change(ctx, "cancel", c.Tenant, id, func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		r, err := locked(ctx, tx, c.Tenant, id, now)
		if err != nil {
			return err
		}
		gone, err := giveUp(ctx, tx, c.Tenant, id, Canceled, now)
		if err != nil || gone == 0 {
			return err
		}
		r.Queued -= int(gone)
		if r.held, r.look = 0, r.NextAt; r.Queued > 0 {
			r.look = now
		}
		return s.store(ctx, tx, r.update(c.Tenant), entry{by: c, action: "schedule.backfill.cancel", id: id, at: now})
	})
}
