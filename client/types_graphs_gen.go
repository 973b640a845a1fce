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

// GraphSource: the text of a graph.
type GraphSource struct {
	// The id that it will have; graph unless given.
	GraphID string `json:"graphId,omitempty"`
	// YAML, or JSON if its first character is a bracket.
	Source string `json:"source"`
}

// GraphError: a mistake in a graph.
type GraphError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// The member that is wrong, of the graph or of the node.
	Field  string `json:"field,omitempty"`
	NodeID string `json:"nodeId,omitempty"`
	// Where the mistake is in the text, from 1.
	Line int `json:"line,omitempty"`
	// In bytes, from 1.
	Column int `json:"column,omitempty"`
}

// GraphCheck: whether a graph can be registered.
type GraphCheck struct {
	Valid  bool   `json:"valid"`
	Digest string `json:"digest,omitempty"`
	// How many there are.
	Nodes int `json:"nodes,omitempty"`
	// How many there are.
	Edges int `json:"edges,omitempty"`
	// Why not; today at most the first mistake.
	Errors []GraphError `json:"errors"`
}

// SimulationScript: a graph, and how an execution of it goes.
type SimulationScript struct {
	GraphID string `json:"graphId,omitempty"`
	// Of the stored graph; the newest unless given.
	Version int `json:"version,omitempty"`
	// A graph that is not stored: YAML, or JSON if its first character is a bracket.
	Source string          `json:"source,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	// What happens to nodes, by name: one outcome or a list, one for each attempt; the last
	// stands for all others. An outcome is a text as `renga graph simulate --outcome` takes it
	// after the equals sign (`succeed:{…}`, `fail:CODE:MESSAGE`, `final:CODE`, `timeout`,
	// `lost`, `wait:KEY`, `resume:{…}`, `cancel:REASON`, each with `@DURATION` after the
	// verb), or an object with `do` (the verb), `after`, `output`, `code`, `message`, `detail`,
	// `waitKey` and `reason`.
	Outcomes map[string]any `json:"outcomes,omitempty"`
	// Cancel as soon as the log has this event.
	CancelAfter int `json:"cancelAfter,omitempty"`
	// How long a Task takes and a Wait waits, where no outcome says otherwise; 1s unless given.
	TaskTime string `json:"taskTime,omitempty"`
	// Of workers; 60s unless given.
	Lease string `json:"lease,omitempty"`
}

// SimulatedRefusal: why it was refused.
type SimulatedRefusal struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details,omitempty"`
}

// SimulatedCommand: a command of a simulation, as an execution lists its commands.
type SimulatedCommand struct {
	Command   string    `json:"command"`
	NodeID    string    `json:"nodeId,omitempty"`
	DecidedAt time.Time `json:"decidedAt"`
	Actor     Actor     `json:"actor"`
	Accepted  bool      `json:"accepted"`
	FirstSeq  uint64    `json:"firstSeq,omitempty"`
	LastSeq   uint64    `json:"lastSeq,omitempty"`
	// Why it was refused.
	Error *SimulatedRefusal `json:"error,omitempty"`
}

// Simulation: what an execution would do.
type Simulation struct {
	Status      Status `json:"status"`
	GraphID     string `json:"graphId"`
	GraphDigest string `json:"graphDigest"`
	// Virtual time from the creation to the end, such as 1h0m3s.
	Took         string          `json:"took"`
	Result       json.RawMessage `json:"result,omitempty"`
	Outcome      string          `json:"outcome,omitempty"`
	Error        *Failure        `json:"error,omitempty"`
	FailedNodeID string          `json:"failedNodeId,omitempty"`
	CancelSeq    uint64          `json:"cancelSeq,omitempty"`
	// Of an execution that is still ACTIVE, the nodes that would wait for ever.
	WaitsFor []string           `json:"waitsFor,omitempty"`
	Commands []SimulatedCommand `json:"commands"`
	Events   []Event            `json:"events"`
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

// Remind: when those who may resume a Wait are reminded of it. There is no reminder after
// the end of the wait.
type Remind struct {
	// How long after the beginning of the wait the first one comes.
	After string `json:"after"`
	// How long after one the next comes; as long as `after` unless given.
	Every string `json:"every,omitempty"`
	// How many come.
	Max int `json:"max,omitempty"`
}

// MessageSpec: the message that a node asks for.
type MessageSpec struct {
	Name string `json:"name"`
	// Wait: a CEL expression, over what the `input` of a Task sees, for the key that the message
	// has. It gives a text or a number of 1 to 200 bytes. Without it the node waits for messages
	// without a key.
	Key string `json:"key,omitempty"`
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
	// Wait: when those who may resume it are reminded of it. Excludes for.
	Remind *Remind `json:"remind,omitempty"`
	// Wait: a JSON Schema (2020-12, at most 16 KiB, without references to other schemas) that
	// the output of a resume fits; one that does not is refused with 422 OUTPUT_INVALID, and
	// nothing changes.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Wait: the message that resumes it. Start: the message that starts the graph when no node
	// waits for it.
	Message *MessageSpec `json:"message,omitempty"`
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
