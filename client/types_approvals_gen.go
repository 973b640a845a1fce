// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"time"
)

// ApprovalDecision: how it ended.
type ApprovalDecision struct {
	DecidedBy string    `json:"decidedBy"`
	DecidedAt time.Time `json:"decidedAt"`
	Comment   string    `json:"comment,omitempty"`
}

// ApprovalSummary: an approval in a list.
type ApprovalSummary struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	RecordID    string `json:"recordId"`
	ProcessID   string `json:"processId"`
	ProcessName string `json:"processName"`
	Status      string `json:"status"`
	// The stage that is open, or in which it ended, from 0.
	CurrentStageIndex int               `json:"currentStageIndex"`
	StageNames        []string          `json:"stageNames"`
	SubmittedBy       string            `json:"submittedBy"`
	SubmittedAt       time.Time         `json:"submittedAt"`
	Comment           string            `json:"comment,omitempty"`
	Decision          *ApprovalDecision `json:"decision,omitempty"`
}

// Submission: a record that is to be approved.
type Submission struct {
	// With the same key it happens once; "" is a new one.
	Key      string `json:"-"`
	Object   string `json:"object"`
	RecordID string `json:"recordId"`
	// The process; without it, the one that takes the record.
	ProcessID string `json:"processId,omitempty"`
	Comment   string `json:"comment,omitempty"`
}

// ApprovalMember: whom a step names.
type ApprovalMember struct {
	Type string `json:"type"`
	// Of a manager, the user whose manager it is.
	ID string `json:"id"`
}

// Approver: who may decide, and why.
type Approver struct {
	UserID string `json:"userId"`
	// What of the step stands for the user.
	Via []ApprovalMember `json:"via"`
	// Who decides instead.
	DelegateID string `json:"delegateId,omitempty"`
	Decided    bool   `json:"decided"`
}

// ApprovalVote: what somebody decided in a stage.
type ApprovalVote struct {
	UserID string `json:"userId"`
	// In whose place.
	ApproverID string    `json:"approverId"`
	Decision   string    `json:"decision"`
	Comment    string    `json:"comment,omitempty"`
	DecidedAt  time.Time `json:"decidedAt"`
}

// ApprovalStage: a stage of an approval.
type ApprovalStage struct {
	Name string `json:"name"`
	// any: the first who decides; all: everybody has to approve.
	Decide string `json:"decide"`
	// WAITING: not reached yet; SKIPPED: not reached.
	Status string `json:"status"`
	// Whom the step names.
	Members []ApprovalMember `json:"members"`
	// Of the open stage, who these are now.
	Approvers []Approver     `json:"approvers"`
	Decisions []ApprovalVote `json:"decisions"`
}

// ApprovalOutcome: what an approval that has ended writes into the record, and whether it
// has.
type ApprovalOutcome struct {
	// WAITING: in a moment; WRITTEN; REFUSED: the record stays as it is, and `message` says why.
	Status string `json:"status"`
	// Those that the caller may read and that are not sensitive.
	Fields map[string]any `json:"fields"`
	// Of the record with it.
	RecordVersion time.Time `json:"recordVersion,omitzero"`
	// Why it was refused; or, while it is WAITING and the event is a dead letter, what to do.
	Message string `json:"message,omitempty"`
	// The dead letter that keeps the outcome from being written.
	DeadLetterID string `json:"deadLetterId,omitempty"`
}

// Approval: a record that was submitted, and what was decided about it.
type Approval struct {
	ApprovalSummary
	// Those that the caller may read.
	LockedFields []string `json:"lockedFields"`
	// Whether the process would take the record as it was last looked at; of a pending approval.
	MeetsCondition bool `json:"meetsCondition"`
	// Cancelling it recalls the approval.
	ExecutionID string          `json:"executionId"`
	Stages      []ApprovalStage `json:"stages"`
	// Of a pending approval, the name and the locked fields of the record, as far as the caller
	// may read them and they are not sensitive.
	Record  map[string]any   `json:"record,omitempty"`
	Outcome *ApprovalOutcome `json:"outcome,omitempty"`
}

// Ballot: a decision about an approval.
type Ballot struct {
	// With the same key it happens once; "" is a new one.
	Key      string `json:"-"`
	Decision string `json:"decision"`
	Comment  string `json:"comment,omitempty"`
	// The stage that the caller has seen, from 0; without it, the one that is open.
	Stage *int `json:"stageIndex,omitempty"`
}

// approvalDelegation: lets another user decide instead.
type approvalDelegation struct {
	// Who decides instead: an active user who may read records of the object and has not
	// submitted this one.
	UserID  string `json:"userId"`
	Comment string `json:"comment,omitempty"`
}

// approvalRecall: takes a submission back.
type approvalRecall struct {
	Comment string `json:"comment,omitempty"`
}
