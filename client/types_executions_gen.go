// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"encoding/json"
	"time"
)

// Status: the state of an execution. It is ACTIVE from its creation until it ends.
type Status string

// The values of Status.
const (
	Active    Status = "ACTIVE"
	Completed Status = "COMPLETED"
	Failed    Status = "FAILED"
	Canceled  Status = "CANCELED"
)

// ExecutionSummary: an execution in a list.
type ExecutionSummary struct {
	ExecutionID  string `json:"executionId"`
	Status       Status `json:"status"`
	GraphID      string `json:"graphId"`
	GraphVersion int    `json:"graphVersion"`
	// Of the command that created it. One that was created before lists had it shows none here.
	CorrelationID string            `json:"correlationId,omitempty"`
	BusinessKey   string            `json:"businessKey,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	// Of the Success that it ended at, where that has one. One that ended before lists had it
	// shows none here.
	Outcome string `json:"outcome,omitempty"`
	// Why it failed, as `error.code` of the execution. One that ended before lists had it shows
	// none here.
	ErrorCode string `json:"errorCode,omitempty"`
	// The node at which it failed first. One that ended before lists had it shows none here.
	FailedNodeID string `json:"failedNodeId,omitempty"`
	// Whether a node waits for somebody. Absent where nothing was written about the execution
	// since lists have it.
	Waiting bool `json:"waiting,omitempty"`
	// With `include=nowAt`, of one that is ACTIVE, up to three nodes that are ready, run or
	// wait, in the order of the graph.
	NowAt      []string   `json:"nowAt,omitempty"`
	CreatedAt  time.Time  `json:"createdAt"`
	EndedAt    *time.Time `json:"endedAt"`
	ArchivedAt *time.Time `json:"archivedAt"`
}

// FirstTasks: a claim of the Tasks that the start of a new execution makes ready. It needs
// `start`; there is nothing to wait for.
type FirstTasks struct {
	WorkerID     string   `json:"workerId"`
	Queues       []string `json:"queues,omitempty"`
	Max          int      `json:"max,omitempty"`
	LeaseSeconds int      `json:"leaseSeconds,omitempty"`
}

// CreateExecution: creates an execution of a graph.
type CreateExecution struct {
	// With the same key it happens once; "" is a new one.
	Key     string `json:"-"`
	GraphID string `json:"graphId"`
	// A version of it that is stored; the newest when it is left out.
	GraphVersion int               `json:"graphVersion,omitempty"`
	Input        any               `json:"input,omitempty"`
	BusinessKey  string            `json:"businessKey,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	// The execution that this one does again.
	RerunOf string `json:"rerunOf,omitempty"`
	// Start it in the same commit.
	Start bool `json:"start,omitempty"`
	// Whoever creates it gets its first tasks with the answer, and saves the claim.
	Claim *FirstTasks `json:"claim,omitempty"`
}

func (c CreateExecution) parts() parts {
	c.Input = data(c.Input)
	return parts{
		name: "CreateExecution", path: "/executions",
		key: c.Key, body: c,
	}
}

// Failure: why a node or an execution failed.
type Failure struct {
	Code    string          `json:"code,omitempty"`
	Message string          `json:"message,omitempty"`
	Detail  json.RawMessage `json:"detail,omitempty"`
	// With true there is no other attempt, whatever the retry policy of the node says.
	Final bool `json:"final,omitempty"`
}

// DataRef: data over 4 KiB is not repeated here: read it from the event with this sequence
// number.
type DataRef struct {
	Seq  uint64 `json:"seq"`
	Size int    `json:"size"`
}

// Actor: who caused it.
type Actor struct {
	Kind string `json:"kind"`
	ID   string `json:"id,omitempty"`
}

// Cancel: where and why cancel won.
type Cancel struct {
	Seq         uint64 `json:"seq"`
	Reason      string `json:"reason,omitempty"`
	RequestedBy *Actor `json:"requestedBy,omitempty"`
	// The execution of the graph of `onCancel`, which the cancel started to clean up.
	CompensationID string `json:"compensationId,omitempty"`
}

// NodeStatus: the state of a node.
type NodeStatus string

// The values of NodeStatus.
const (
	NodeCreated   NodeStatus = "CREATED"
	NodeReady     NodeStatus = "READY"
	NodeRunning   NodeStatus = "RUNNING"
	NodeWaiting   NodeStatus = "WAITING"
	NodeSucceeded NodeStatus = "SUCCEEDED"
	NodeFailed    NodeStatus = "FAILED"
	NodeCanceled  NodeStatus = "CANCELED"
)

// Assignees: who may resume a node that waits. A user is called by the subject of its token
// or by its id, a role or a group by its id or name in the metadata, or as the claims
// `roles` and `groups` of a token have it.
type Assignees struct {
	Users  []string `json:"users,omitempty"`
	Roles  []string `json:"roles,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// Awaited: the message that resumes a node.
type Awaited struct {
	Name string `json:"name"`
	Key  string `json:"key,omitempty"`
}

// Gate: of a Join that was reached, what it has seen of its branches.
type Gate struct {
	ExpectedBranches  []string `json:"expectedBranches"`
	CompletedBranches []string `json:"completedBranches"`
	FailedBranches    []string `json:"failedBranches"`
	CanceledBranches  []string `json:"canceledBranches"`
	IsPassable        bool     `json:"isPassable"`
	Passed            bool     `json:"passed"`
}

// Node: the state of one node of an execution.
type Node struct {
	NodeID              string     `json:"nodeId"`
	Type                string     `json:"type"`
	Status              NodeStatus `json:"status"`
	CanceledByExecution bool       `json:"canceledByExecution"`
	// Attempts started so far.
	Attempt int `json:"attempt"`
	// The attempt that is due, of a Task that is READY or waits for its retry.
	NextAttempt int       `json:"nextAttempt,omitempty"`
	WorkerID    string    `json:"workerId,omitempty"`
	LeaseUntil  time.Time `json:"leaseUntil,omitzero"`
	TimeoutAt   time.Time `json:"timeoutAt,omitzero"`
	// Set between a failed attempt and the next NODE_READY; the status is CREATED then.
	RetryAt        time.Time       `json:"retryAt,omitzero"`
	WaitUntil      time.Time       `json:"waitUntil,omitzero"`
	Reminders      int             `json:"reminders,omitempty"`
	NextReminderAt time.Time       `json:"nextReminderAt,omitzero"`
	WaitKey        string          `json:"waitKey,omitempty"`
	Prompt         json.RawMessage `json:"prompt,omitempty"`
	PromptRef      *DataRef        `json:"promptRef,omitempty"`
	Assignees      *Assignees      `json:"assignees,omitempty"`
	Awaits         *Awaited        `json:"awaits,omitempty"`
	// The output of the resume that set the running attempt of a Task going again.
	ResumedWith    json.RawMessage `json:"resumedWith,omitempty"`
	ResumedWithRef *DataRef        `json:"resumedWithRef,omitempty"`
	// Of a Task that was reached and declares its input, what that was.
	Input    json.RawMessage `json:"input,omitempty"`
	InputRef *DataRef        `json:"inputRef,omitempty"`
	// The node whose failure the path leads on from; absent when nothing failed before.
	FailedNodeID string          `json:"failedNodeId,omitempty"`
	Progress     *float64        `json:"progress,omitempty"`
	Message      string          `json:"message,omitempty"`
	Metrics      json.RawMessage `json:"metrics,omitempty"`
	MetricsRef   *DataRef        `json:"metricsRef,omitempty"`
	Output       json.RawMessage `json:"output,omitempty"`
	OutputRef    *DataRef        `json:"outputRef,omitempty"`
	// Of the last attempt that failed.
	Error       *Failure `json:"error,omitempty"`
	ReasonClass string   `json:"reasonClass,omitempty"`
	RetryAdvice string   `json:"retryAdvice,omitempty"`
	// Why it was cancelled.
	Reason string `json:"reason,omitempty"`
	// Of a Fork that opened, the first nodes of its branches.
	BranchIDs []string `json:"branchIds,omitempty"`
	// Of a Join that was reached, what it has seen of its branches.
	Gate *Gate `json:"gate,omitempty"`
}

// LateResult: a result that came too late to count and was kept as evidence.
type LateResult struct {
	Command    string          `json:"command"`
	NodeID     string          `json:"nodeId"`
	Attempt    int             `json:"attempt,omitempty"`
	WorkerID   string          `json:"workerId,omitempty"`
	ReceivedAt time.Time       `json:"receivedAt"`
	Guard      string          `json:"guard"`
	Output     json.RawMessage `json:"output,omitempty"`
	Error      *Failure        `json:"error,omitempty"`
	// Bytes of a result that was too large to keep.
	Size int `json:"size,omitempty"`
}

// Execution: one run of a graph, now or after one of its events.
type Execution struct {
	ExecutionID string `json:"executionId"`
	Status      Status `json:"status"`
	// null until a cancel was requested.
	CancelRequestedAt *time.Time `json:"cancelRequestedAt"`
	GraphID           string     `json:"graphId"`
	GraphVersion      int        `json:"graphVersion"`
	// Of the command that created it.
	CorrelationID string            `json:"correlationId,omitempty"`
	BusinessKey   string            `json:"businessKey,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	// The execution that this one does again.
	RerunOf    string    `json:"rerunOf,omitempty"`
	CreatedAt  time.Time `json:"createdAt"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	EndedAt    time.Time `json:"endedAt,omitzero"`
	ArchivedAt time.Time `json:"archivedAt,omitzero"`
	// Of the last event that this state includes.
	Seq   uint64          `json:"seq"`
	Input json.RawMessage `json:"input,omitempty"`
	// Of a COMPLETED execution, the output of the last node before Success.
	Result    json.RawMessage `json:"result,omitempty"`
	ResultRef *DataRef        `json:"resultRef,omitempty"`
	// Of a COMPLETED execution, the outcome of its Success node, when that names one.
	Outcome      string   `json:"outcome,omitempty"`
	Error        *Failure `json:"error,omitempty"`
	FailedNodeID string   `json:"failedNodeId,omitempty"`
	// Where and why cancel won.
	Cancel *Cancel `json:"cancel,omitempty"`
	// In the order of the graph.
	Nodes []Node `json:"nodes"`
	// Results that came too late to count, kept as evidence.
	LateResults []LateResult `json:"lateResults,omitempty"`
}

// ExecutionGroup: executions with the same status and graph, as far as they are grouped by
// them.
type ExecutionGroup struct {
	Status  Status `json:"status,omitempty"`
	GraphID string `json:"graphId,omitempty"`
	Count   int    `json:"count"`
}

// ExecutionCounts: how many executions there are.
type ExecutionCounts struct {
	Items []ExecutionGroup `json:"items"`
	// Of all groups, also those that are not given.
	Total int  `json:"total"`
	More  bool `json:"more"`
}

// HistogramBucket: the executions that were created within a time.
type HistogramBucket struct {
	From time.Time `json:"from"`
	// By their present status; those without any are left out.
	Counts map[Status]int `json:"counts"`
}

// ExecutionHistogram: how many executions were created over time.
type ExecutionHistogram struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Bucket string    `json:"bucket"`
	// All executions that were created since then are counted.
	CompleteFrom time.Time         `json:"completeFrom"`
	Items        []HistogramBucket `json:"items"`
}

// ArchiveExecution: archives an execution that has ended.
type ArchiveExecution struct {
	// With the same key it happens once; "" is a new one.
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
	Reason      string `json:"reason,omitempty"`
}

func (c ArchiveExecution) parts() parts {
	return parts{
		name: "ArchiveExecution", path: "/executions/{executionId}/archive",
		key: c.Key, execution: c.ExecutionID, body: c,
	}
}

// Accepted: a command that was accepted and is durable.
type Accepted struct {
	ExecutionID   string `json:"executionId"`
	Command       string `json:"command"`
	CorrelationID string `json:"correlationId"`
	Key           string `json:"idempotencyKey"`
}

// AttemptWait: a time in which an attempt waited for somebody.
type AttemptWait struct {
	Since time.Time `json:"since"`
	// When it went on or ended.
	Until   time.Time `json:"until,omitzero"`
	WaitKey string    `json:"waitKey,omitempty"`
}

// NodeAttempt: one attempt of a node; a Wait has one.
type NodeAttempt struct {
	Attempt   int       `json:"attempt"`
	ReadyAt   time.Time `json:"readyAt,omitzero"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	// How it ended.
	Outcome  string   `json:"outcome,omitempty"`
	WorkerID string   `json:"workerId,omitempty"`
	Error    *Failure `json:"error,omitempty"`
	// When it waited for somebody.
	Waits []AttemptWait `json:"waits,omitempty"`
}

// NodeAttempts: the attempts of a node, in their order.
type NodeAttempts struct {
	NodeID   string        `json:"nodeId"`
	Attempts []NodeAttempt `json:"attempts"`
}

// ExecutionAttempts: the attempts of the nodes of an execution.
type ExecutionAttempts struct {
	ExecutionID string `json:"executionId"`
	// The last event that they are computed from.
	Seq uint64 `json:"seq"`
	// That this was the whole log.
	Complete bool           `json:"complete"`
	Nodes    []NodeAttempts `json:"nodes"`
}

// CancelExecution: cancels an execution, ahead of everything.
type CancelExecution struct {
	// With the same key it happens once; "" is a new one.
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
	Reason      string `json:"reason,omitempty"`
}

func (c CancelExecution) parts() parts {
	return parts{
		name: "CancelExecution", path: "/executions/{executionId}/cancel",
		key: c.Key, execution: c.ExecutionID, body: c,
	}
}

// Decided: a command in the log of an execution and what was answered.
type Decided struct {
	// Its place among all commands of the execution, from 1.
	Number int `json:"number"`
	// Also `ExpireDeadline`, which the engine sends itself.
	Command string `json:"command"`
	NodeID  string `json:"nodeId,omitempty"`
	// As sent with a result that came too late.
	Attempt int `json:"attempt,omitempty"`
	// As sent with a result that came too late.
	WorkerID      string    `json:"workerId,omitempty"`
	DecidedAt     time.Time `json:"decidedAt"`
	Actor         Actor     `json:"actor"`
	CorrelationID string    `json:"correlationId,omitempty"`
	// Absent where the log of the execution does not hold it (CreateExecution, claims,
	// deadlines).
	Key      string `json:"idempotencyKey,omitempty"`
	Accepted bool   `json:"accepted"`
	// Of the events that it led to; absent when it led to none.
	FirstSeq uint64 `json:"firstSeq,omitempty"`
	LastSeq  uint64 `json:"lastSeq,omitempty"`
	// Of a CancelExecution that was accepted, where cancel won.
	CancelSeq uint64 `json:"cancelSeq,omitempty"`
	// Of a command that was refused, what was answered.
	Error *Error `json:"error,omitempty"`
}

// Event: a fact in the log of one execution.
type Event struct {
	EventID       string    `json:"eventId"`
	ExecutionID   string    `json:"executionId"`
	Seq           uint64    `json:"seq"`
	Type          string    `json:"type"`
	OccurredAt    time.Time `json:"occurredAt"`
	Actor         Actor     `json:"actor"`
	CorrelationID string    `json:"correlationId,omitempty"`
	// The preceding event of the same decision; for its first event, the event that enabled it.
	CausationID   string          `json:"causationId,omitempty"`
	SchemaVersion int             `json:"schemaVersion"`
	Payload       json.RawMessage `json:"payload"`
	// How long the lists are that a brief payload has not all of.
	Counts map[string]int `json:"counts,omitempty"`
}

// EventPage: a page of a log.
type EventPage struct {
	Items    []Event `json:"items"`
	Page     int     `json:"page"`
	PageSize int     `json:"page_size"`
	// The sequence number of the last event of the log.
	Total int `json:"total"`
	// `after` of the next page; there is none without it.
	NextAfter uint64 `json:"nextAfter,omitempty"`
}

// StartExecution: starts an execution.
type StartExecution struct {
	// With the same key it happens once; "" is a new one.
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
}

func (c StartExecution) parts() parts {
	return parts{
		name: "StartExecution", path: "/executions/{executionId}/start",
		key: c.Key, execution: c.ExecutionID, body: c,
	}
}

// WaitsFor: what makes it go on: somebody who resumes it (`person`), the message in `awaits`
// (`message`), or the time: a Wait with `for` succeeds by itself at `waitUntil` (`timer`).
// Whoever may resume it may do so in any case.
type WaitsFor string

// The values of WaitsFor.
const (
	WaitsForPerson  WaitsFor = "person"
	WaitsForMessage WaitsFor = "message"
	WaitsForTimer   WaitsFor = "timer"
)

// NodeWait: a node that waits for somebody.
type NodeWait struct {
	ExecutionID string `json:"executionId"`
	NodeID      string `json:"nodeId"`
	GraphID     string `json:"graphId"`
	// What makes it go on: somebody who resumes it (`person`), the message in `awaits`
	// (`message`), or the time: a Wait with `for` succeeds by itself at `waitUntil` (`timer`).
	// Whoever may resume it may do so in any case.
	WaitsFor      WaitsFor `json:"waitsFor"`
	BusinessKey   string   `json:"businessKey,omitempty"`
	CorrelationID string   `json:"correlationId,omitempty"`
	// When it began to wait.
	Since time.Time `json:"since"`
	// When it ends by itself.
	WaitUntil      time.Time       `json:"waitUntil,omitzero"`
	Reminders      int             `json:"reminders,omitempty"`
	NextReminderAt time.Time       `json:"nextReminderAt,omitzero"`
	WaitKey        string          `json:"waitKey,omitempty"`
	Prompt         json.RawMessage `json:"prompt,omitempty"`
	PromptRef      *DataRef        `json:"promptRef,omitempty"`
	Assignees      *Assignees      `json:"assignees,omitempty"`
	Awaits         *Awaited        `json:"awaits,omitempty"`
}
