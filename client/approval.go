package client

import (
	"context"
)

// Approvals submits records and decides about them.
type Approvals struct{ *transport }

// The decisions of approvers.
const (
	Approve = "APPROVED"
	Reject  = "REJECTED"
)

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
	return c.command(ctx, s.Key, "/approvals", s)
}

// Decide approves or rejects in the stage that is open. An approval that has ended
// or gone on to another stage is ErrRefused. However often the decision has to be sent, it counts once.
func (c Approvals) Decide(ctx context.Context, id string, b Ballot) (*Approval, error) {
	return c.command(ctx, b.Key, pathOf("/approvals/{id}/decide", id), b)
}

// Delegate lets another user decide instead.
func (c Approvals) Delegate(ctx context.Context, id, user, comment string) (*Approval, error) {
	return c.command(ctx, "", pathOf("/approvals/{id}/delegate", id), approvalDelegation{user, comment})
}

// Recall takes a submission back.
func (c Approvals) Recall(ctx context.Context, id, comment string) (*Approval, error) {
	return c.RecallWithKey(ctx, "", id, comment)
}

// RecallWithKey is Recall under a key of the caller.
func (c Approvals) RecallWithKey(ctx context.Context, key, id, comment string) (*Approval, error) {
	return c.command(ctx, key, pathOf("/approvals/{id}/recall", id), approvalRecall{comment})
}

// Get reads an approval. What the caller may not know of is ErrNotFound.
func (c Approvals) Get(ctx context.Context, id string) (*Approval, error) {
	return get[Approval](ctx, c.transport, pathOf("/approvals/{id}", id), nil)
}

// List reads a page of the approvals that the caller may know of.
func (c Approvals) List(ctx context.Context, q ApprovalQuery) (*Page[ApprovalSummary], error) {
	return list[ApprovalSummary](ctx, c.transport, "/approvals", given(map[string]string{
		"assigned": when(q.Assigned, "true"), "object": q.Object, "recordId": q.RecordID,
		"submittedBy": q.SubmittedBy, "status": q.Status,
	}), q.Paging)
}

func (c Approvals) command(ctx context.Context, key, path string, body any) (*Approval, error) {
	a, _, err := post[*Approval](ctx, c.transport, path, key, body)
	return a, err
}
