// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"encoding/json"
	"time"
)

// ScheduleDefinition: when an execution of which graph is started.
type ScheduleDefinition struct {
	// The graph that is started, in its newest version.
	Graph string `json:"graph"`
	// The input of its executions; they get the member `schedule` in addition. At most 64 KiB.
	Input json.RawMessage `json:"input,omitempty"`
	// Minute, hour, day of the month, month, day of the week; or @hourly, @daily, @weekly,
	// @monthly, @yearly.
	Cron string `json:"cron"`
	// The time zone whose clocks count, such as Asia/Tokyo; UTC unless given.
	Zone string `json:"zone,omitempty"`
	// What becomes of a local time that clocks leave out: it comes at the moment at which they
	// are put forward over it (`shift`), or not that day (`skip`).
	Nonexistent string `json:"nonexistent,omitempty"`
	// Which of the two counts when clocks are put back and show a local time twice.
	Ambiguous string `json:"ambiguous,omitempty"`
	// What becomes of an instant while the execution that was started last is still active: the
	// instant is skipped, or waits until that has ended (at most 100), or that is cancelled.
	Overlap string `json:"overlap,omitempty"`
	// How late an instant may be started, 10s to 8760h; 1h unless given. What nobody decided
	// about within that time, since no process was up, is missed.
	CatchUp string `json:"catchUp,omitempty"`
}

// StoredSchedule: a schedule, and how far it is.
type StoredSchedule struct {
	ID string `json:"id"`
	ScheduleDefinition
	Paused      bool      `json:"paused"`
	PausedAt    time.Time `json:"pausedAt,omitzero"`
	PauseReason string    `json:"pauseReason,omitempty"`
	// The first instant without an outcome. Not there when the schedule never comes again.
	NextAt time.Time `json:"nextAt,omitzero"`
	// The execution that was started last.
	ExecutionID string `json:"executionId,omitempty"`
	// When that one was started.
	StartedAt time.Time `json:"startedAt,omitzero"`
	// Instants that wait, also those of backfills.
	Queued    int       `json:"queued"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// BackfillSchedule: the past instants that a backfill is about.
type BackfillSchedule struct {
	// With the same key it happens once; "" is a new one.
	Key string `json:"-"`
	ID  string `json:"-"`
	// Instants from here on.
	From time.Time `json:"from"`
	// Instants before; not later than now.
	To time.Time `json:"to"`
	// Why. On one line.
	Reason string `json:"reason,omitempty"`
}

// ScheduleBackfill: what a backfill found in its window.
type ScheduleBackfill struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// At which the schedule comes.
	Instants int `json:"instants"`
	// Of them, that wait from now on.
	Queued int `json:"queued"`
	// Of them, that have an execution or were waiting.
	Covered int `json:"covered"`
}

// ScheduleTime: an instant to come.
type ScheduleTime struct {
	DueAt time.Time `json:"dueAt"`
	// What a clock in the schedule's zone shows then, with its offset.
	LocalTime string `json:"localTime"`
}

// scheduleTimes: when a schedule comes next.
type scheduleTimes struct {
	Items []ScheduleTime `json:"items"`
}

// pauseSchedule: why a schedule is paused.
type pauseSchedule struct {
	// Why. On one line.
	Reason string `json:"reason,omitempty"`
}

// ScheduleOutcome: what became of due instants. STARTED: an execution was started; SKIPPED:
// none, see the reason; MISSED: none, as nobody decided within the catch-up window; QUEUED:
// one will be when the active one has ended.
type ScheduleOutcome string

// The values of ScheduleOutcome.
const (
	ScheduleStarted ScheduleOutcome = "STARTED"
	ScheduleSkipped ScheduleOutcome = "SKIPPED"
	ScheduleMissed  ScheduleOutcome = "MISSED"
	ScheduleQueued  ScheduleOutcome = "QUEUED"
)

// ScheduleRun: the outcome of one due instant, or of several that follow each other.
type ScheduleRun struct {
	// The first instant of the row.
	DueAt time.Time `json:"dueAt"`
	// The last one.
	LastAt time.Time `json:"lastAt"`
	// How many they are.
	Instants int `json:"instants"`
	// What made them due.
	Origin  string          `json:"origin"`
	Outcome ScheduleOutcome `json:"outcome"`
	// Of SKIPPED. OVERLAP: the execution that was started last was active; SUPERSEDED: a newer
	// instant was due as well; PAUSED; QUEUE_FULL: 100 instants were waiting; REFUSED: the
	// execution could not be started, see the message; CHANGED, DELETED: it waited, and the
	// schedule was changed to another policy or deleted; CANCELED: it waited, and the backfill
	// was cancelled.
	Reason string `json:"reason,omitempty"`
	// Why the start was refused.
	Message string `json:"message,omitempty"`
	// Of STARTED.
	ExecutionID string `json:"executionId,omitempty"`
	// The execution that was active. With STARTED it was cancelled for this one.
	Overlapped string    `json:"overlapped,omitempty"`
	DecidedAt  time.Time `json:"decidedAt"`
}
