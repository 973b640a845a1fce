package client

import (
	"context"
)

// Automation reads the inbox and the tasks of the caller, and what rules and jobs did.
type Automation struct{ *transport }

// Inbox reads a page of the notes to the caller, the newest first.
func (c Automation) Inbox(ctx context.Context, unread bool, at Paging) (*Page[Note], error) {
	query := given(map[string]string{"unread": when(unread, "true")})
	return list[Note](ctx, c.transport, "/automation/inbox", query, at)
}

// ReadNote marks a note of the caller as read.
func (c Automation) ReadNote(ctx context.Context, id string) (*Note, error) {
	note, _, err := put[Note](ctx, c.transport, pathOf("/automation/inbox/{id}/read", id), nil)
	return note, err
}

// UserTasks reads a page of the tasks that are assigned to the caller, directly or by a role or a
// group: the open ones by when they are due, or those that are done.
func (c Automation) UserTasks(ctx context.Context, done bool, at Paging) (*Page[UserTask], error) {
	query := given(map[string]string{"status": when(done, "DONE")})
	return list[UserTask](ctx, c.transport, "/automation/tasks", query, at)
}

// CompleteUserTask marks a task as done. One that somebody else has done is ErrRefused.
func (c Automation) CompleteUserTask(ctx context.Context, id string) (*UserTask, error) {
	task, _, err := put[UserTask](ctx, c.transport, pathOf("/automation/tasks/{id}/done", id), nil)
	return task, err
}

// ScheduledJobs reads a page of the jobs, by name.
func (c Automation) ScheduledJobs(ctx context.Context, at Paging) (*Page[ScheduledJob], error) {
	return list[ScheduledJob](ctx, c.transport, "/automation/jobs", nil, at)
}

// ActionRunQuery is which runs are wanted; what is empty is any.
type ActionRunQuery struct {
	EventID, RuleID, RecordID string
	Outcome                   string
}

// ActionRuns reads a page of what was done, the newest first.
func (c Automation) ActionRuns(ctx context.Context, q ActionRunQuery, at Paging) (*Page[ActionRun], error) {
	return list[ActionRun](ctx, c.transport, "/automation/runs", given(map[string]string{
		"eventId": q.EventID, "ruleId": q.RuleID, "recordId": q.RecordID, "outcome": q.Outcome,
	}), at)
}
