package automation

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
	idleFor     = time.Second
	retainEvery = 10 * time.Minute
	retainMost  = 10_000 // rows of a table at a time
)

// How long notes and tasks are retained.
const (
	keepNotes = 90 * 24 * time.Hour  // read or not
	keepTasks = 365 * 24 * time.Hour // after their end
)

// Run starts graphs, fires jobs and puts notes about waits into inboxes until ctx ends; running jobs continue at the
// next start.
func (s *Automation) Run(ctx context.Context) {
	if s.cfg.Engine == nil {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var retained time.Time
	for ctx.Err() == nil {
		worked, err := s.step(ctx)
		if now := time.Now(); now.Sub(retained) >= retainEvery {
			retained = now
			err = errors.Join(err, s.retain(ctx))
		}
		if err != nil && ctx.Err() == nil && !fault.Passes(err) {
			s.cfg.Log.ErrorContext(ctx, "automation could not go on", "error", err)
		}
		if worked && err == nil {
			continue
		}
		timer.Reset(idleFor)
		select {
		case <-s.wakeups:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// step does some of what there is to do and reports whether there was anything.
func (s *Automation) step(ctx context.Context) (worked bool, err error) {
	started, err := starter{s}.startGraphs(ctx)
	fired, bad := scheduler{s}.runJobs(ctx)
	noted, worse := s.noteWaits(ctx)
	return started || fired || noted, errors.Join(err, bad, worse)
}

// retain deletes some of what was retained long enough.
func (s *Automation) retain(ctx context.Context) error {
	now := s.cfg.Now()
	var all error
	for _, old := range []struct {
		table, key, where string
		keep              time.Duration
	}{
		{
			"automation_run", "tenant_id, event_id, rule_id, action_key, record_id", "at < $1 AND outcome <> 2",
			s.cfg.Retention,
		},
		{"automation_cause", "tenant_id, object, record_id, version", "at < $1", s.cfg.Retention},
		{"automation_note", "tenant_id, user_id, id", "at < $1", keepNotes},
		{"automation_task", "tenant_id, id", "done_at > 0 AND done_at < $1", keepTasks},
		{"automation_approval", "tenant_id, approval_id", "at < $1", keepTasks},
	} {
		all = errors.Join(all, s.Write(ctx, "retain", func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "DELETE FROM "+old.table+" WHERE ("+old.key+") IN (SELECT "+old.key+" FROM "+
				old.table+" WHERE "+old.where+" LIMIT $2)",
				canonical.Stamp(now.Add(-old.keep).UnixMilli()), retainMost)
			return err
		}))
	}
	return all
}
