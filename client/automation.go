package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Automation reads the inbox and the tasks of the caller, and what rules and jobs did.
type Automation struct{ *transport }

// Note is what the caller was told.
type Note struct {
	ID        string    `json:"id"`
	At        time.Time `json:"at"`
	Message   string    `json:"message"`
	Object    string    `json:"object"`
	RecordID  string    `json:"recordId"`
	Source    string    `json:"source"` // rule, job, event
	RuleID    string    `json:"ruleId,omitempty"`
	ActionKey string    `json:"actionKey"`
	EventID   string    `json:"eventId"`
	ReadAt    time.Time `json:"readAt,omitzero"`
}

const automationPath = "/automation"

// Inbox reads a page of what the caller was told, the newest first.
func (c Automation) Inbox(ctx context.Context, unread bool, at Paging) (*Page[Note], error) {
	query := url.Values{}
	if unread {
		query.Set("unread", strconv.FormatBool(unread))
	}
	return list[Note](ctx, c.transport, automationPath+"/inbox", query, at)
}

// ReadNote marks a note of the caller as read.
func (c Automation) ReadNote(ctx context.Context, id string) (*Note, error) {
	r, err := c.do(ctx, call{method: http.MethodPut, path: automationPath + "/inbox/" + url.PathEscape(id) + "/read"})
	if err != nil {
		return nil, err
	}
	n := &Note{}
	return n, json.Unmarshal(r.body, n)
}

// UserTask is what somebody is to do.
type UserTask struct {
	ID       string `json:"id"`
	Assignee struct {
		Type string `json:"type"` // User, Role, Group
		ID   string `json:"id"`
	} `json:"assignee"`
	Status    string    `json:"status"` // OPEN, DONE
	Message   string    `json:"message"`
	DueOn     string    `json:"dueOn"`
	Object    string    `json:"object"`
	RecordID  string    `json:"recordId"`
	Source    string    `json:"source"`
	RuleID    string    `json:"ruleId"`
	ActionKey string    `json:"actionKey"`
	EventID   string    `json:"eventId"`
	CreatedAt time.Time `json:"createdAt"`
	DoneAt    time.Time `json:"doneAt,omitzero"`
	DoneBy    string    `json:"doneBy,omitempty"`
}

// UserTasks reads a page of the tasks that the caller is meant by: the open ones by when they
// are due, or those that are done.
func (c Automation) UserTasks(ctx context.Context, done bool, at Paging) (*Page[UserTask], error) {
	query := url.Values{}
	if done {
		query.Set("status", "DONE")
	}
	return list[UserTask](ctx, c.transport, automationPath+"/tasks", query, at)
}

// CompleteUserTask marks a task as done. One that somebody else has done is ErrRefused.
func (c Automation) CompleteUserTask(ctx context.Context, id string) (*UserTask, error) {
	r, err := c.do(ctx, call{method: http.MethodPut, path: automationPath + "/tasks/" + url.PathEscape(id) + "/done"})
	if err != nil {
		return nil, err
	}
	t := &UserTask{}
	return t, json.Unmarshal(r.body, t)
}

// ScheduledJob is a job and how it goes.
type ScheduledJob struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Object   string     `json:"object,omitempty"`
	Cron     string     `json:"cron"`
	TimeZone string     `json:"timeZone"`
	IsActive bool       `json:"isActive"`
	NextAt   time.Time  `json:"nextAt,omitzero"`
	Last     *JobFiring `json:"last,omitempty"` // nil: it never came
}

// JobFiring is what a job did for one time.
type JobFiring struct {
	EventID   string    `json:"eventId"` // of its runs
	FiredFor  time.Time `json:"firedFor"`
	Missed    int       `json:"missed"` // times before it that were left out
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	Seen      int       `json:"seen"`    // records that were looked at
	Matched   int       `json:"matched"` // records that it acted on
	Failed    int       `json:"failed"`  // actions that failed
}

// ScheduledJobs reads a page of the jobs, by name.
func (c Automation) ScheduledJobs(ctx context.Context, at Paging) (*Page[ScheduledJob], error) {
	return list[ScheduledJob](ctx, c.transport, automationPath+"/jobs", url.Values{}, at)
}

// ActionRun is an action of a rule or a job that was done, or is to be.
type ActionRun struct {
	At            time.Time `json:"at"`
	EventID       string    `json:"eventId"`
	EventType     string    `json:"eventType,omitempty"`
	Source        string    `json:"source"` // rule, job, event
	RuleID        string    `json:"ruleId,omitempty"`
	RuleName      string    `json:"ruleName,omitempty"`
	ActionKey     string    `json:"actionKey"`
	Type          string    `json:"type"` // notify, createTask, updateField, startGraph
	Object        string    `json:"object,omitempty"`
	RecordID      string    `json:"recordId,omitempty"`
	Depth         int       `json:"depth"`
	Outcome       string    `json:"outcome"` // DONE, PENDING, FAILED, NOTHING
	Told          int       `json:"told,omitempty"`
	TaskID        string    `json:"taskId,omitempty"`
	RecordVersion string    `json:"recordVersion,omitempty"`
	ExecutionID   string    `json:"executionId,omitempty"`
	Error         string    `json:"error,omitempty"`
}

// ActionRunQuery is which runs are wanted; what is empty is any.
type ActionRunQuery struct {
	EventID, RuleID, RecordID string
	Outcome                   string
}

// ActionRuns reads a page of what was done, the newest first.
func (c Automation) ActionRuns(ctx context.Context, q ActionRunQuery, at Paging) (*Page[ActionRun], error) {
	query := url.Values{}
	for name, value := range map[string]string{
		"eventId": q.EventID, "ruleId": q.RuleID, "recordId": q.RecordID,
		"outcome": q.Outcome,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return list[ActionRun](ctx, c.transport, automationPath+"/runs", query, at)
}
