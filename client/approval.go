package client

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Approvals submits records and decides about them.
type Approvals struct{ *transport }

// The decisions of approvers.
const (
	Approve = "APPROVED"
	Reject  = "REJECTED"
)

// ApprovalSummary is an approval in a list.
type ApprovalSummary struct {
	ID                string            `json:"id"`
	Object            string            `json:"object"`
	RecordID          string            `json:"recordId"`
	ProcessID         string            `json:"processId"`
	ProcessName       string            `json:"processName"`
	Status            string            `json:"status"` // PENDING, APPROVED, REJECTED, RECALLED
	CurrentStageIndex int               `json:"currentStageIndex"`
	StageNames        []string          `json:"stageNames"`
	SubmittedBy       string            `json:"submittedBy"`
	SubmittedAt       time.Time         `json:"submittedAt"`
	Comment           string            `json:"comment,omitempty"`
	Decision          *ApprovalDecision `json:"decision,omitempty"` // once it has ended
}

// ApprovalDecision is how an approval ended.
type ApprovalDecision struct {
	DecidedBy string    `json:"decidedBy"`
	DecidedAt time.Time `json:"decidedAt"`
	Comment   string    `json:"comment,omitempty"`
}

// Approval is a record that was submitted, and what was decided about it.
type Approval struct {
	ApprovalSummary
	LockedFields   []string        `json:"lockedFields"`
	MeetsCondition bool            `json:"meetsCondition"` // the process would still take the record
	ExecutionID    string          `json:"executionId"`
	Stages         []ApprovalStage `json:"stages"`
	Record         map[string]any  `json:"record,omitempty"` // of a pending one: its name and locked fields
	// of one that has ended and writes something into the record
	Outcome *ApprovalOutcome `json:"outcome,omitempty"`
}

// ApprovalOutcome is what an approval writes into its record, and whether it has.
type ApprovalOutcome struct {
	Status        string         `json:"status"` // WAITING, WRITTEN, REFUSED
	Fields        map[string]any `json:"fields"`
	RecordVersion time.Time      `json:"recordVersion,omitzero"` // of the record with it
	// why it was refused, or what to do when it does not come
	Message      string `json:"message,omitempty"`
	DeadLetterID string `json:"deadLetterId,omitempty"` // that keeps core from taking the event
}

// ApprovalStage is a stage of an approval.
type ApprovalStage struct {
	Name      string           `json:"name"`
	Decide    string           `json:"decide"` // any, all
	Status    string           `json:"status"` // WAITING, OPEN, APPROVED, REJECTED, RECALLED, SKIPPED
	Members   []ApprovalMember `json:"members"`
	Approvers []Approver       `json:"approvers"` // of the open stage
	Decisions []ApprovalVote   `json:"decisions"`
}

// ApprovalMember is whom a step names: a user, a role, a group, or the manager of a user.
type ApprovalMember struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// Approver is who may decide, and why.
type Approver struct {
	UserID     string           `json:"userId"`
	Via        []ApprovalMember `json:"via"`
	DelegateID string           `json:"delegateId,omitempty"`
	Decided    bool             `json:"decided"`
}

// ApprovalVote is what somebody decided in a stage.
type ApprovalVote struct {
	UserID     string    `json:"userId"`
	ApproverID string    `json:"approverId"` // in whose place
	Decision   string    `json:"decision"`
	Comment    string    `json:"comment,omitempty"`
	DecidedAt  time.Time `json:"decidedAt"`
}

// Submission is a record that is to be approved.
type Submission struct {
	Object    string `json:"object"`
	RecordID  string `json:"recordId"`
	ProcessID string `json:"processId,omitempty"` // "": the one that takes the record
	Comment   string `json:"comment,omitempty"`
	Key       string `json:"-"` // the same key submits once; "": a new one
}

// ApprovalQuery is which approvals are wanted; zero values are all.
type ApprovalQuery struct {
	Assigned    bool // those that wait for a decision of the caller
	Object      string
	RecordID    string
	SubmittedBy string
	Status      string
	Paging
}

// Submit submits a record. However often it has to be sent, it is submitted once.
func (c Approvals) Submit(ctx context.Context, s Submission) (*Approval, error) {
	return c.ask(ctx, cmp.Or(s.Key, newKey()), "/approvals", s)
}

// Ballot is a decision about an approval.
type Ballot struct {
	Decision string `json:"decision"` // Approve or Reject
	Comment  string `json:"comment,omitempty"`
	Stage    *int   `json:"stageIndex,omitempty"` // that the caller has seen, from 0; nil: the one that is open
	Key      string `json:"-"`                    // the same key decides once; "": a new one
}

// Decide approves or rejects in the stage that is open. An approval that has ended
// or gone on to another stage is ErrRefused. However often the decision has to be sent, it counts once.
func (c Approvals) Decide(ctx context.Context, id string, b Ballot) (*Approval, error) {
	return c.ask(ctx, cmp.Or(b.Key, newKey()), approvalPath(id)+"/decide", b)
}

// Delegate lets another user decide instead.
func (c Approvals) Delegate(ctx context.Context, id, user, comment string) (*Approval, error) {
	return c.ask(ctx, newKey(), approvalPath(id)+"/delegate", struct {
		UserID  string `json:"userId"`
		Comment string `json:"comment,omitempty"`
	}{user, comment})
}

// Recall takes a submission back.
func (c Approvals) Recall(ctx context.Context, id, comment string) (*Approval, error) {
	return c.RecallWithKey(ctx, newKey(), id, comment)
}

// RecallWithKey is Recall under a key of the caller.
func (c Approvals) RecallWithKey(ctx context.Context, key, id, comment string) (*Approval, error) {
	return c.ask(ctx, key, approvalPath(id)+"/recall", struct {
		Comment string `json:"comment,omitempty"`
	}{comment})
}

// Get reads an approval. What the caller may not know of is ErrNotFound.
func (c Approvals) Get(ctx context.Context, id string) (*Approval, error) {
	found := new(Approval)
	return found, c.read(ctx, approvalPath(id), nil, found)
}

// List reads a page of the approvals that the caller may know of.
func (c Approvals) List(ctx context.Context, q ApprovalQuery) (*Page[ApprovalSummary], error) {
	query := url.Values{}
	for name, value := range map[string]string{
		"object": q.Object, "recordId": q.RecordID, "submittedBy": q.SubmittedBy,
		"status": q.Status,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if q.Assigned {
		query.Set("assigned", strconv.FormatBool(true))
	}
	return list[ApprovalSummary](ctx, c.transport, "/approvals", query, q.Paging)
}

func approvalPath(id string) string { return "/approvals/" + url.PathEscape(id) }

// ask sends something that is done once and reads the approval that it led to.
func (c Approvals) ask(ctx context.Context, key, path string, said any) (*Approval, error) {
	body, err := json.Marshal(said)
	if err != nil {
		return nil, err
	}
	r, err := c.do(ctx, call{method: http.MethodPost, path: path, key: key, body: body})
	if err != nil {
		return nil, err
	}
	got := new(Approval)
	return got, json.Unmarshal(r.body, got)
}
