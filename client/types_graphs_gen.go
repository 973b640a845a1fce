// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"encoding/json"
	"time"
)

// GraphVersion: a version of a graph without its content.
type GraphVersion struct {
	GraphID   string    `json:"graphId"`
	Version   int       `json:"version"`
	Digest    string    `json:"digest"`
	CreatedAt time.Time `json:"createdAt"`
}

// Retry: how often and after which pauses a Task is tried.
type Retry struct {
	MaxAttempts     int     `json:"maxAttempts,omitempty"`
	InitialInterval string  `json:"initialInterval,omitempty"`
	Backoff         float64 `json:"backoff,omitempty"`
	MaxInterval     string  `json:"maxInterval,omitempty"`
	// Codes of errors after which there is no other attempt.
	Except []string `json:"except,omitempty"`
}

// Prompt: what a Wait asks of people.
type Prompt struct {
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
	// What it shows, each with a CEL expression over input, outputs and error, like the input of
	// a Task.
	Fields map[string]string `json:"fields,omitempty"`
}

// NodeSpec: a node as the author of a graph wrote it.
type NodeSpec struct {
	NodeID string `json:"nodeId"`
	Type   string `json:"type"`
	// Task.
	Queue string `json:"queue,omitempty"`
	// Task.
	Retry *Retry `json:"retry,omitempty"`
	// Task: per attempt. Wait: until it is resumed.
	Timeout string `json:"timeout,omitempty"`
	// Wait: after so long it succeeds by itself. Excludes timeout.
	For string `json:"for,omitempty"`
	// Wait.
	WaitKey string `json:"waitKey,omitempty"`
	// Join; ALL_SUCCESS unless given.
	Policy string `json:"policy,omitempty"`
	// Join with policy CUSTOM: a CEL expression over the lists expected, completed, failed,
	// canceled.
	Expression string `json:"expression,omitempty"`
	// Success: what the end means to the business, such as paid or declined. The execution shows
	// it.
	Outcome string `json:"outcome,omitempty"`
	// Task: the members of its input, each with a CEL expression over input of the execution,
	// outputs (by node, of those that come before) and error (of the failure whose edge led
	// here, else null). Without it a Task gets the input of the execution.
	Input map[string]string `json:"input,omitempty"`
	// Wait: what it asks of people. NODE_WAITING, the node and lists of waits have it with the
	// values of its fields.
	Prompt *Prompt `json:"prompt,omitempty"`
	// Wait: who may resume it; one of users, roles and groups is enough. Without it everybody
	// may who has the scope.
	Assignees *Assignees `json:"assignees,omitempty"`
	// Wait: a JSON Schema (2020-12, at most 16 KiB, without references to other schemas) that
	// the output of a resume fits; one that does not is refused with 422 OUTPUT_INVALID, and
	// nothing changes.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// Edge: the way from a node to the next.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	// timeout leads on from a Wait that nobody resumed in time; these edges come before failure.
	On string `json:"on,omitempty"`
	// A CEL expression over input, outputs (by node), output and error. Except from a Fork, the
	// first edge in list order whose condition holds is taken.
	When string `json:"when,omitempty"`
}

// OnCancel: what cleans up after an execution that was started and is cancelled. The newest
// version of the graph is started as a new execution, once and in the commit of the cancel.
// Its input has `executionId`, `graphId`, `businessKey`, `reason`, `input`, `outputs` and
// `outputRefs` (by node, as those of a Task), and `running`, the Tasks whose work may still
// be done. The cancelled execution stays CANCELED.
type OnCancel struct {
	Graph string `json:"graph"`
}

// Graph: a version of a graph, with defaults filled in.
type Graph struct {
	GraphVersion
	Nodes    []NodeSpec `json:"nodes"`
	Edges    []Edge     `json:"edges"`
	OnCancel *OnCancel  `json:"onCancel,omitempty"`
}
