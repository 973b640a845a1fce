package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Tasks claims tasks and watches over those that are claimed. A Worker does this by itself.
type Tasks struct{ *transport }

// Task is work that a worker got: one attempt of one node, started for it.
type Task struct {
	ExecutionID string `json:"executionId"`
	NodeID      string `json:"nodeId"`
	Attempt     int    `json:"attempt"`
	GraphID     string `json:"graphId"`
	Queue       string `json:"queue"`
	// CorrelationID is that of the execution. Commands about the Task carry it unless their context has another.
	CorrelationID string          `json:"correlationId"`
	Input         json.RawMessage `json:"input,omitempty"`     // that the node declares, else of the execution
	Error         *Failure        `json:"error,omitempty"`     // why, of a Task that a failure edge led to
	LeaseUntil    time.Time       `json:"leaseUntil,omitzero"` // zero: the Task has no lease
	// Outputs are those of the nodes before this one, by node: of the direct predecessors all, of earlier
	// ones the small. The large ones are in OutputRefs; DecodeOutput reads both.
	Outputs    map[string]json.RawMessage `json:"outputs"`
	OutputRefs map[string]DataRef         `json:"outputRefs,omitempty"`

	from *transport // that got it
	hold *hold      // of the Worker that handles it
}

// Ref names the attempt.
func (t *Task) Ref() TaskRef { return TaskRef{t.ExecutionID, t.NodeID, t.Attempt} }

// DecodeInput reads the input of the Task into v.
func (t *Task) DecodeInput(v any) error {
	if err := json.Unmarshal(t.Input, v); err != nil {
		return fmt.Errorf("client: the input of node %s of execution %s: %w", t.NodeID, t.ExecutionID, err)
	}
	return nil
}

// DecodeOutput reads what a node before this one put out into v. A large output is read from the server.
func (t *Task) DecodeOutput(nodeID string, v any) error {
	output, err := t.output(nodeID)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(output, v); err != nil {
		return fmt.Errorf("client: the output of node %s: %w", nodeID, err)
	}
	return nil
}

func (t *Task) output(nodeID string) (json.RawMessage, error) {
	if output, ok := t.Outputs[nodeID]; ok {
		return output, nil
	}
	if _, ok := t.OutputRefs[nodeID]; !ok || t.from == nil {
		return nil, fmt.Errorf("client: node %s did not put out anything for %s", nodeID, t.NodeID)
	}
	ctx := context.Background()
	if t.hold != nil {
		ctx = t.hold.ctx
	}
	return Tasks{t.from}.Output(ctx, t.ExecutionID, nodeID)
}

// Output reads what a node has put out.
func (c Tasks) Output(ctx context.Context, executionID, nodeID string) (json.RawMessage, error) {
	path := pathOf("/executions/{executionId}/nodes/{nodeId}/output", executionID, nodeID)
	output, _, err := exchange[json.RawMessage](ctx, c.transport, call{method: http.MethodGet, path: path}, nil)
	return output, err
}

// Claim asks for ready tasks. Lease and Wait are whole seconds.
type Claim struct {
	Key      string
	WorkerID string
	Queues   []string      // default: the queue "default"
	Max      int           // 1..100; default 1
	Wait     time.Duration // for the first task, at most 30 s
	Lease    time.Duration // 1 s to 1 h; default 60 s
}

// Claim claims ready tasks; each is started for the worker and stays with it for
// the lease. A Worker does this, and what follows, by itself.
func (c Tasks) Claim(ctx context.Context, claim Claim) ([]Task, error) {
	return c.claim(ctx, claim, 0)
}

func (c Tasks) claim(ctx context.Context, claim Claim, retryFor time.Duration) ([]Task, error) {
	q := call{
		method: http.MethodPost, path: "/tasks/claim", key: cmp.Or(claim.Key, newKey()), wait: claim.Wait,
		retryFor: retryFor,
	}
	got, _, err := exchange[taskList](ctx, c.transport, q, claimTasks{
		WorkerID: claim.WorkerID, Queues: claim.Queues, Max: claim.Max,
		WaitSeconds: int(claim.Wait / time.Second), LeaseSeconds: int(claim.Lease / time.Second),
	})
	for i := range got.Tasks {
		got.Tasks[i].from = c.transport
	}
	return got.Tasks, err
}

// MaxWatch is how many tasks one Watch may name.
const MaxWatch = 1000

// Watch waits, in whole seconds and at most 30, until one of the tasks is not held
// by its attempt any more, and names those; none when the time is up.
func (c Tasks) Watch(ctx context.Context, tasks []TaskRef, wait time.Duration) ([]Interrupted, error) {
	q := call{method: http.MethodPost, path: "/tasks/watch", key: newKey(), wait: wait}
	got, _, err := exchange[interruptedTasks](ctx, c.transport, q, watchTasks{tasks, int(wait / time.Second)})
	return got.Interrupted, err
}
