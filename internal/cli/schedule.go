package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"renga.dev/renga/client"
)

type scheduleCmd struct {
	Apply  scheduleApplyCmd  `cmd:"" help:"Store schedules."`
	List   scheduleListCmd   `cmd:"" help:"List schedules and when they come next."`
	Show   scheduleShowCmd   `cmd:"" help:"Show a schedule."`
	Next   scheduleNextCmd   `cmd:"" help:"Preview when a schedule comes next."`
	Runs   scheduleRunsCmd   `cmd:"" help:"Show the outcome of every due instant."`
	Pause  schedulePauseCmd  `cmd:"" help:"Let a schedule start nothing until it is resumed."`
	Resume scheduleResumeCmd `cmd:"" help:"Resume a schedule that was paused."`
	Delete scheduleDeleteCmd `cmd:"" help:"Delete a schedule; its executions go on."`

	Backfill scheduleBackfillCmd `cmd:"" help:"Start executions for past instants that have none."`
}

type scheduleApplyCmd struct {
	Files []string `name:"file" short:"f" required:"" placeholder:"FILE"`
	ID    string   `placeholder:"NAME" help:"Id of the schedule; ${file_id}"`
}

func (scheduleApplyCmd) Help() string {
	return `A schedule starts an execution of the newest version of a graph at each of its times.

  {"graph": "report", "input": {"region": "north"}, "cron": "30 2 * * 1-5", "zone": "Europe/Berlin",
   "nonexistent": "shift", "ambiguous": "first", "overlap": "skip", "catchUp": "1h"}

graph and cron are required. nonexistent says what becomes of a local time that clocks leave out (shift to the moment
at which they are put forward, or skip), ambiguous which one counts of a time that they show twice (first, second,
both). overlap says what becomes of an instant while the last execution is active: skip it, queue it, or cancel the
execution. catchUp is how late an instant may be started after an outage. Every execution gets the member schedule in
its input, with id, dueAt, localTime and origin.

Examples:
  renga schedule apply -f nightly.json
  renga schedule apply --id nightly -f - < schedule.json`
}

func (c *scheduleApplyCmd) Run(ctx context.Context, r *remote) error {
	t := columns("SCHEDULE, CHANGE, GRAPH, CRON, ZONE, NEXT", func(d *appliedFile[client.StoredSchedule]) []any {
		return []any{d.Stored.ID, d.Change, d.Stored.Graph, d.Stored.Cron, d.Stored.Zone, nextOf(d.Stored)}
	})
	return applyFiles(ctx, r, "schedule", c.Files, c.ID, r.Schedules, t, func(s *client.StoredSchedule) time.Time {
		return s.UpdatedAt
	})
}

// nextOf is when a schedule comes next.
func nextOf(s *client.StoredSchedule) any {
	switch {
	case s.Paused:
		return "paused"
	case s.NextAt.IsZero():
		return "never"
	}
	return s.NextAt
}

type scheduleListCmd struct{ paging }

func (scheduleListCmd) Help() string {
	return `Examples:
  renga schedule list
  renga schedule list -o json | jq -r '.items[] | select(.paused) | .id'`
}

func (c *scheduleListCmd) Run(ctx context.Context, r *remote) error {
	return tabulate(r, &c.paging, columns(
		"SCHEDULE, GRAPH, CRON, ZONE, OVERLAP, NEXT, LAST STARTED, QUEUED", func(s *client.StoredSchedule) []any {
			return []any{s.ID, s.Graph, s.Cron, s.Zone, s.Overlap, nextOf(s), s.StartedAt, s.Queued}
		},
	))(r.Schedules.List(ctx, c.at()))
}

type scheduleID struct {
	ID string `arg:"" help:"Id of the schedule."`
}

type scheduleShowCmd struct{ scheduleID }

func (scheduleShowCmd) Help() string {
	return `Examples:
  renga schedule show nightly
  renga schedule show nightly -o json`
}

func (c *scheduleShowCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printSchedule)(r.Schedules.Get(ctx, c.ID))
}

func printSchedule(p *printer, s *client.StoredSchedule) {
	paused := ""
	if s.Paused {
		paused = listed("since "+p.cell(s.PausedAt), s.PauseReason)
	}
	p.pairs(
		"schedule", s.ID, "graph", s.Graph, "input", inLine(s.Input), "cron", s.Cron, "zone", s.Zone,
		"clock changes", fmt.Sprintf("nonexistent: %s, ambiguous: %s", s.Nonexistent, s.Ambiguous),
		"overlap", s.Overlap, "catch-up", s.CatchUp, "paused", paused, "next", nextOf(s),
		"last started", s.StartedAt, "execution", s.ExecutionID, "queued", s.Queued,
		"created", s.CreatedAt, "changed", s.UpdatedAt,
	)
}

type scheduleNextCmd struct {
	scheduleID
	Count int `short:"n" default:"5" placeholder:"N" help:"How many, 1 to 100."`
}

func (scheduleNextCmd) Help() string {
	return `Shows the instants in UTC, and what a clock in the zone of the schedule shows then.

Examples:
  renga schedule next nightly
  renga schedule next nightly -n 20`
}

func (c *scheduleNextCmd) Run(ctx context.Context, r *remote) error {
	return showAll(r, columns("DUE, LOCAL TIME", func(t *client.ScheduleTime) []any {
		return []any{t.DueAt, t.LocalTime}
	}))(r.Schedules.Next(ctx, c.ID, c.Count))
}

type scheduleRunsCmd struct {
	scheduleID
	Outcome string `placeholder:"OUTCOME" help:"With this outcome: STARTED, SKIPPED, MISSED or QUEUED."`
	From    string `placeholder:"TIME" help:"Due at or after: ${time}."`
	To      string `placeholder:"TIME" help:"Due before."`
	paging
}

func (scheduleRunsCmd) Help() string {
	return `Every due instant has one outcome. STARTED names the execution. SKIPPED has a reason: OVERLAP (the last
execution was active), SUPERSEDED (a newer instant was due as well), PAUSED, QUEUE_FULL, REFUSED (it could not be
started), CHANGED or DELETED (it was waiting). MISSED: no process was up within the catch-up window. QUEUED: it waits
for the active execution. A row may be about several instants that follow each other.

Examples:
  renga schedule runs nightly
  renga schedule runs nightly --outcome MISSED --from 168h`
}

func (c *scheduleRunsCmd) Run(ctx context.Context, r *remote) error {
	from, to, err := r.times("--from", c.From, "--to", c.To)
	if err != nil {
		return err
	}
	return tabulate(r, &c.paging, columns(
		"DUE, UNTIL, INSTANTS, BY, OUTCOME, WHAT, DECIDED", func(run *client.ScheduleRun) []any {
			var until any
			if run.Instants > 1 {
				until = run.LastAt
			}
			return []any{run.DueAt, until, run.Instants, run.Origin, status(run.Outcome), whatOf(run), run.DecidedAt}
		},
	))(r.Schedules.Runs(ctx, c.ID, client.ScheduleRunFilter{
		Outcome: client.ScheduleOutcome(c.Outcome), From: from, To: to,
	}, c.at()))
}

// whatOf is what an outcome came to.
func whatOf(run *client.ScheduleRun) string {
	what := listed(run.ExecutionID, string(run.Reason), run.Message)
	switch {
	case run.Overlapped == "":
		return what
	case run.ExecutionID != "":
		return what + ", cancelled " + run.Overlapped
	}
	return what + " with " + run.Overlapped
}

type schedulePauseCmd struct {
	scheduleID
	Reason string `placeholder:"TEXT" help:"Why; the schedule and the audit log show it."`
	sending
}

func (schedulePauseCmd) Help() string {
	return `Instants that come meanwhile are skipped. Those that wait, wait on.

Examples:
  renga schedule pause nightly --reason "the warehouse is closed"`
}

func (c *schedulePauseCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printSchedule)(r.Schedules.PauseWithKey(c.context(ctx), c.IdempotencyKey, c.ID, c.Reason))
}

type scheduleResumeCmd struct {
	scheduleID
	sending
}

func (scheduleResumeCmd) Help() string {
	return `Instants that came during the pause stay skipped.

Examples:
  renga schedule resume nightly`
}

func (c *scheduleResumeCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printSchedule)(r.Schedules.ResumeWithKey(c.context(ctx), c.IdempotencyKey, c.ID))
}

type scheduleBackfillCmd struct {
	scheduleID
	From   string `placeholder:"TIME" help:"Due at or after: ${time}."`
	To     string `placeholder:"TIME" help:"Due before; not later than now."`
	Reason string `placeholder:"TEXT" help:"Why; the audit log shows it."`
	Cancel bool   `help:"Give up what still waits of backfills; what was started goes on."`
	sending
}

func (scheduleBackfillCmd) Help() string {
	return `Instants that have an execution, or wait for one, are left out. The others wait, and are started one after
the other, the oldest first, when nothing else of the schedule is active or waits. The ledger shows them with BY
backfill.

Examples:
  renga schedule backfill nightly --from 2026-01-01 --to 2026-01-05
  renga schedule backfill nightly --from 24h --to 1m --reason "the warehouse was away"
  renga schedule backfill nightly --cancel`
}

func (c *scheduleBackfillCmd) Validate() error {
	switch {
	case c.Cancel && (c.From != "" || c.To != "" || c.Reason != ""):
		return errors.New("--cancel is about all that waits: leave --from, --to and --reason out")
	case !c.Cancel && (c.From == "" || c.To == ""):
		return errors.New("--from and --to are required: the window of past instants")
	}
	return c.sending.Validate()
}

func (c *scheduleBackfillCmd) Run(ctx context.Context, r *remote) error {
	if c.Cancel {
		if err := r.Schedules.CancelBackfill(c.context(ctx), c.ID); err != nil {
			return err
		}
		return r.did(map[string]any{"id": c.ID, "canceled": true}, "Nothing of backfills of %s waits any more.", c.ID)
	}
	from, to, err := r.times("--from", c.From, "--to", c.To)
	if err != nil {
		return err
	}
	return show(r, func(p *printer, b *client.ScheduleBackfill) {
		p.line("%d instants from %s to %s: %d wait for an execution now, %d had one or waited before.", b.Instants,
			instant(b.From), instant(b.To), b.Queued, b.Covered)
		if b.Queued > 0 {
			p.line("See what becomes of them with: renga schedule runs %s", c.ID)
		}
	})(r.Schedules.Backfill(c.context(ctx), client.BackfillSchedule{
		Key: c.IdempotencyKey, ID: c.ID, From: from, To: to, Reason: c.Reason,
	}))
}

type scheduleDeleteCmd struct{ scheduleID }

func (scheduleDeleteCmd) Help() string {
	return `Its executions go on, and its ledger is retained for 90 days.

Examples:
  renga schedule delete nightly`
}

func (c *scheduleDeleteCmd) Run(ctx context.Context, r *remote) error {
	if err := r.Schedules.Delete(ctx, c.ID); err != nil {
		return err
	}
	return r.did(map[string]any{"id": c.ID, "deleted": true}, "Deleted schedule %s.", c.ID)
}
