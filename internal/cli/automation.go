package cli

import (
	"context"
	"strconv"

	"renga.dev/renga/client"
)

type automationCmd struct {
	Inbox automationInboxCmd `cmd:"" help:"Show your inbox."`
	Read  automationReadCmd  `cmd:"" help:"Mark notes as read."`
	Tasks automationTasksCmd `cmd:"" help:"List your tasks."`
	Done  automationDoneCmd  `cmd:"" help:"Mark tasks as done."`
	Jobs  automationJobsCmd  `cmd:"" help:"List the scheduled jobs, their next times and last results."`
	Runs  automationRunsCmd  `cmd:"" help:"List the runs of rules and jobs."`
}

type automationInboxCmd struct {
	Unread bool `help:"Only what you have not read."`
	paging
}

func (automationInboxCmd) Help() string {
	return `Examples:
  renga automation inbox --unread
  renga automation inbox --page-size 100 -o json`
}

func (c *automationInboxCmd) Run(ctx context.Context, r *remote) error {
	return tabulate(r, &c.paging, columns("ID, AT, MESSAGE, RECORD, READ", func(n *client.Note) []any {
		return []any{n.ID, n.At, n.Message, phrase{n.Object, " ", named(n.RecordID)}, n.ReadAt}
	}))(r.Automation.Inbox(ctx, c.Unread, c.at()))
}

type automationReadCmd struct {
	IDs []string `arg:"" name:"id" help:"Ids of notes."`
}

func (automationReadCmd) Help() string {
	return `Examples:
  renga automation read 0199c1a4-0000-7000-8000-0000000000b1`
}

func (c *automationReadCmd) Run(ctx context.Context, r *remote) error {
	for _, id := range c.IDs {
		if _, err := r.Automation.ReadNote(ctx, id); err != nil {
			return err
		}
	}
	return r.did(map[string]any{"read": c.IDs}, "Marked %d as read.", len(c.IDs))
}

type automationTasksCmd struct {
	Done bool `help:"Those that are done, the newest first."`
	paging
}

func (automationTasksCmd) Help() string {
	return `They are yours, or of your role or one of your groups. Open ones come by when they are due.

Examples:
  renga automation tasks
  renga automation tasks --done -o json`
}

func (c *automationTasksCmd) Run(ctx context.Context, r *remote) error {
	return tabulate(r, &c.paging, columns(
		"ID, DUE, MESSAGE, RECORD, FOR, DONE BY", func(t *client.UserTask) []any {
			return []any{
				t.ID, t.DueOn, t.Message,
				phrase{t.Object, " ", named(t.RecordID)},
				phrase{t.Assignee.Type, " ", named(t.Assignee.ID)},
				named(t.DoneBy),
			}
		},
	))(r.Automation.UserTasks(ctx, c.Done, c.at()))
}

type automationDoneCmd struct {
	IDs []string `arg:"" name:"id" help:"Ids of tasks."`
}

func (automationDoneCmd) Help() string {
	return `Examples:
  renga automation done 0199c1a4-0000-7000-8000-0000000000b2`
}

func (c *automationDoneCmd) Run(ctx context.Context, r *remote) error {
	for _, id := range c.IDs {
		if _, err := r.Automation.CompleteUserTask(ctx, id); err != nil {
			return err
		}
	}
	return r.did(map[string]any{"done": c.IDs}, "Marked %d as done.", len(c.IDs))
}

type automationJobsCmd struct{ paging }

func (automationJobsCmd) Help() string {
	return `Examples:
  renga automation jobs
  renga automation jobs -o json | jq -r '.items[].nextAt'`
}

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

type automationRunsCmd struct {
	Event   string `placeholder:"ID" help:"Of this event, or of this firing of a job."`
	Rule    string `placeholder:"ID" help:"Of this rule or job."`
	Record  string `placeholder:"ID" help:"On this record."`
	Outcome string `placeholder:"OUTCOME" help:"With this outcome: DONE, PENDING, FAILED or NOTHING."`
	paging
}

func (automationRunsCmd) Help() string {
	return `Examples:
  renga automation runs --record 0199c1a5-0000-7000-8000-0000000000a1
  renga automation runs --outcome FAILED`
}

func (c *automationRunsCmd) Run(ctx context.Context, r *remote) error {
	const head = "AT, BY, ACTION, TYPE, RECORD, OUTCOME, RESULT"
	return tabulate(r, &c.paging, columns(head, func(run *client.ActionRun) []any {
		return []any{
			run.At, run.Source + " " + run.RuleName, run.ActionKey, run.Type,
			phrase{run.Object, " ", named(run.RecordID)},
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
		return strconv.Itoa(r.Told) + " notified"
	}
	return ""
}
