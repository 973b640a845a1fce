package schedules

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
)

// errDue says that instants of a schedule have come that have no outcome yet. A change waits for that: it is about
// the instants to come.
var errDue = errors.New("schedules: instants are due")

// errStored says that another process has stored a schedule with the id since somebody looked for one.
var errStored = errors.New("schedules: the schedule was stored meanwhile")

// change runs a transaction that changes a schedule, when every instant that has come has its outcome.
func (s *Schedules) change(
	ctx context.Context, op, tenant, id string, do func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error,
) error {
	for {
		err := s.write(ctx, op, func(ctx context.Context, tx *sqldb.Tx) error {
			now, err := s.now(ctx, tx)
			if err != nil {
				return err
			}
			return do(ctx, tx, now)
		})
		switch {
		case errors.Is(err, errStored):
			continue
		case !errors.Is(err, errDue):
			return err
		}
		if err := s.settle(ctx, tenant, id); err != nil {
			return err
		}
	}
}

// locked is lock of a schedule that must be there and have no due instant without an outcome.
func locked(ctx context.Context, tx *sqldb.Tx, tenant, id string, now canonical.Stamp) (row, error) {
	r, found, err := lock(ctx, tx, tenant, id)
	switch {
	case err != nil:
		return r, err
	case !found:
		return r, unknown(id)
	case r.NextAt > 0 && r.NextAt <= now:
		return r, errDue
	}
	return r, nil
}

// Put stores a definition that ParseDefinition has read. created says that there was no schedule with this id. One
// that says the same as what is stored changes nothing.
func (s *Schedules) Put(ctx context.Context, c Caller, id string, d Definition) (
	stored Schedule, created bool, err error,
) {
	t, err := s.checked(ctx, c.Tenant, id, &d)
	if err != nil {
		return stored, false, err
	}
	body, err := json.Marshal(&d, json.Deterministic(true))
	if err != nil {
		return stored, false, fault.Wrap("schedules.put", err)
	}
	err = s.change(ctx, "put", c.Tenant, id, func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		r, err := locked(ctx, tx, c.Tenant, id, now)
		created = fault.KindOf(err) == fault.NotFound && err != nil
		switch {
		case created:
			stored, err = s.create(ctx, tx, c, row{
				Schedule: Schedule{ID: id, Definition: d, NextAt: t.next(now), CreatedAt: now, UpdatedAt: now},
				body:     string(body), revision: 1, since: now,
			})
			return err
		case err != nil:
			return err
		case r.body == string(body):
			stored = r.Schedule
			return nil
		}
		stored, err = s.replace(ctx, tx, c, &r, d, string(body), &t, now)
		return err
	})
	return stored, created, err
}

// checked makes sure that a schedule can be stored, and compiles when it comes.
func (s *Schedules) checked(ctx context.Context, tenant, id string, d *Definition) (t timing, err error) {
	if !ValidID(id) {
		return t, invalid("id", "the id of a schedule is 1 to %d of A-Z a-z 0-9 . _ -", MaxID)
	}
	found, err := s.cfg.HasGraph(ctx, tenant, d.Graph)
	if err != nil {
		return t, fault.Wrap("schedules.graph", err)
	}
	if !found {
		return t, invalid("graph", "graph %s does not exist; register it first with PUT /graphs/%s", d.Graph, d.Graph)
	}
	return d.timing()
}

func (s *Schedules) create(ctx context.Context, tx *sqldb.Tx, c Caller, r row) (Schedule, error) {
	var n int
	if err := tx.Row(ctx, countRows, c.Tenant).Scan(&n); err != nil {
		return r.Schedule, err
	}
	if n >= MaxSchedules {
		return r.Schedule, fault.New(fault.TooLarge, "TOO_MANY_SCHEDULES",
			"there are %d schedules, the most that a tenant may have; delete some", n)
	}
	r.look = r.NextAt
	note := entry{by: c, action: "schedule.put", id: r.ID, at: r.UpdatedAt}
	stored, inserted := r.insert(c.Tenant), int64(0)
	stored.Changed = &inserted
	err := s.store(ctx, tx, stored, note)
	if err == nil && inserted == 0 {
		err = errStored // and the line in the audit log goes with the transaction
	}
	return r.Schedule, err
}

// replace stores another definition of a schedule. Instants that it comes at otherwise count from now on; instants
// that wait are skipped when the new policy has none.
func (s *Schedules) replace(
	ctx context.Context, tx *sqldb.Tx, c Caller, r *row, d Definition, body string, t *timing, now canonical.Stamp,
) (Schedule, error) {
	if !r.comesAs(&d) {
		r.since, r.NextAt = now, t.next(now)
	}
	if d.Overlap != Queue && r.Queued > 0 {
		gone, err := giveUp(ctx, tx, c.Tenant, r.ID, Changed, now)
		if err != nil {
			return r.Schedule, err
		}
		r.Queued -= int(gone)
	}
	r.Definition, r.body, r.UpdatedAt, r.held = d, body, now, 0
	r.look = r.NextAt
	if r.Queued > 0 {
		r.look = now
	}
	return r.Schedule, s.store(ctx, tx, r.update(c.Tenant), entry{by: c, action: "schedule.put", id: r.ID, at: now})
}

// giveUp skips the instants of a schedule that wait: its own when the policy changes, those of backfills when they are
// cancelled, all when it is deleted.
func giveUp(ctx context.Context, tx *sqldb.Tx, tenant, id, reason string, now canonical.Stamp) (int64, error) {
	from, to := BySchedule, ByBackfill
	switch reason {
	case Changed:
		to = BySchedule
	case Canceled:
		from = ByBackfill
	}
	return tx.Exec(ctx, `UPDATE schedules_run SET outcome = 2, reason = $3, decided_at = $4
		WHERE tenant_id = $1 AND schedule_id = $2 AND outcome = 4 AND origin BETWEEN $5 AND $6`,
		tenant, id, reason, now, from, to)
}

// Delete deletes a schedule. Its executions go on, and its ledger is retained.
func (s *Schedules) Delete(ctx context.Context, c Caller, id string) error {
	return s.change(ctx, "delete", c.Tenant, id, func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		if _, err := locked(ctx, tx, c.Tenant, id, now); err != nil {
			return err
		}
		if _, err := giveUp(ctx, tx, c.Tenant, id, Deleted, now); err != nil {
			return err
		}
		return s.store(ctx, tx, sqldb.Stmt{
			Query: "DELETE FROM schedules_schedule WHERE tenant_id = $1 AND id = $2", Args: []any{c.Tenant, id},
		}, entry{by: c, action: "schedule.delete", id: id, at: now})
	})
}

// MaxReason is the most characters of the reason of a pause.
const MaxReason = 1024

// Pause lets a schedule start nothing until Resume. Its instants are skipped meanwhile. Pausing what is paused
// changes nothing.
func (s *Schedules) Pause(ctx context.Context, c Caller, id, reason string, key *canonical.IdempotencyKey) (
	Schedule, error,
) {
	return s.switched(ctx, c, id, key, func(r *row, now canonical.Stamp) entry {
		if !r.Paused {
			r.Paused, r.PausedAt, r.PauseReason = true, now, reason
		}
		return entry{by: c, action: "schedule.pause", id: id, reason: reason, at: now}
	})
}

// Resume ends a pause. Resuming what is not paused changes nothing.
func (s *Schedules) Resume(ctx context.Context, c Caller, id string, key *canonical.IdempotencyKey) (Schedule, error) {
	return s.switched(ctx, c, id, key, func(r *row, now canonical.Stamp) entry {
		r.Paused, r.PausedAt, r.PauseReason = false, 0, ""
		return entry{by: c, action: "schedule.resume", id: id, at: now}
	})
}

// switched changes a schedule once for a key.
func (s *Schedules) switched(
	ctx context.Context, c Caller, id string, key *canonical.IdempotencyKey,
	set func(r *row, now canonical.Stamp) entry,
) (answer Schedule, err error) {
	err = s.change(ctx, "switch", c.Tenant, id, func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		request := idempotency.Request{Tenant: c.Tenant, Key: key, At: now}
		answer, _, err = idempotency.DoJSON(ctx, tx, s.keys, request, func() (Schedule, error) {
			r, err := locked(ctx, tx, c.Tenant, id, now)
			if err != nil {
				return r.Schedule, err
			}
			was := r.Paused
			note := set(&r, now)
			if r.Paused == was {
				return r.Schedule, nil
			}
			r.UpdatedAt, r.held, r.look = now, 0, r.NextAt
			if r.Queued > 0 && !r.Paused {
				r.look = now
			}
			return r.Schedule, s.store(ctx, tx, r.update(c.Tenant), note)
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
	detail []byte // JSON; nil: none
	at     canonical.Stamp
}

// store runs the statement of a change with its line in the audit log.
func (s *Schedules) store(ctx context.Context, tx *sqldb.Tx, st sqldb.Stmt, e entry) error {
	line, err := audit.Stmt(audit.Entry{
		At: e.at, Tenant: e.by.Tenant, Actor: e.by.Subject, Action: e.action, Subject: e.id,
		CorrelationID: e.by.CorrelationID, Outcome: audit.Accepted, Reason: e.reason,
		Detail: e.detail,
	})
	if err != nil {
		return err
	}
	tx.OnCommit(s.wake)
	return tx.Batch(ctx, st, line)
}

// settleEvery is how often a change asks again whether another process has decided about what is due.
const settleEvery = 20 * time.Millisecond

// settle gives the due instants of one schedule their outcomes.
func (s *Schedules) settle(ctx context.Context, tenant, id string) error {
	held, err := s.claim(ctx, tenant, id)
	if err != nil {
		return err
	}
	if len(held) > 0 {
		return s.decideAll(ctx, tenant, held)
	}
	timer := time.NewTimer(settleEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fault.Overloaded("what is due of the schedule is being started; nothing was changed, try again")
	}
}
