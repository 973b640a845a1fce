// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"time"
)

// BulkFilter: which executions, of those that the command may change. `{}` selects all of
// them.
type BulkFilter struct {
	// As in a list of executions. To cancel it must have ACTIVE, to archive one of the others.
	Status  []Status `json:"status,omitempty"`
	GraphID string   `json:"graphId,omitempty"`
	// Created with this correlation id.
	CorrelationID string            `json:"correlationId,omitempty"`
	BusinessKey   string            `json:"businessKey,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	// To cancel, a node of it waits for somebody.
	Waiting bool `json:"waiting,omitempty"`
	// To cancel, this node of it waits for somebody.
	NodeID string `json:"nodeId,omitempty"`
	// Created at or after this instant.
	CreatedFrom time.Time `json:"createdFrom,omitzero"`
	// Created before this instant.
	CreatedTo time.Time `json:"createdTo,omitzero"`
	// To archive, ended at a Success with this outcome.
	Outcome string `json:"outcome,omitempty"`
	// To archive, failed with this code.
	ErrorCode string `json:"errorCode,omitempty"`
	// To archive, ended at or after this instant.
	EndedFrom time.Time `json:"endedFrom,omitzero"`
	// To archive, ended before this instant.
	EndedTo time.Time `json:"endedTo,omitzero"`
}

// BulkStatus: `FREEZING`: its set is being put together. `PREVIEW`: its set is frozen,
// nothing was done. `RUNNING`, `STOPPED`. `DONE`: every item has a result. `TOO_LARGE`: its
// set turned out larger than a bulk may be; nothing was done.
type BulkStatus string

// The values of BulkStatus.
const (
	BulkFreezing BulkStatus = "FREEZING"
	BulkPreview  BulkStatus = "PREVIEW"
	BulkRunning  BulkStatus = "RUNNING"
	BulkStopped  BulkStatus = "STOPPED"
	BulkDone     BulkStatus = "DONE"
	BulkTooLarge BulkStatus = "TOO_LARGE"
)

// BulkCounts: how many items have which status; together `total`.
type BulkCounts struct {
	Pending int `json:"pending"`
	Applied int `json:"applied"`
	Already int `json:"already"`
	Refused int `json:"refused"`
	Failed  int `json:"failed"`
}

// Bulk: one command on a frozen set of executions.
type Bulk struct {
	BulkID  string     `json:"bulkId"`
	Command string     `json:"command"`
	Filter  BulkFilter `json:"filter"`
	// Its executions were named; the filter is empty.
	Named  bool       `json:"named,omitempty"`
	Reason string     `json:"reason,omitempty"`
	Status BulkStatus `json:"status"`
	// Items of the set; while it is FREEZING, so far.
	Total     int        `json:"total"`
	Counts    BulkCounts `json:"counts"`
	CreatedBy Actor      `json:"createdBy"`
	// Who started it last; the actor of the commands that it sends.
	StartedBy *Actor `json:"startedBy,omitempty"`
	// Of its creation, and of the commands that it sends.
	CorrelationID string `json:"correlationId"`
	// The moment that its set is of.
	CreatedAt time.Time `json:"createdAt"`
	// The first time.
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
}

// createBulk: freezes the set of a bulk.
type createBulk struct {
	// What is done to each of them. `cancel` is CancelExecution, `archive` is ArchiveExecution.
	Command string      `json:"command"`
	Filter  *BulkFilter `json:"filter,omitempty"`
	// In place of a filter, the executions by their names, in the order of the items. One that
	// there is not is FAILED.
	IDs []string `json:"ids,omitempty"`
	// Goes into every command.
	Reason string `json:"reason,omitempty"`
}

// AcceptedBulk: how a bulk stood when a command on it was accepted.
type AcceptedBulk struct {
	BulkID string     `json:"bulkId"`
	Status BulkStatus `json:"status"`
	// Items of the set; while it is FREEZING, so far.
	Total         int    `json:"total"`
	CorrelationID string `json:"correlationId"`
	Key           string `json:"idempotencyKey"`
}

// BulkItemStatus: `PENDING`: its turn has not come. `APPLIED`: this bulk cancelled or
// archived it. `ALREADY`: that was done before its turn came. `REFUSED`: its state refused
// it, such as one that ended before it could be cancelled. `FAILED`: the command could not
// be decided.
type BulkItemStatus string

// The values of BulkItemStatus.
const (
	ItemPending BulkItemStatus = "PENDING"
	ItemApplied BulkItemStatus = "APPLIED"
	ItemAlready BulkItemStatus = "ALREADY"
	ItemRefused BulkItemStatus = "REFUSED"
	ItemFailed  BulkItemStatus = "FAILED"
)

// BulkResult: what the command was answered. Absent while it is PENDING.
type BulkResult struct {
	// Of APPLIED and ALREADY, where cancel won.
	CancelSeq uint64 `json:"cancelSeq,omitempty"`
	// Of REFUSED, the rule that refused it.
	Guard string `json:"guard,omitempty"`
	// Of REFUSED, what the guard saw.
	State *RefusedState `json:"state,omitempty"`
	// Of FAILED.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// BulkItem: one execution of a bulk and its result.
type BulkItem struct {
	ExecutionID string         `json:"executionId"`
	Status      BulkItemStatus `json:"status"`
	// What the command was answered. Absent while it is PENDING.
	Result *BulkResult `json:"result,omitempty"`
}
