package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/cron"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// MaxMissed is how many times that were missed are counted.
const MaxMissed = 1000

// job is a row of automation_job.
type job struct {
	tenant, id, place string
	next              canonical.Stamp
	running           int64
	Firing            // the last one
}

const jobColumns = "tenant_id, job_id, next_at, fired_at, missed, started_at, ended_at, running, place, seen, " +
	"matched, failed"

const jobsOf = "SELECT " + jobColumns + " FROM automation_job WHERE tenant_id = $1 ORDER BY job_id"

// The jobs that have come, and those that are running, longest wait first. Tenants take turns,
// with at most ten jobs each.
const (
	dueJobs = "SELECT " + jobColumns + " FROM (SELECT " + jobColumns +
		`, row_number() OVER (PARTITION BY tenant_id ORDER BY next_at, job_id) AS turn
		FROM automation_job WHERE next_at > 0 AND running = 0 AND next_at <= $1) AS due
		WHERE turn <= 10 ORDER BY turn, next_at LIMIT 100`
	runningJobs = "SELECT " + jobColumns + " FROM (SELECT " + jobColumns +
		`, row_number() OVER (PARTITION BY tenant_id ORDER BY started_at, job_id) AS turn
		FROM automation_job WHERE running = 1 AND started_at > 0) AS going
		WHERE turn <= 10 ORDER BY turn, started_at LIMIT 100`
)

func jobs(ctx context.Context, tx *sqldb.Tx, query string, args ...any) ([]job, error) {
	return sqldb.Collect(ctx, tx, func(row *sqldb.Row) (j job, err error) {
		err = row.Scan(&j.tenant, &j.id, &j.next, &j.FiredFor, &j.Missed, &j.StartedAt, &j.EndedAt, &j.running,
			&j.place, &j.Seen, &j.Matched, &j.Failed)
		return j, err
	}, query, args...)
}

// scheduler fires jobs and carries them out.
type scheduler struct{ *Automation }

// times is when a job comes.
func times(j *model.ScheduledJob) (cron.Line, *time.Location, error) {
	line, err := cron.Parse(j.Cron)
	if err != nil {
		return line, nil, fault.New(fault.Invalid, canonical.CodeInvalid, "cron %v", err)
	}
	zone, err := time.LoadLocation(j.TimeZone)
	if err != nil {
		return line, nil, fault.New(fault.Invalid, canonical.CodeInvalid, "there is no time zone %q", j.TimeZone)
	}
	return line, zone, nil
}

// nextOf is the next time of a job after an instant; 0: it never comes.
func nextOf(j *model.ScheduledJob, after canonical.Stamp) (canonical.Stamp, error) {
	line, zone, err := times(j)
	if err != nil || !j.IsActive {
		return 0, err
	}
	if next := line.Next(time.UnixMilli(int64(after)).In(zone)); !next.IsZero() {
		return canonical.Stamp(next.UnixMilli()), nil
	}
	return 0, nil
}

// schedule brings the row of a job up to date with its definition. A job that comes at the
// same times as before keeps the next one, so that a change of what it does skips none.
func (s scheduler) schedule(ctx context.Context, tx *sqldb.Tx, m *model.Model, id string) error {
	def, ok := m.Get(model.KindScheduledJob, id)
	if !ok {
		_, err := tx.Exec(ctx, "DELETE FROM automation_job WHERE tenant_id = $1 AND job_id = $2", m.Tenant, id)
		return err
	}
	j := def.Value.(*model.ScheduledJob)
	next, err := nextOf(j, s.now())
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO automation_job AS j (tenant_id, job_id, cron, time_zone, next_at, fired_at,
			missed, started_at, ended_at, running, place, seen, matched, failed)
		VALUES ($1, $2, $3, $4, $5, 0, 0, 0, 0, 0, '', 0, 0, 0) ON CONFLICT (tenant_id, job_id)
		DO UPDATE SET cron = excluded.cron, time_zone = excluded.time_zone, next_at = excluded.next_at
		WHERE j.cron <> excluded.cron OR j.time_zone <> excluded.time_zone OR j.next_at = 0 OR excluded.next_at = 0`,
		m.Tenant, id, j.Cron, j.TimeZone, next)
	return err
}

// waiting reads the jobs that have come, and those that are running.
func (s scheduler) waiting(ctx context.Context) (due, running []job, err error) {
	err = s.Read(ctx, "jobs", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		if due, err = jobs(ctx, tx, dueJobs, s.now()); err == nil {
			running, err = jobs(ctx, tx, runningJobs)
		}
		return err
	})
	return due, running, err
}

// runJobs fires the jobs that have come, advances those that are running, and reports whether
// there were any.
func (s scheduler) runJobs(ctx context.Context) (worked bool, err error) {
	due, running, err := s.waiting(ctx)
	for i := range due {
		err = errors.Join(err, gone(s.fire(sqldb.For(ctx, due[i].tenant), &due[i])))
	}
	for i := range running {
		err = errors.Join(err, gone(s.advance(sqldb.For(ctx, running[i].tenant), &running[i])))
	}
	return len(due)+len(running) > 0, err
}

// gone lets errGone pass.
func gone(err error) error {
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

// definition is a job as the transaction sees it, nil when it is gone or not active.
func (s scheduler) definition(ctx context.Context, tx *sqldb.Tx, j *job) (*model.Model, *model.ScheduledJob, error) {
	m, err := s.cfg.Models.Model(ctx, tx, j.tenant)
	if err != nil {
		return nil, nil, err
	}
	if def, ok := m.Get(model.KindScheduledJob, j.id); ok && def.Value.(*model.ScheduledJob).IsActive {
		return m, def.Value.(*model.ScheduledJob), nil
	}
	return m, nil, nil
}

// fire begins one firing of a job, for the newest of its times that have come.
func (s scheduler) fire(ctx context.Context, j *job) error {
	return s.Write(ctx, "fire", func(ctx context.Context, tx *sqldb.Tx) error {
		_, def, err := s.definition(ctx, tx, j)
		if err != nil {
			return err
		}
		if def == nil { // its event is on the way
			_, err := tx.Exec(ctx, "UPDATE automation_job SET next_at = 0 WHERE tenant_id = $1 AND job_id = $2 AND "+
				"next_at = $3", j.tenant, j.id, j.next)
			return err
		}
		line, zone, err := times(def)
		if err != nil {
			return err
		}
		now := s.now()
		newest, missed := line.Missed(time.UnixMilli(int64(j.next)).In(zone), time.UnixMilli(int64(now)).In(zone),
			MaxMissed)
		next, err := nextOf(def, canonical.Stamp(newest.UnixMilli()))
		if err != nil {
			return err
		}
		tx.OnCommit(s.wake)
		return changed(
			tx.Exec(ctx, `UPDATE automation_job SET next_at = $4, fired_at = $5, missed = $6, started_at = $7,
				ended_at = 0, running = 1, place = '', seen = 0, matched = 0, failed = 0
			WHERE tenant_id = $1 AND job_id = $2 AND next_at = $3 AND running = 0`,
				j.tenant, j.id, j.next, next, newest.UnixMilli(), missed, now),
		)
	})
}

// firing is the id of the last firing, which takes the place of an event's.
func (j *job) firing() string {
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "renga:job:%s:%s:%d", j.tenant, j.id, j.FiredFor)).String()
}

// advance does the next records of a job, as many as one transaction has steps for.
func (s scheduler) advance(ctx context.Context, j *job) error {
	for some := s.cfg.chunk; ; some = max(1, some/4) {
		if err := s.advanceBy(ctx, j, some); !errors.Is(err, errFewer) {
			return err
		}
	}
}

// errFewer says that a transaction has no steps for the rules on so many records.
var errFewer = errors.New("automation: too many records for one transaction")

// advanceBy does the next records of a job, at most so many, and stores its progress in the
// same transaction.
func (s scheduler) advanceBy(ctx context.Context, j *job, most int) error {
	return s.Write(ctx, "advance", func(ctx context.Context, tx *sqldb.Tx) error {
		m, def, err := s.definition(ctx, tx, j)
		if err != nil {
			return err
		}
		var found []model.Record
		if def != nil && def.Object != "" {
			if found, err = s.cfg.Records.Walk(ctx, tx, j.tenant, def.Object, j.place, most); err != nil {
				return err
			}
		}
		last := len(found) < most
		var turns []turn
		if def != nil {
			var fit int
			if turns, fit, err = s.turnsOf(tx, m, def, j, found); err != nil {
				return err
			}
			last, found = last && fit == len(found), found[:fit]
		}
		place, running, ended := j.place, 1, canonical.Stamp(0)
		if len(found) > 0 {
			place = found[len(found)-1].ID
		}
		if last {
			running, ended = 0, s.now()
		}
		err = changed(
			tx.Exec(ctx, `UPDATE automation_job SET place = $5, seen = seen + $6, running = $7, ended_at = $8
			WHERE tenant_id = $1 AND job_id = $2 AND fired_at = $3 AND place = $4 AND running = 1`, j.tenant, j.id,
				j.FiredFor, j.place, place, len(found), running, ended),
		)
		if err != nil || def == nil {
			return err
		}
		tx.OnCommit(s.wake)
		if len(turns) == 0 {
			return nil
		}
		bad, err := s.doAll(ctx, tx, m, turns)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE automation_job SET matched = matched + $3, failed = failed + $4 WHERE "+
			"tenant_id = $1 AND job_id = $2", j.tenant, j.id, len(turns), bad)
		return err
	})
}

// turnsOf are the turns of a job on some records; one of a job without records. fit is for how
// many of the records the transaction has steps and notes.
func (s scheduler) turnsOf(
	tx *sqldb.Tx, m *model.Model, def *model.ScheduledJob, j *job, found []model.Record,
) (turns []turn, fit int, err error) {
	event := j.firing()
	var deeds []deed
	for i := range def.Actions {
		d := deed{source: SourceJob, ruleID: def.ID, rule: def.Name, action: &def.Actions[i]}
		if d.action.To != nil {
			d.users = active(m, m.Resolve(*d.action.To)) // the same for all records
		}
		deeds = append(deeds, d)
	}
	one := turn{
		tenant: j.tenant, correlation: event, eventID: event, eventType: "at " + j.FiredFor.String(),
		object: def.Object,
		at:     s.now(), deeds: deeds, lenient: true, several: len(found) > 1,
	}
	if def.Object == "" {
		return []turn{one}, 0, nil
	}
	notes := 0
	for i := range found {
		r := &found[i]
		holds, err := kit.JudgeOf(tx).OfRecord(m.Object(def.Object), r).Holds(def.Condition)
		if err = model.Costly(err, "scheduled job", def.Name, def.ID); model.IsCostly(err) {
			return turns, i, nil // one condition on one record is within every budget
		}
		if err != nil {
			return nil, 0, err
		}
		if holds {
			t := one
			t.record, t.owner, t.deeds = r.ID, r.OwnerID, slices.Clone(deeds)
			if notes += t.notes(m); notes > MaxNotes {
				if i > 0 {
					return turns, i, nil
				}
				t.several = false // more room than this it will not have
				return []turn{t}, 1, nil
			}
			turns = append(turns, t)
		}
	}
	return turns, len(found), nil
}

// notes is how many notes a turn puts into inboxes.
func (t *turn) notes(m *model.Model) (n int) {
	for i := range t.deeds {
		if d := &t.deeds[i]; d.action.Type == model.Notify {
			n += len(d.audience(m, t.owner))
		}
	}
	return n
}

// Job is a scheduled job and its last firing.
type Job struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Object   string          `json:"object,omitzero"`
	Cron     string          `json:"cron"`
	TimeZone string          `json:"timeZone"`
	IsActive bool            `json:"isActive"`
	NextAt   canonical.Stamp `json:"nextAt,omitzero"`
	Last     *Firing         `json:"last,omitzero"` // nil: it never came
}

// Firing is what a job did for one time.
type Firing struct {
	EventID   string          `json:"eventId"` // of its runs
	FiredFor  canonical.Stamp `json:"firedFor"`
	Missed    int64           `json:"missed"` // times before it that were left out
	StartedAt canonical.Stamp `json:"startedAt"`
	EndedAt   canonical.Stamp `json:"endedAt,omitzero"` // 0: it is under way
	Seen      int64           `json:"seen"`             // records that were looked at
	Matched   int64           `json:"matched"`          // records that it acted on
	Failed    int64           `json:"failed"`           // actions that failed
}

// Jobs are all jobs of a tenant, by name, then by id.
func (s *Automation) Jobs(ctx context.Context, tenant string) (all []Job, err error) {
	err = s.Read(ctx, "jobs", func(ctx context.Context, tx *sqldb.Tx) error {
		m, err := s.cfg.Models.Model(ctx, tx, tenant)
		if err != nil {
			return err
		}
		rows, err := jobs(ctx, tx, jobsOf, tenant)
		if err != nil {
			return err
		}
		all = []Job{}
		for _, def := range model.List[*model.ScheduledJob](m, model.KindScheduledJob) {
			shown := Job{
				ID: def.ID, Name: def.Name, Object: def.Object, Cron: def.Cron, TimeZone: def.TimeZone,
				IsActive: def.IsActive,
			}
			if at := slices.IndexFunc(rows, func(j job) bool { return j.id == def.ID }); at >= 0 {
				j := &rows[at]
				if def.IsActive {
					shown.NextAt = j.next
				}
				if j.FiredFor > 0 {
					j.EventID, shown.Last = j.firing(), &j.Firing
				}
			}
			all = append(all, shown)
		}
		slices.SortStableFunc(all, func(a, b Job) int { return cmp.Compare(a.Name, b.Name) })
		return nil
	})
	return all, err
}
