package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Executions creates, steers and reads executions. Commands on one node of an execution go
// through a Client's Send, and many commands together through its SendAll.
type Executions struct{ *transport }

// Status is the state of an execution.
type Status string

// The states of an execution. It is ACTIVE from its creation until it ends.
const (
	Active    Status = "ACTIVE"
	Completed Status = "COMPLETED"
	Failed    Status = "FAILED"
	Canceled  Status = "CANCELED"
)

// Terminal reports whether an execution in s has ended.
func (s Status) Terminal() bool { return s != Active && s != "" }

// NodeStatus is the state of a node.
type NodeStatus string

// The states of a node.
const (
	NodeCreated   NodeStatus = "CREATED"
	NodeReady     NodeStatus = "READY"
	NodeRunning   NodeStatus = "RUNNING"
	NodeWaiting   NodeStatus = "WAITING"
	NodeSucceeded NodeStatus = "SUCCEEDED"
	NodeFailed    NodeStatus = "FAILED"
	NodeCanceled  NodeStatus = "CANCELED"
)

// Execution is one run of a graph, now or after one of its events.
type Execution struct {
	ExecutionID       string          `json:"executionId"`
	Status            Status          `json:"status"`
	CancelRequestedAt *time.Time      `json:"cancelRequestedAt"`
	GraphID           string          `json:"graphId"`
	GraphVersion      int             `json:"graphVersion"`
	CorrelationID     string          `json:"correlationId,omitempty"`
	CreatedAt         time.Time       `json:"createdAt"`
	StartedAt         time.Time       `json:"startedAt,omitzero"`
	EndedAt           time.Time       `json:"endedAt,omitzero"`
	ArchivedAt        time.Time       `json:"archivedAt,omitzero"`
	Seq               uint64          `json:"seq"` // of the last event that this state includes
	Input             json.RawMessage `json:"input,omitempty"`
	Result            json.RawMessage `json:"result,omitempty"`
	ResultRef         *DataRef        `json:"resultRef,omitempty"`
	Error             *Failure        `json:"error,omitempty"`
	FailedNodeID      string          `json:"failedNodeId,omitempty"`
	Cancel            *Cancel         `json:"cancel,omitempty"`
	Nodes             []Node          `json:"nodes"` // in the order of the graph
	LateResults       []LateResult    `json:"lateResults,omitempty"`
}

// Node finds a node, nil when there is none.
func (e *Execution) Node(id string) *Node {
	for i := range e.Nodes {
		if e.Nodes[i].NodeID == id {
			return &e.Nodes[i]
		}
	}
	return nil
}

// Cancel says where and why cancel won.
type Cancel struct {
	Seq         uint64 `json:"seq"`
	Reason      string `json:"reason,omitempty"`
	RequestedBy *Actor `json:"requestedBy,omitempty"`
}

// Actor is who caused something: kind system, user, scheduler or external.
type Actor struct {
	Kind string `json:"kind"`
	ID   string `json:"id,omitempty"`
}

// DataRef names the event that carries data over 4 KiB, which is not repeated in a state.
type DataRef struct {
	Seq  uint64 `json:"seq"`
	Size int    `json:"size"`
}

// Failure is why a node or an execution failed.
type Failure struct {
	Code    string          `json:"code,omitempty"`
	Message string          `json:"message,omitempty"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

// Node is the state of one node of an execution.
type Node struct {
	NodeID              string          `json:"nodeId"`
	Type                string          `json:"type"`
	Status              NodeStatus      `json:"status"`
	CanceledByExecution bool            `json:"canceledByExecution"`
	Attempt             int             `json:"attempt"` // attempts started so far
	NextAttempt         int             `json:"nextAttempt,omitempty"`
	WorkerID            string          `json:"workerId,omitempty"`
	LeaseUntil          time.Time       `json:"leaseUntil,omitzero"`
	TimeoutAt           time.Time       `json:"timeoutAt,omitzero"`
	RetryAt             time.Time       `json:"retryAt,omitzero"`
	WaitUntil           time.Time       `json:"waitUntil,omitzero"`
	WaitKey             string          `json:"waitKey,omitempty"`
	Prompt              json.RawMessage `json:"prompt,omitempty"`
	PromptRef           *DataRef        `json:"promptRef,omitempty"`
	ResumedWith         json.RawMessage `json:"resumedWith,omitempty"`
	ResumedWithRef      *DataRef        `json:"resumedWithRef,omitempty"`
	Progress            *float64        `json:"progress,omitempty"`
	Message             string          `json:"message,omitempty"`
	Metrics             json.RawMessage `json:"metrics,omitempty"`
	MetricsRef          *DataRef        `json:"metricsRef,omitempty"`
	Output              json.RawMessage `json:"output,omitempty"`
	OutputRef           *DataRef        `json:"outputRef,omitempty"`
	Error               *Failure        `json:"error,omitempty"` // of the last attempt that failed
	ReasonClass         string          `json:"reasonClass,omitempty"`
	RetryAdvice         string          `json:"retryAdvice,omitempty"`
	Reason              string          `json:"reason,omitempty"` // why it was cancelled
	BranchIDs           []string        `json:"branchIds,omitempty"`
	Gate                *Gate           `json:"gate,omitempty"`
}

// Gate is what a Join has seen of its branches.
type Gate struct {
	ExpectedBranches  []string `json:"expectedBranches"`
	CompletedBranches []string `json:"completedBranches"`
	FailedBranches    []string `json:"failedBranches"`
	CanceledBranches  []string `json:"canceledBranches"`
	IsPassable        bool     `json:"isPassable"`
	Passed            bool     `json:"passed"`
}

// LateResult is a result that came too late to count and was kept as evidence.
type LateResult struct {
	Command    string          `json:"command"`
	NodeID     string          `json:"nodeId"`
	Attempt    int             `json:"attempt,omitempty"`
	WorkerID   string          `json:"workerId,omitempty"`
	ReceivedAt time.Time       `json:"receivedAt"`
	Guard      string          `json:"guard"`
	Output     json.RawMessage `json:"output,omitempty"`
	Error      *Failure        `json:"error,omitempty"`
	Size       int             `json:"size,omitempty"` // bytes of one that was too large to keep
}

// Create creates an execution, as Send does.
func (c Executions) Create(ctx context.Context, cmd CreateExecution) (Answer, error) {
	return c.sendCommand(ctx, cmd)
}

// Start starts an execution, as Send does.
func (c Executions) Start(ctx context.Context, cmd StartExecution) (Answer, error) {
	return c.sendCommand(ctx, cmd)
}

// Cancel cancels an execution, ahead of everything, as Send does.
func (c Executions) Cancel(ctx context.Context, cmd CancelExecution) (Answer, error) {
	return c.sendCommand(ctx, cmd)
}

// Archive archives an execution that has ended, as Send does.
func (c Executions) Archive(ctx context.Context, cmd ArchiveExecution) (Answer, error) {
	return c.sendCommand(ctx, cmd)
}

// Get reads an execution as it is now.
func (c Executions) Get(ctx context.Context, id string) (*Execution, error) {
	return c.At(ctx, id, 0)
}

// At reads an execution as it was after an event.
func (c Executions) At(ctx context.Context, id string, seq uint64) (*Execution, error) {
	if id == "" {
		return nil, errNoExecution
	}
	query := url.Values{}
	if seq > 0 {
		query.Set("at", strconv.FormatUint(seq, 10))
	}
	e := new(Execution)
	if err := c.read(ctx, "/executions/"+url.PathEscape(id), query, e); err != nil {
		return nil, err
	}
	return e, nil
}

// ExecutionSummary is an execution in a list.
type ExecutionSummary struct {
	ExecutionID  string     `json:"executionId"`
	Status       Status     `json:"status"`
	GraphID      string     `json:"graphId"`
	GraphVersion int        `json:"graphVersion"`
	CreatedAt    time.Time  `json:"createdAt"`
	EndedAt      *time.Time `json:"endedAt"`
	ArchivedAt   *time.Time `json:"archivedAt"`
}

// ExecutionFilter selects executions; the zero value selects all.
type ExecutionFilter struct {
	Status      []Status  `json:"status,omitempty"` // any of
	GraphID     string    `json:"graphId,omitempty"`
	CreatedFrom time.Time `json:"createdFrom,omitzero"` // at or after
	CreatedTo   time.Time `json:"createdTo,omitzero"`   // before
}

func (f *ExecutionFilter) query() url.Values {
	query := url.Values{}
	words := make([]string, len(f.Status))
	for i, s := range f.Status {
		words[i] = string(s)
	}
	for name, value := range map[string]string{
		"status": strings.Join(words, ","), "graphId": f.GraphID, "createdFrom": instant(f.CreatedFrom),
		"createdTo": instant(f.CreatedTo),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// List reads a page of executions, newest first.
func (c Executions) List(ctx context.Context, f ExecutionFilter, at Paging) (*Page[ExecutionSummary], error) {
	return list[ExecutionSummary](ctx, c.transport, "/executions", f.query(), at)
}

// All reads all executions that a filter selects, newest first. It goes by
// instants, and by page numbers only where one instant fills a page, so what is
// created or ends meanwhile shifts nothing.
func (c Executions) All(ctx context.Context, f ExecutionFilter) iter.Seq2[ExecutionSummary, error] {
	return func(yield func(ExecutionSummary, error) bool) {
		seen := map[string]bool{} // those of the instant at which the next page begins
		for number := 1; ; {
			page, err := c.List(ctx, f, Paging{number, MaxPageSize})
			if err != nil {
				yield(ExecutionSummary{}, err)
				return
			}
			for _, e := range page.Items {
				if !seen[e.ExecutionID] && !yield(e, nil) {
					return
				}
			}
			if len(page.Items) < MaxPageSize {
				return
			}
			// The next page begins with the instant of the last one: more may be of it.
			last := page.Items[len(page.Items)-1].CreatedAt
			if end := last.Add(time.Millisecond); end.Equal(f.CreatedTo) {
				number++
			} else {
				f.CreatedTo, number = end, 1
				clear(seen)
			}
			for _, e := range page.Items {
				if e.CreatedAt.Equal(last) {
					seen[e.ExecutionID] = true
				}
			}
		}
	}
}

// Decided is a command in the log of an execution and what was answered.
type Decided struct {
	Number        int       `json:"number"` // among the commands of the execution, from 1
	Command       string    `json:"command"`
	NodeID        string    `json:"nodeId,omitempty"`
	Attempt       int       `json:"attempt,omitempty"`
	WorkerID      string    `json:"workerId,omitempty"`
	DecidedAt     time.Time `json:"decidedAt"`
	Actor         Actor     `json:"actor"`
	CorrelationID string    `json:"correlationId,omitempty"`
	Key           string    `json:"idempotencyKey,omitempty"`
	Accepted      bool      `json:"accepted"`
	FirstSeq      uint64    `json:"firstSeq,omitempty"` // the events that it led to
	LastSeq       uint64    `json:"lastSeq,omitempty"`
	CancelSeq     uint64    `json:"cancelSeq,omitempty"`
	Error         *Error    `json:"error,omitempty"` // why it was refused
}

// Commands reads what was asked of an execution, by whom, and what was answered, in order.
func (c Executions) Commands(ctx context.Context, id string) iter.Seq2[Decided, error] {
	return all[Decided](ctx, c.transport, "/executions/"+url.PathEscape(id)+"/commands", 1)
}

// ListCommands reads a page of the commands that were accepted, or of those that were refused.
func (c Executions) ListCommands(ctx context.Context, id string, accepted bool, at Paging) (*Page[Decided], error) {
	query := url.Values{"accepted": {strconv.FormatBool(accepted)}}
	return list[Decided](ctx, c.transport, "/executions/"+url.PathEscape(id)+"/commands", query, at)
}
