package cli

import (
	"context"
	"strconv"

	"renga.dev/renga/client"
)

// automationCmd is `renga automation`.
type automationCmd struct {
	Inbox automationInboxCmd `cmd:"" help:"Show your inbox."`
	Read  automationReadCmd  `cmd:"" help:"Mark notes as read."`
	Tasks automationTasksCmd `cmd:"" help:"List your tasks."`
	Done  automationDoneCmd  `cmd:"" help:"Mark tasks as done."`
	Jobs  automationJobsCmd  `cmd:"" help:"List the scheduled jobs, their next times and last results."`
	Runs  automationRunsCmd  `cmd:"" help:"List the runs of rules and jobs."`
}

// automationInboxCmd is `renga automation inbox`.
type automationInboxCmd struct {
	Unread bool `help:"Only what you have not read."`
	paging
}

// Help shows examples.
func (automationInboxCmd) Help() string {
	return `Examples:
  renga automation inbox --unread
  renga automation inbox --page-size 100 -o json`
}

// Run prints a page.
func (c *automationInboxCmd) Run(ctx context.Context, r *remote) error {
	return tabulate(r, &c.paging, columns("ID, AT, MESSAGE, RECORD, READ", func(n *client.Note) []any {
		return []any{n.ID, n.At, n.Message, n.Object + " " + n.RecordID, n.ReadAt}
	}))(r.Automation.Inbox(ctx, c.Unread, c.at()))
}

// automationReadCmd is `renga automation read`.
type automationReadCmd struct {
	IDs []string `arg:"" name:"id" help:"Ids of notes."`
}

// Help shows examples.
func (automationReadCmd) Help() string {
	return `Examples:
  renga automation read 0199c1a4-0000-7000-8000-0000000000b1`
}

// Run marks them.
func (c *automationReadCmd) Run(ctx context.Context, r *remote) error {
	for _, id := range c.IDs {
		if _, err := r.Automation.ReadNote(ctx, id); err != nil {
			return err
		}
	}
	return r.print(map[string]any{"read": c.IDs}, func(p *printer) { p.line("Marked %d as read.", len(c.IDs)) })
}

// automationTasksCmd is `renga automation tasks`.
type automationTasksCmd struct {
	Done bool `help:"Those that are done, the newest first."`
	paging
}

// Help shows examples.
func (automationTasksCmd) Help() string {
	return `They are yours, or of your role or one of your groups. Open ones come by when they are due.

Examples:
  renga automation tasks
  renga automation tasks --done -o json`
}

// Run prints a page.
func (c *automationTasksCmd) Run(ctx context.Context, r *remote) error {
	return tabulate(r, &c.paging, columns(
		"ID, DUE, MESSAGE, RECORD, FOR, DONE BY", func(t *client.UserTask) []any {
			return []any{
				t.ID, t.DueOn, t.Message, t.Object + " " + t.RecordID, t.Assignee.Type + " " + t.Assignee.ID, t.DoneBy,
			}
		},
	))(r.Automation.UserTasks(ctx, c.Done, c.at()))
}

// automationDoneCmd is `renga automation done`.
type automationDoneCmd struct {
	IDs []string `arg:"" name:"id" help:"Ids of tasks."`
}

// Help shows examples.
func (automationDoneCmd) Help() string {
	return `Examples:
  renga automation done 0199c1a4-0000-7000-8000-0000000000b2`
}

// Run marks them.
func (c *automationDoneCmd) Run(ctx context.Context, r *remote) error {
	for _, id := range c.IDs {
		if _, err := r.Automation.CompleteUserTask(ctx, id); err != nil {
			return err
		}
	}
	return r.print(map[string]any{"done": c.IDs}, func(p *printer) { p.line("Marked %d as done.", len(c.IDs)) })
}

// automationJobsCmd is `renga automation jobs`.
type automationJobsCmd struct{ paging }

// Help shows examples.
func (automationJobsCmd) Help() string {
	return `Examples:
  renga automation jobs
  renga automation jobs -o json | jq -r '.items[].nextAt'`
}

// Run prints a page.
func (c *automationJobsCmd) Run(ctx context.Context, r *remote) error {
	const head = "ID, NAME, CRON, TIME ZONE, NEXT, LAST, RECORDS, FAILED, MISSED"
	return tabulate(r, &c.paging, columns(head, func(j *client.ScheduledJob) []any {
		row := []any{j.ID, j.Name, j.Cron, j.TimeZone, j.NextAt, "", "", "", ""}
		if !j.IsActive {
			row[4] = "off"
		}
		if last := j.Last; last != nil {
			row = append(row[:5], last.FiredFor, outOf(last.Matched, last.Seen), last.Failed, last.Missed)
		}
		return row
	}))(r.Automation.ScheduledJobs(ctx, c.at()))
}

// automationRunsCmd is `renga automation runs`.
type automationRunsCmd struct {
	Event   string `placeholder:"ID" help:"Of this event, or of this firing of a job."`
	Rule    string `placeholder:"ID" help:"Of this rule or job."`
	Record  string `placeholder:"ID" help:"On this record."`
	Outcome string `placeholder:"OUTCOME" help:"With this outcome: DONE, PENDING, FAILED or NOTHING."`
	paging
}

// Help shows examples.
func (automationRunsCmd) Help() string {
	return `Examples:
  renga automation runs --record 0199c1a5-0000-7000-8000-0000000000a1
  renga automation runs --outcome FAILED`
}

// Run prints a page.
func (c *automationRunsCmd) Run(ctx context.Context, r *remote) error {
	const head = "AT, BY, ACTION, TYPE, RECORD, OUTCOME, RESULT"
	return tabulate(r, &c.paging, columns(head, func(run *client.ActionRun) []any {
		return []any{
			run.At, run.Source + " " + run.RuleName, run.ActionKey, run.Type, run.Object + " " + run.RecordID,
			run.Outcome, resultOf(run),
		}
	}))(r.Automation.ActionRuns(ctx, client.ActionRunQuery{
		EventID: c.Event, RuleID: c.Rule, RecordID: c.Record, Outcome: c.Outcome,
	}, c.at()))
}

// resultOf is what an action came to.
func resultOf(r *client.ActionRun) string {
	switch {
	case r.Error != "":
		return r.Error
	case r.TaskID != "":
		return "task " + r.TaskID
	case r.ExecutionID != "":
		return "execution " + r.ExecutionID
	case r.RecordVersion != "":
		return "version " + r.RecordVersion
	case r.Type == "notify":
		return strconv.Itoa(r.Told) + " told"
	}
	return ""
}
