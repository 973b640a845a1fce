package flow

import "github.com/go-json-experiment/json/jsontext"

// Type is the type of an event: one of exactly 24, numbered as in the document.
type Type uint8

// The 24 core events.
const (
	_ Type = iota
	ExecutionCreatedType
	ExecutionStartedType
	ExecutionCompletedType
	ExecutionArchivedType
	ExecutionCancelRequestedType
	ExecutionCanceledType
	ExecutionFailRequestedType
	ExecutionFailedType
	NodeCreatedType
	NodeReadyType
	NodeStartedType
	NodeProgressReportedType
	NodeWaitingType
	NodeResumeRequestedType
	NodeResumedType
	NodeSucceededType
	NodeFailReportedType
	NodeFailedType
	NodeCancelRequestedType
	NodeCanceledType
	NodeInterruptRequestedType
	ForkOpenedType
	JoinGateUpdatedType
	JoinPassedType

	typeEnd
)

// SchemaVersion is the version of the envelope and of every payload.
const SchemaVersion = 1

// Actor is who caused an event.
type Actor struct {
	Kind string `json:"kind"`         // system, user, scheduler or external
	ID   string `json:"id,omitempty"` // user, worker …
}

// The kinds of actor.
const (
	KindSystem    = "system"
	KindUser      = "user"
	KindScheduler = "scheduler"
	KindExternal  = "external"
)

// Event is what happened to an execution, and who and what caused it. Seq is its place in the
// execution's log, from 1, without gaps.
type Event struct {
	ID            ID
	Execution     ID
	Seq           uint64
	Type          Type
	At            Time
	Actor         Actor
	CorrelationID string
	CausationID   ID
	Payload       Payload
}

// Payload is what an event of its type says, never changed once its event exists. The
// implementations are the structs below, as pointers.
type Payload interface {
	Type() Type
	Node() string // the node that the event is about, "" for events of the execution
}

// Error is why a node or an execution failed.
type Error struct {
	Code    string         `json:"code,omitempty"`
	Message string         `json:"message,omitempty"`
	Detail  jsontext.Value `json:"detail,omitzero"`
	Final   bool           `json:"final,omitzero"` // + another attempt would fail again: there is none
}

// Data is any JSON object that the core carries and does not interpret.
type Data = jsontext.Value

// The payloads. Members that the document does not have are optional, marked "+".
type (
	ExecutionCreated struct {
		GraphID      string `json:"graphId"`
		Input        Data   `json:"input,omitzero"`
		GraphVersion int    `json:"graphVersion,omitzero"` // +
		GraphDigest  string `json:"graphDigest,omitempty"` // +
		BusinessKey  string `json:"businessKey,omitempty"` // +
		Labels       Labels `json:"labels,omitzero"`       // +
		RerunOf      ID     `json:"rerunOf,omitzero"`      // + the execution that this one does again
	}
	ExecutionStarted struct {
		StartedBy *Actor `json:"startedBy,omitzero"`
	}
	ExecutionCompleted struct {
		Result  Data   `json:"result,omitzero"`
		Outcome string `json:"outcome,omitempty"` // + of the Success node that was reached
	}
	ExecutionArchived struct {
		Reason string `json:"reason,omitempty"`
	}
	ExecutionCancelRequested struct {
		Reason      string `json:"reason,omitempty"`
		RequestedBy *Actor `json:"requestedBy,omitzero"`
	}
	ExecutionCanceled struct {
		Reason         string `json:"reason,omitempty"`
		CanceledAt     Time   `json:"canceledAt,omitzero"`
		CompensationID ID     `json:"compensationId,omitzero"` // + what the cancel started to clean up
	}
	ExecutionFailRequested struct {
		Reason      string `json:"reason,omitempty"`
		RequestedBy *Actor `json:"requestedBy,omitzero"`
	}
	ExecutionFailed struct {
		Reason       string `json:"reason,omitempty"`
		FailedNodeID string `json:"failedNodeId,omitempty"`
		Error        *Error `json:"error,omitzero"`
	}
	NodeCreated struct {
		NodeID   string `json:"nodeId"`
		NodeType Kind   `json:"nodeType"`
		Meta     Data   `json:"meta,omitzero"`
	}
	NodeReady struct {
		NodeID       string  `json:"nodeId"`
		Attempt      int     `json:"attempt,omitzero"`       // + the attempt that is due; none for a Wait
		Input        Data    `json:"input,omitzero"`         // + what a Task declares, with its first attempt
		On           Outcome `json:"on,omitempty"`           // + failure: a failure edge led here
		FailedNodeID string  `json:"failedNodeId,omitempty"` // + the node whose failure the path leads on from
	}
	NodeStarted struct {
		NodeID     string `json:"nodeId"`
		Attempt    int    `json:"attempt"`
		WorkerID   string `json:"workerId,omitempty"`
		Lease      int    `json:"leaseSeconds,omitzero"` // + how long a lease is when it is renewed
		LeaseUntil Time   `json:"leaseUntil,omitzero"`   // +
		TimeoutAt  Time   `json:"timeoutAt,omitzero"`    // +
	}
	NodeProgressReported struct {
		NodeID     string   `json:"nodeId"`
		Progress   *float64 `json:"progress,omitzero"`
		Message    string   `json:"message,omitempty"`
		Metrics    Data     `json:"metrics,omitzero"`
		LeaseUntil Time     `json:"leaseUntil,omitzero"` // + the renewed lease
	}
	NodeWaiting struct {
		NodeID    string     `json:"nodeId"`
		WaitKey   string     `json:"waitKey,omitempty"`
		Prompt    Data       `json:"prompt,omitzero"`
		WaitUntil Time       `json:"waitUntil,omitzero"`  // + of a Wait that ends by itself
		Assignees *Assignees `json:"assignees,omitempty"` // + who may resume it; nil: everybody
		Awaits    *Awaited   `json:"awaits,omitempty"`    // + the message that resumes it
		// + a reminder says which it is, and not again what the node asks
		Reminder int  `json:"reminder,omitzero"`
		RemindAt Time `json:"nextReminderAt,omitzero"` // +
	}
	NodeResumeRequested struct {
		NodeID      string `json:"nodeId"`
		ResumeKey   string `json:"resumeKey,omitempty"`
		RequestedBy *Actor `json:"requestedBy,omitzero"`
		MessageID   string `json:"messageId,omitempty"` // + the message that resumes it
	}
	NodeResumed struct {
		NodeID     string `json:"nodeId"`
		LeaseUntil Time   `json:"leaseUntil,omitzero"` // + of a Task, whose clocks stood still
		TimeoutAt  Time   `json:"timeoutAt,omitzero"`  // +
		Output     Data   `json:"output,omitzero"`     // + what a Task was resumed with; that of a Wait is its output
	}
	NodeSucceeded struct {
		NodeID string `json:"nodeId"`
		Output Data   `json:"output,omitzero"`
	}
	NodeFailReported struct {
		NodeID  string `json:"nodeId"`
		Error   *Error `json:"error,omitzero"`
		Attempt int    `json:"attempt,omitzero"` // +
		RetryAt Time   `json:"retryAt,omitzero"` // + when the next attempt becomes ready
	}
	NodeFailed struct {
		NodeID string `json:"nodeId"`
		Error  *Error `json:"error,omitzero"`
	}
	NodeCancelRequested struct {
		NodeID string `json:"nodeId"`
		Reason string `json:"reason,omitempty"`
	}
	NodeCanceled struct {
		NodeID      string `json:"nodeId"`
		Reason      string `json:"reason,omitempty"`
		ByExecution bool   `json:"canceledByExecution"` // +
	}
	NodeInterruptRequested struct {
		NodeID   string `json:"nodeId"`
		WorkerID string `json:"workerId,omitempty"`
		Reason   string `json:"reason,omitempty"`
	}
	ForkOpened struct {
		NodeID       string   `json:"nodeId"`
		BranchIDs    []string `json:"branchIds"`
		FailedNodeID string   `json:"failedNodeId,omitempty"` // + the node whose failure the path leads on from
	}
	JoinGateUpdated struct {
		NodeID    string   `json:"nodeId"`
		Expected  []string `json:"expectedBranches"`
		Completed []string `json:"completedBranches"`
		Failed    []string `json:"failedBranches"`
		Canceled  []string `json:"canceledBranches"`
		Policy    Policy   `json:"policy"`
		Passable  bool     `json:"isPassable"`
	}
	JoinPassed struct {
		NodeID string `json:"nodeId"`
	}
)
