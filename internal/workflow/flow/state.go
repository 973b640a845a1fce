package flow

// Status is the state of an execution.
type Status uint8

// An execution is ACTIVE from its creation until it ends.
const (
	Active Status = iota
	Completed
	Failed
	Canceled
)

var statusNames = [...]string{"ACTIVE", "COMPLETED", "FAILED", "CANCELED"}

func (s Status) String() string { return statusNames[s] }

// Terminal reports whether an execution in s has ended.
func (s Status) Terminal() bool { return s != Active }

// NodeStatus is the state of one node.
type NodeStatus uint8

// A node is CREATED until it is reached (or, with RetryAt, until its next attempt).
const (
	NodeIsCreated NodeStatus = iota
	NodeIsReady
	NodeIsRunning
	NodeIsWaiting
	NodeIsSucceeded
	NodeIsFailed
	NodeIsCanceled
)

var nodeStatusNames = [...]string{"CREATED", "READY", "RUNNING", "WAITING", "SUCCEEDED", "FAILED", "CANCELED"}

func (s NodeStatus) String() string { return nodeStatusNames[s] }

// Terminal reports whether a node in s has ended.
func (s NodeStatus) Terminal() bool { return s >= NodeIsSucceeded }

// The limits of a state.
const (
	MaxInline        = 4 << 10  // bytes of data in the state itself; more is held by its event's Seq
	MaxExecutionData = 16 << 20 // bytes of callers' data: inputs, outputs, prompts, metrics, error details
)

// EventRef names an event: the one that caused a status, or a refusal.
type EventRef struct {
	Seq  uint64 `json:"seq"`
	ID   ID     `json:"eventId"`
	Type Type   `json:"type"`
	At   Time   `json:"occurredAt"`
}

// Blob is data that is held inline when small, else by the event that carries it.
type Blob struct {
	Inline Data   `json:"inline,omitzero"`
	Seq    uint64 `json:"seq,omitzero"` // of the event that carries the data; 0 when inline
	Size   int    `json:"size,omitzero"`
}

// Gate is what a Join has seen of its branches, each named by its first node.
type Gate struct {
	Expected  []string `json:"expected"`
	Completed []string `json:"completed,omitempty"`
	Failed    []string `json:"failed,omitempty"`
	Canceled  []string `json:"canceled,omitempty"`
	Passable  bool     `json:"passable,omitzero"`
	Passed    bool     `json:"passed,omitzero"`
}

// Node is the state of one node of an execution.
type Node struct {
	ID          string     `json:"id"`
	Kind        Kind       `json:"kind,omitzero"` // none when the log had it before its NODE_CREATED
	Status      NodeStatus `json:"status,omitzero"`
	Attempt     int        `json:"attempt,omitzero"` // attempts started so far
	ByExecution bool       `json:"byExecution,omitzero"`
	Cause       EventRef   `json:"cause,omitzero"` // the event that put it into its status
	Worker      string     `json:"worker,omitempty"`
	Lease       int        `json:"lease,omitzero"` // seconds; 0 when the node was not claimed
	LeaseUntil  Time       `json:"leaseUntil,omitzero"`
	TimeoutAt   Time       `json:"timeoutAt,omitzero"`
	TimeLeft    Time       `json:"timeLeft,omitzero"` // of the timeout, in ms, while a Task is WAITING
	RetryAt     Time       `json:"retryAt,omitzero"`  // set between a failed attempt and the next NODE_READY
	WaitUntil   Time       `json:"waitUntil,omitzero"`
	Reminders   int        `json:"reminders,omitzero"` // so far
	RemindAt    Time       `json:"nextReminderAt,omitzero"`
	WaitKey     string     `json:"waitKey,omitempty"`
	Prompt      Blob       `json:"prompt,omitzero"`
	Assignees   *Assignees `json:"assignees,omitempty"`  // who may resume it; nil: everybody
	Awaits      *Awaited   `json:"awaits,omitempty"`     // the message that resumes it
	Resumed     Blob       `json:"resumed,omitzero"`     // what the running attempt of a Task was last resumed with
	Input       Blob       `json:"input,omitzero"`       // that a Task declares
	On          Outcome    `json:"on,omitempty"`         // failure: a failure edge led here
	FailedNode  string     `json:"failedNode,omitempty"` // whose failure the path leads on from, before this node
	Progress    *float64   `json:"progress,omitzero"`
	Message     string     `json:"message,omitempty"`
	Metrics     Blob       `json:"metrics,omitzero"`
	Output      Blob       `json:"output,omitzero"`
	Error       *Error     `json:"error,omitzero"`     // of the last attempt that failed, until one succeeds
	Reason      string     `json:"reason,omitempty"`   // why it was cancelled
	Branches    []string   `json:"branches,omitempty"` // of a Fork that opened
	Gate        *Gate      `json:"gate,omitzero"`      // of a Join that was reached
}

// State is an execution as its log tells it. The zero State is an execution that
// does not exist yet. It is changed by Apply alone.
type State struct {
	Execution         ID       `json:"execution"`
	Seq               uint64   `json:"seq"` // of the last event applied
	Status            Status   `json:"status,omitzero"`
	GraphID           string   `json:"graphId"`
	GraphVersion      int      `json:"graphVersion"`
	GraphDigest       string   `json:"graphDigest,omitempty"`
	CorrelationID     string   `json:"correlationId,omitempty"` // of its creation; deadlines use it
	BusinessKey       string   `json:"businessKey,omitempty"`
	Labels            Labels   `json:"labels,omitzero"`
	RerunOf           ID       `json:"rerunOf,omitzero"` // the execution that this one does again
	Input             Data     `json:"input,omitzero"`
	Result            Blob     `json:"result,omitzero"`
	Outcome           string   `json:"outcome,omitempty"` // of the Success node that was reached
	Error             *Error   `json:"error,omitzero"`
	FailedNode        string   `json:"failedNode,omitempty"`
	CreatedAt         Time     `json:"createdAt"`
	StartedAt         Time     `json:"startedAt,omitzero"`
	EndedAt           Time     `json:"endedAt,omitzero"`
	ArchivedAt        Time     `json:"archivedAt,omitzero"`
	Archived          EventRef `json:"archived,omitzero"` // the event that archived it
	CancelRequestedAt Time     `json:"cancelRequestedAt,omitzero"`
	CancelSeq         uint64   `json:"cancelSeq,omitzero"` // the fence: the seq of EXECUTION_CANCEL_REQUESTED
	CancelReason      string   `json:"cancelReason,omitempty"`
	CancelBy          *Actor   `json:"cancelBy,omitzero"`
	Compensation      ID       `json:"compensation,omitzero"` // the execution that cleans up after the cancel
	// the event that put it into its status or, while ACTIVE, created, started or asked to cancel it
	Cause EventRef `json:"cause,omitzero"`
	Data  int64    `json:"data"` // bytes of callers' data held so far
	Nodes []*Node  `json:"nodes"`

	index map[string]int // node by id, kept when there are many
	draft bool           // shares its nodes and index with another state: copy before writing
	fresh bitset         // on a draft: the nodes that were copied
}
