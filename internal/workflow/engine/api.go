package engine

import (
	"context"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/flow"
)

// Clock gives the time.
type Clock interface{ Now() time.Time }

// Request is a command on its way in.
type Request struct {
	Tenant        string
	Execution     flow.ID // zero with flow.Create
	GraphID       string  // with flow.Create
	GraphVersion  int     // with flow.Create; 0: the newest
	Start         bool    // with flow.Create: flow.Start follows in the same commit
	Claim         *Eager  // with Start: so does a claim of its tasks
	Command       flow.Command
	Idempotency   canonical.IdempotencyKey // Key "": not remembered (deadlines, internal callers)
	Actor         flow.Actor
	CorrelationID string

	accepted bool // Command is what flow.Accept gave
}

// Eager claims, with a creation, the tasks that its start makes ready: the creator is often the worker.
type Eager struct {
	Worker string
	Queues []string
	Max    int // 1..100
	Lease  int // seconds
}

// Answer is what a command led to: accepted, or refused by a guard. A replay gives an equal one.
type Answer struct {
	Replay        bool // answered from memory; nothing happened now
	Execution     flow.ID
	Command       string
	CorrelationID string
	Key           string
	Changed       bool          // it led to events; cancelling what is CANCELED leads to none
	CancelSeq     uint64        // with CancelExecution: the seq where cancel won
	Task          *Task         // with next: the Task that was started for the same worker
	Tasks         []Task        // with a creation that claims: what it got, possibly nothing
	Refused       *flow.Refusal // refused by a guard; nil when accepted
	Late          bool          // refused, and its result was kept as evidence
}

// Result is the answer to one request, or why there is none.
type Result struct {
	Answer Answer
	Err    error
}

// ClaimRequest asks for ready tasks.
type ClaimRequest struct {
	Tenant        string
	Worker        string
	Queues        []string
	Max           int           // 1..100
	Wait          time.Duration // 0..30s
	Lease         int           // seconds
	Own           bool          // the server itself claims: the queues may be its own
	Idempotency   canonical.IdempotencyKey
	CorrelationID string
}

// Claimed is the answer to a claim.
type Claimed struct {
	Replay bool
	Tasks  []Task
}

// Unit is a caller's SQL and engine commands in one transaction. An error of Before, of After, or of
// a command that could not be decided undoes the unit; refusals of guards are results, for After to
// judge. Both may run more than once before one run counts, so they begin from nothing each time.
type Unit struct {
	Before   func(ctx context.Context, tx *sqldb.Tx) error
	Commands []Request
	After    func(ctx context.Context, tx *sqldb.Tx, results []Result) error
}

// View is an execution as a reader sees it.
type View struct {
	State flow.State
	Late  []LateResult
}

// LateResult is a result that came too late to count and was kept as evidence.
type LateResult struct {
	Command  string      `json:"command"`
	NodeID   string      `json:"nodeId"`
	Attempt  int         `json:"attempt,omitzero"`
	WorkerID string      `json:"workerId,omitempty"`
	At       flow.Time   `json:"receivedAt"`
	Guard    flow.Guard  `json:"guard"`
	Output   flow.Data   `json:"output,omitzero"`
	Error    *flow.Error `json:"error,omitzero"`
	Size     int         `json:"size,omitzero"` // bytes of a result that was too large to keep
}
