// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"time"
)

// Note: a notification of the caller.
type Note struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Message string    `json:"message"`
	// That of the record; `Execution` where a node waits for the caller.
	Object string `json:"object"`
	// The record, or the execution.
	RecordID string `json:"recordId"`
	// The node of the execution that waits.
	NodeID    string    `json:"nodeId,omitempty"`
	Source    string    `json:"source"`
	RuleID    string    `json:"ruleId,omitempty"`
	ActionKey string    `json:"actionKey"`
	EventID   string    `json:"eventId"`
	ReadAt    time.Time `json:"readAt,omitzero"`
}

// JobFiring: the last time that it came; none when it never did.
type JobFiring struct {
	// That of its runs.
	EventID  string    `json:"eventId"`
	FiredFor time.Time `json:"firedFor"`
	// Times before it that were left out, counted up to 1,000.
	Missed    int       `json:"missed"`
	StartedAt time.Time `json:"startedAt"`
	// Not there while it is under way.
	EndedAt time.Time `json:"endedAt,omitzero"`
	// Records that it looked at.
	Seen int `json:"seen"`
	// Records that it acted on.
	Matched int `json:"matched"`
	// Actions that failed.
	Failed int `json:"failed"`
}

// ScheduledJob: a scheduled job and its last run.
type ScheduledJob struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Object   string    `json:"object,omitempty"`
	Cron     string    `json:"cron"`
	TimeZone string    `json:"timeZone"`
	IsActive bool      `json:"isActive"`
	NextAt   time.Time `json:"nextAt,omitzero"`
	// The last time that it came; none when it never did.
	Last *JobFiring `json:"last,omitempty"`
}

// ActionRun: an action of a rule or a job that was done, or is to be.
type ActionRun struct {
	At time.Time `json:"at"`
	// Of a job: that of its firing.
	EventID string `json:"eventId"`
	// Of a job: the time that it came for.
	EventType string `json:"eventType,omitempty"`
	Source    string `json:"source"`
	RuleID    string `json:"ruleId,omitempty"`
	RuleName  string `json:"ruleName,omitempty"`
	ActionKey string `json:"actionKey"`
	Type      string `json:"type"`
	Object    string `json:"object,omitempty"`
	RecordID  string `json:"recordId,omitempty"`
	// How many changes by rules led to the event.
	Depth   int    `json:"depth"`
	Outcome string `json:"outcome"`
	// Of `notify`: how many users.
	Told int `json:"told,omitempty"`
	// Of `createTask`.
	TaskID string `json:"taskId,omitempty"`
	// Of `updateField`.
	RecordVersion string `json:"recordVersion,omitempty"`
	// Of `startGraph`.
	ExecutionID string `json:"executionId,omitempty"`
	Error       string `json:"error,omitempty"`
}

// Assignee: whoever is meant by it may complete the task.
type Assignee struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// UserTask: a task that is assigned to a user, a role or a group.
type UserTask struct {
	ID string `json:"id"`
	// Whoever is meant by it may complete the task.
	Assignee  Assignee  `json:"assignee"`
	Status    string    `json:"status"`
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
