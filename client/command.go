package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
)

// Command is something that somebody wants to happen: one of the eleven commands
// below. Send sends one, SendAll many at once.
//
// In every command Key makes it safe to repeat; without one, one is made for each
// call of Send or SendAll. Data (Input, Output, Prompt, Metrics, Detail) is
// whatever encoding/json makes an object of: a struct, a map, json.RawMessage.
type Command interface{ parts() parts }

// parts is a command taken apart: where it goes and what stands in its body.
type parts struct {
	name      string
	action    string // last segment of its endpoint; none for a creation
	onNode    bool
	key       string
	execution string
	node      string
	body      any
}

// CreateExecution creates an execution of the newest version of a graph, and with
// Start starts it in the same commit. With Claim, whoever creates it gets its first
// tasks with the Answer, and saves the claim.
type CreateExecution struct {
	Key     string      `json:"-"`
	GraphID string      `json:"graphId"`
	Input   any         `json:"input,omitempty"`
	Start   bool        `json:"start,omitempty"`
	Claim   *FirstTasks `json:"claim,omitempty"` // needs Start
}

// FirstTasks asks for tasks of an execution that is being created: those of the queues
// that its start makes ready. They are started for the worker, as by a Claim. What is
// not among the Answer's Tasks stays ready for any worker.
type FirstTasks struct {
	WorkerID     string   `json:"workerId"`
	Queues       []string `json:"queues,omitempty"`       // default: the queue "default"
	Max          int      `json:"max,omitempty"`          // 1..100; default 1
	LeaseSeconds int      `json:"leaseSeconds,omitempty"` // 1..3600; default 60
}

// StartExecution starts an execution.
type StartExecution struct {
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
}

// CancelExecution cancels an execution, ahead of everything. The Answer's
// CancelSeq is where cancel won.
type CancelExecution struct {
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
	Reason      string `json:"reason,omitempty"`
}

// ArchiveExecution puts an execution away that has ended.
type ArchiveExecution struct {
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
	Reason      string `json:"reason,omitempty"`
}

// StartNode starts a Task that is READY, without a lease. Workers claim instead.
type StartNode struct {
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
	NodeID      string `json:"-"`
	Attempt     int    `json:"attempt"`
	WorkerID    string `json:"workerId,omitempty"`
}

// ReportNodeProgress says how far a Task is, and renews its lease.
type ReportNodeProgress struct {
	Key         string   `json:"-"`
	ExecutionID string   `json:"-"`
	NodeID      string   `json:"-"`
	Attempt     int      `json:"attempt,omitempty"`
	WorkerID    string   `json:"workerId,omitempty"`
	Progress    *float64 `json:"progress,omitempty"` // 0..100
	Message     string   `json:"message,omitempty"`
	Metrics     any      `json:"metrics,omitempty"`
}

// PutNodeWaiting lets a running Task wait for somebody.
type PutNodeWaiting struct {
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
	NodeID      string `json:"-"`
	Attempt     int    `json:"attempt,omitempty"`
	WorkerID    string `json:"workerId,omitempty"`
	WaitKey     string `json:"waitKey,omitempty"`
	Prompt      any    `json:"prompt,omitempty"`
}

// ResumeNode resumes a node that waits. Where a wait key is set, ResumeKey must equal it.
type ResumeNode struct {
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
	NodeID      string `json:"-"`
	ResumeKey   string `json:"resumeKey,omitempty"`
	Output      any    `json:"output,omitempty"`
}

// SucceedNode completes a running Task. With Next, the Answer may hold a Task of
// the same execution and queue that this made ready, started for the same worker.
type SucceedNode struct {
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
	NodeID      string `json:"-"`
	Attempt     int    `json:"attempt,omitempty"`
	WorkerID    string `json:"workerId,omitempty"`
	Output      any    `json:"output,omitempty"`
	Next        bool   `json:"next,omitempty"`
}

// FailNode reports that a running Task failed. The retry policy of the node
// decides what follows.
type FailNode struct {
	Key         string     `json:"-"`
	ExecutionID string     `json:"-"`
	NodeID      string     `json:"-"`
	Attempt     int        `json:"attempt,omitempty"`
	WorkerID    string     `json:"workerId,omitempty"`
	Error       *NodeError `json:"error,omitempty"`
	Next        bool       `json:"next,omitempty"`
}

// CancelNode cancels one node.
type CancelNode struct {
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
	NodeID      string `json:"-"`
	Reason      string `json:"reason,omitempty"`
}

// NodeError says how a Task failed. A handler of a Worker that returns one chooses
// what is reported.
type NodeError struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Detail  any    `json:"detail,omitempty"`
}

func (e *NodeError) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return e.Code + ": " + e.Message
}

func (c CreateExecution) parts() parts {
	c.Input = data(c.Input)
	return parts{name: "CreateExecution", key: c.Key, body: c}
}

func (c StartExecution) parts() parts {
	return parts{name: "StartExecution", action: "start", key: c.Key, execution: c.ExecutionID, body: c}
}

func (c CancelExecution) parts() parts {
	return parts{name: "CancelExecution", action: "cancel", key: c.Key, execution: c.ExecutionID, body: c}
}

func (c ArchiveExecution) parts() parts {
	return parts{name: "ArchiveExecution", action: "archive", key: c.Key, execution: c.ExecutionID, body: c}
}

func (c StartNode) parts() parts {
	return parts{
		name: "StartNode", action: "start", onNode: true, key: c.Key, execution: c.ExecutionID, node: c.NodeID,
		body: c,
	}
}

func (c ReportNodeProgress) parts() parts {
	c.Metrics = data(c.Metrics)
	return parts{
		name: "ReportNodeProgress", action: "progress", onNode: true, key: c.Key, execution: c.ExecutionID,
		node: c.NodeID, body: c,
	}
}

func (c PutNodeWaiting) parts() parts {
	c.Prompt = data(c.Prompt)
	return parts{
		name: "PutNodeWaiting", action: "wait", onNode: true, key: c.Key, execution: c.ExecutionID,
		node: c.NodeID, body: c,
	}
}

func (c ResumeNode) parts() parts {
	c.Output = data(c.Output)
	return parts{
		name: "ResumeNode", action: "resume", onNode: true, key: c.Key, execution: c.ExecutionID,
		node: c.NodeID, body: c,
	}
}

func (c SucceedNode) parts() parts {
	c.Output = data(c.Output)
	return parts{
		name: "SucceedNode", action: "success", onNode: true, key: c.Key, execution: c.ExecutionID,
		node: c.NodeID, body: c,
	}
}

func (c FailNode) parts() parts {
	if c.Error != nil {
		failure := *c.Error
		failure.Detail = data(failure.Detail)
		c.Error = &failure
	}
	return parts{
		name: "FailNode", action: "fail", onNode: true, key: c.Key, execution: c.ExecutionID, node: c.NodeID,
		body: c,
	}
}

func (c CancelNode) parts() parts {
	return parts{
		name: "CancelNode", action: "cancel", onNode: true, key: c.Key, execution: c.ExecutionID,
		node: c.NodeID, body: c,
	}
}

// data is v, or nothing when it is JSON of no length.
func data(v any) any {
	if raw, ok := v.(json.RawMessage); ok && len(raw) == 0 {
		return nil
	}
	return v
}

// encoded is a command as it is sent, however often that is.
type encoded struct {
	parts
	raw []byte // the body of its own endpoint
}

// encode makes a command ready to be sent.
func encode(cmd Command) (encoded, error) {
	if cmd == nil {
		return encoded{}, errors.New("client: there is no command")
	}
	e := encoded{parts: cmd.parts()}
	switch {
	case e.action != "" && e.execution == "":
		return e, fmt.Errorf("client: %s needs an ExecutionID", e.name)
	case e.onNode && e.node == "":
		return e, fmt.Errorf("client: %s needs a NodeID", e.name)
	}
	if e.key == "" {
		e.key = newKey()
	}
	var err error
	if e.raw, err = json.Marshal(e.body); err != nil {
		return e, fmt.Errorf("client: %s: %w", e.name, err)
	}
	return e, nil
}

// path is the command's own endpoint.
func (p *parts) path() string {
	path := "/executions"
	if p.action == "" {
		return path
	}
	path += "/" + url.PathEscape(p.execution)
	if p.onNode {
		path += "/nodes/" + url.PathEscape(p.node)
	}
	return path + "/" + p.action
}

// appendInner appends the command as it stands in a POST /commands.
func (e *encoded) appendInner(dst []byte) []byte {
	dst = append(dst, `{"command":"`...)
	dst = append(append(dst, e.name...), '"')
	for _, m := range [...]struct{ name, value string }{
		{"idempotencyKey", e.key}, {"executionId", e.execution}, {"nodeId", e.node},
	} {
		if m.value != "" {
			quoted, _ := json.Marshal(m.value) // a string always can be
			dst = append(append(dst, `,"`...), m.name...)
			dst = append(append(dst, `":`...), quoted...)
		}
	}
	if len(e.raw) > len("{}") {
		dst = append(dst, ',')
	}
	return append(dst, e.raw[1:]...)
}
