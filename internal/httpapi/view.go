package httpapi

import (
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// executionView is an execution as readers see it: projected from its state,
// separate from what the reducer needs.
type executionView struct {
	ExecutionID       flow.ID             `json:"executionId"`
	Status            string              `json:"status"`
	CancelRequestedAt *flow.Time          `json:"cancelRequestedAt"`
	GraphID           string              `json:"graphId"`
	GraphVersion      int                 `json:"graphVersion"`
	CorrelationID     string              `json:"correlationId,omitzero"`
	BusinessKey       string              `json:"businessKey,omitzero"`
	Labels            flow.Labels         `json:"labels,omitzero"`
	RerunOf           flow.ID             `json:"rerunOf,omitzero"`
	CreatedAt         flow.Time           `json:"createdAt"`
	StartedAt         flow.Time           `json:"startedAt,omitzero"`
	EndedAt           flow.Time           `json:"endedAt,omitzero"`
	ArchivedAt        flow.Time           `json:"archivedAt,omitzero"`
	Seq               uint64              `json:"seq"`
	Input             flow.Data           `json:"input,omitzero"`
	Result            flow.Data           `json:"result,omitzero"`
	ResultRef         *dataRef            `json:"resultRef,omitzero"`
	Outcome           string              `json:"outcome,omitzero"`
	Error             *flow.Error         `json:"error,omitzero"`
	FailedNodeID      string              `json:"failedNodeId,omitzero"`
	Cancel            *cancelView         `json:"cancel,omitzero"`
	Nodes             []nodeView          `json:"nodes"`
	LateResults       []engine.LateResult `json:"lateResults,omitzero"`
}

// cancelView says where and why cancel won.
type cancelView struct {
	Seq         uint64      `json:"seq"`
	Reason      string      `json:"reason,omitzero"`
	RequestedBy *flow.Actor `json:"requestedBy,omitzero"`

	CompensationID flow.ID `json:"compensationId,omitzero"`
}

// dataRef names the event that carries data too large to be repeated.
type dataRef struct {
	Seq  uint64 `json:"seq"`
	Size int    `json:"size"`
}

// nodeView is a node as readers see it.
type nodeView struct {
	NodeID              string            `json:"nodeId"`
	Type                flow.Kind         `json:"type"`
	Status              string            `json:"status"`
	CanceledByExecution bool              `json:"canceledByExecution"`
	Attempt             int               `json:"attempt"`
	NextAttempt         int               `json:"nextAttempt,omitzero"`
	WorkerID            string            `json:"workerId,omitzero"`
	LeaseUntil          flow.Time         `json:"leaseUntil,omitzero"`
	TimeoutAt           flow.Time         `json:"timeoutAt,omitzero"`
	RetryAt             flow.Time         `json:"retryAt,omitzero"`
	WaitUntil           flow.Time         `json:"waitUntil,omitzero"`
	Reminders           int               `json:"reminders,omitzero"`
	RemindAt            flow.Time         `json:"nextReminderAt,omitzero"`
	WaitKey             string            `json:"waitKey,omitzero"`
	Prompt              flow.Data         `json:"prompt,omitzero"`
	PromptRef           *dataRef          `json:"promptRef,omitzero"`
	Assignees           *flow.Assignees   `json:"assignees,omitzero"`
	Awaits              *flow.Awaited     `json:"awaits,omitzero"`
	Resumed             flow.Data         `json:"resumedWith,omitzero"`
	ResumedRef          *dataRef          `json:"resumedWithRef,omitzero"`
	Input               flow.Data         `json:"input,omitzero"`
	InputRef            *dataRef          `json:"inputRef,omitzero"`
	FailedNodeID        string            `json:"failedNodeId,omitzero"`
	Progress            *float64          `json:"progress,omitzero"`
	Message             string            `json:"message,omitzero"`
	Metrics             flow.Data         `json:"metrics,omitzero"`
	MetricsRef          *dataRef          `json:"metricsRef,omitzero"`
	Output              flow.Data         `json:"output,omitzero"`
	OutputRef           *dataRef          `json:"outputRef,omitzero"`
	Error               *flow.Error       `json:"error,omitzero"`
	Reason              string            `json:"reason,omitzero"`
	ReasonClass         fault.ReasonClass `json:"reasonClass,omitzero"`
	RetryAdvice         fault.RetryAdvice `json:"retryAdvice,omitzero"`
	BranchIDs           []string          `json:"branchIds,omitzero"`
	Gate                *gateView         `json:"gate,omitzero"`
}

// gateView is what a Join has seen of its branches.
type gateView struct {
	Expected  []string `json:"expectedBranches"`
	Completed []string `json:"completedBranches"`
	Failed    []string `json:"failedBranches"`
	Canceled  []string `json:"canceledBranches"`
	Passable  bool     `json:"isPassable"`
	Passed    bool     `json:"passed"`
}

func showExecution(v *engine.View) *executionView {
	s := &v.State
	out := &executionView{
		ExecutionID: s.Execution, Status: s.Status.String(), CancelRequestedAt: instantOrNull(s.CancelRequestedAt),
		GraphID: s.GraphID, GraphVersion: s.GraphVersion, CorrelationID: s.CorrelationID, BusinessKey: s.BusinessKey,
		Labels: s.Labels, RerunOf: s.RerunOf,
		CreatedAt: s.CreatedAt, StartedAt: s.StartedAt, EndedAt: s.EndedAt, ArchivedAt: s.ArchivedAt,
		Seq: s.Seq, Input: s.Input, Outcome: s.Outcome, Error: s.Error, FailedNodeID: s.FailedNode, LateResults: v.Late,
		Nodes: make([]nodeView, len(s.Nodes)),
	}
	out.Result, out.ResultRef = showBlob(s.Result)
	if s.CancelSeq > 0 {
		out.Cancel = &cancelView{
			Seq: s.CancelSeq, Reason: s.CancelReason, RequestedBy: s.CancelBy, CompensationID: s.Compensation,
		}
	}
	for i, n := range s.Nodes {
		out.Nodes[i] = showNode(n)
	}
	return out
}

func showNode(n *flow.Node) nodeView {
	out := nodeView{
		NodeID: n.ID, Type: n.Kind, Status: n.Status.String(), CanceledByExecution: n.ByExecution, Attempt: n.Attempt,
		WorkerID: n.Worker, LeaseUntil: n.LeaseUntil, TimeoutAt: n.TimeoutAt, RetryAt: n.RetryAt,
		WaitUntil: n.WaitUntil, Reminders: n.Reminders, RemindAt: n.RemindAt, WaitKey: n.WaitKey,
		FailedNodeID: n.FailedNode, Progress: n.Progress, Message: n.Message, Error: n.Error, Reason: n.Reason,
		BranchIDs: n.Branches,
	}
	if n.Kind == flow.TaskKind && (n.Status == flow.NodeIsReady || n.RetryAt != 0) {
		out.NextAttempt = n.Attempt + 1
	}
	out.Prompt, out.PromptRef = showBlob(n.Prompt)
	out.Assignees, out.Awaits = n.Assignees, n.Awaits
	out.Resumed, out.ResumedRef = showBlob(n.Resumed)
	out.Input, out.InputRef = showBlob(n.Input)
	out.Metrics, out.MetricsRef = showBlob(n.Metrics)
	out.Output, out.OutputRef = showBlob(n.Output)
	if n.Error != nil {
		out.ReasonClass, out.RetryAdvice = adviceOnError(n.Error)
	}
	if g := n.Gate; g != nil {
		out.Gate = &gateView{g.Expected, g.Completed, g.Failed, g.Canceled, g.Passable, g.Passed}
	}
	return out
}

// adviceOnError classes a node's failure by its code. A worker's own code counts as infrastructure, unless the worker
// says that it is final.
func adviceOnError(e *flow.Error) (fault.ReasonClass, fault.RetryAdvice) {
	switch e.Code {
	case flow.CodeNoEdge, flow.CodeExpression:
		return fault.ReasonValidation, fault.RetryAfterFix
	case flow.CodeCanceled, flow.CodeNotPassable:
		return fault.ReasonRunConflict, fault.DoNotRetry
	}
	if e.Final {
		return fault.ReasonValidation, fault.DoNotRetry
	}
	return fault.ReasonInfra, fault.RetryWithBackoff
}

// showBlob is data when it is at hand, else where it stands.
func showBlob(b flow.Blob) (flow.Data, *dataRef) {
	if b.Seq > 0 {
		return nil, &dataRef{b.Seq, b.Size}
	}
	return b.Inline, nil
}

// headView is an execution in a list.
type headView struct {
	ExecutionID   flow.ID    `json:"executionId"`
	Status        string     `json:"status"`
	GraphID       string     `json:"graphId"`
	GraphVersion  int        `json:"graphVersion"`
	CorrelationID string     `json:"correlationId,omitzero"`
	BusinessKey   string     `json:"businessKey,omitzero"`
	Labels        flow.Data  `json:"labels,omitzero"`
	Outcome       string     `json:"outcome,omitzero"`
	ErrorCode     string     `json:"errorCode,omitzero"`
	FailedNodeID  string     `json:"failedNodeId,omitzero"`
	Waiting       *bool      `json:"waiting,omitzero"` // nil: the row is too old to know
	NowAt         []string   `json:"nowAt,omitzero"`
	CreatedAt     flow.Time  `json:"createdAt"`
	EndedAt       *flow.Time `json:"endedAt"`
	ArchivedAt    *flow.Time `json:"archivedAt"`
}

func showHead(h *engine.Head) headView {
	var waiting *bool
	if h.Waiting >= 0 || h.Status.Terminal() { // what has ended does not wait
		yes := h.Waiting > 0 && !h.Status.Terminal()
		waiting = &yes
	}
	return headView{
		FailedNodeID: h.FailedNode, Waiting: waiting,
		ExecutionID: h.ID, Status: h.Status.String(), GraphID: h.GraphID, GraphVersion: h.GraphVersion,
		CorrelationID: h.CorrelationID, BusinessKey: h.BusinessKey, Labels: textData(h.Labels),
		Outcome: h.Outcome, ErrorCode: h.ErrorCode,
		CreatedAt: h.CreatedAt, EndedAt: instantOrNull(h.EndedAt), ArchivedAt: instantOrNull(h.ArchivedAt),
	}
}

// textData is data that is stored as text, nil when there is none.
func textData(text string) flow.Data {
	if text == "" {
		return nil
	}
	return flow.Data(text)
}

func instantOrNull(t flow.Time) *flow.Time {
	if t == 0 {
		return nil
	}
	return &t
}
