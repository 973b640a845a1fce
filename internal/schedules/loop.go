package schedules

import (
	"context"
	"errors"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// How Run looks for something to do.
const (
	idleFor     = time.Second // at most
	retainEvery = 10 * time.Minute
	retainMost  = 10_000 // rows at a time
	// MaxClaimed is how many due schedules of a tenant are decided about in one transaction; then it is the turn of
	// the next tenant.
	MaxClaimed = 50
	maxTenants = 100 // of one look
	// claimFor is how long claimed schedules are left alone by others. Whoever claimed them and died has them no
	// longer.
	claimFor = 5 * time.Second
)

// Run decides about the instants that are due until ctx ends.
func (s *Schedules) Run(ctx context.Context) {
	if s.cfg.Engine == nil {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var retained time.Time
	for ctx.Err() == nil {
		worked, wait, err := s.step(ctx)
		if now := time.Now(); now.Sub(retained) >= retainEvery {
			retained = now
			err = errors.Join(err, s.retain(ctx))
		}
		if err != nil && ctx.Err() == nil && !fault.Passes(err) {
			s.cfg.Log.ErrorContext(ctx, "schedules could not go on", "error", err)
		}
		if worked && err == nil {
			continue
		}
		timer.Reset(wait)
		select {
		case <-s.wakeups:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// Those whose instants have come, by tenant: the one that waits longest first.
const dueTenants = `SELECT tenant_id FROM schedules_schedule WHERE look_at > 0 AND look_at <= $1 AND held_until <= $1
	GROUP BY tenant_id ORDER BY min(look_at), tenant_id LIMIT $2`

const nextLook = "SELECT look_at FROM schedules_schedule WHERE look_at > $1 ORDER BY look_at LIMIT 1"

// step decides about some due schedules of each tenant that has any. It reports whether there were any, and when to
// look again otherwise.
func (s *Schedules) step(ctx context.Context) (worked bool, wait time.Duration, err error) {
	var tenants []string
	wait = idleFor
	err = s.read(ctx, "due", func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		if tenants, err = sqldb.Collect(ctx, tx, sqldb.Column[string], dueTenants, now, maxTenants); err != nil {
			return err
		}
		var next canonical.Stamp
		if err := tx.Row(ctx, nextLook, now).Scan(&next); err == nil {
			wait = min(wait, time.Duration(next-now)*time.Millisecond)
		} else if !errors.Is(err, sqldb.ErrNoRow) {
			return err
		}
		return nil
	})
	for _, tenant := range tenants {
		if ctx.Err() != nil || fault.Passes(err) {
			break
		}
		of := sqldb.For(ctx, tenant)
		held, bad := s.claim(of, tenant, "")
		if bad == nil && len(held) > 0 {
			worked = true
			bad = s.decideAll(of, tenant, held)
		}
		err = errors.Join(err, bad)
	}
	return worked, wait, err
}

// claim takes schedules of a tenant that are due, or one of them, so that nobody else decides about them meanwhile.
func (s *Schedules) claim(ctx context.Context, tenant, id string) (held []row, err error) {
	err = s.write(ctx, "claim", func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		binds := sqldb.Bind(tenant, now, now+canonical.Stamp(claimFor.Milliseconds()), MaxClaimed)
		only := ""
		if id != "" {
			only = " AND id = " + binds.Add(id)
		}
		held, err = sqldb.Collect(ctx, tx, scanRow, `UPDATE schedules_schedule SET held_until = $3
			WHERE tenant_id = $1 AND id IN (SELECT id FROM schedules_schedule WHERE tenant_id = $1 AND look_at > 0 AND
			look_at <= $2 AND held_until <= $2`+only+` ORDER BY look_at, id LIMIT $4`+forUpdate(tx, " SKIP LOCKED")+
			`) RETURNING `+rowColumns, binds.Args()...)
		return err
	})
	return held, err
}

// retain deletes rows of the ledger that were retained long enough.
func (s *Schedules) retain(ctx context.Context) error {
	return s.write(ctx, "retain", func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM schedules_run WHERE (tenant_id, schedule_id, due_at, origin) IN
			(SELECT tenant_id, schedule_id, due_at, origin FROM schedules_run WHERE decided_at < $1 AND outcome <> 4
			LIMIT $2)`, now-canonical.Stamp(s.cfg.Retention.Milliseconds()), retainMost)
		return err
	})
}
