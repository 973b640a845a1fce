package flow

import (
	"fmt"
	"time"
)

// Kind is the type of a node.
type Kind uint8

// The eight kinds of node.
const (
	_ Kind = iota
	StartKind
	TaskKind
	WaitKind
	ForkKind
	JoinKind
	SuccessKind
	FailedKind
	CanceledKind

	kindEnd
)

var kindNames = [kindEnd]string{"", "Start", "Task", "Wait", "Fork", "Join", "Success", "Failed", "Canceled"}

func (k Kind) String() string { return kindNames[k] }

// Terminal reports whether reaching a node of this kind ends the execution.
func (k Kind) Terminal() bool { return k >= SuccessKind }

// MarshalText writes the name of the kind.
func (k Kind) MarshalText() ([]byte, error) {
	if k == 0 || k >= kindEnd {
		return nil, fmt.Errorf("flow: node type %d does not exist", uint8(k))
	}
	return []byte(kindNames[k]), nil
}

// UnmarshalText reads the name of a kind.
func (k *Kind) UnmarshalText(b []byte) error {
	for i, name := range kindNames {
		if i > 0 && name == string(b) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("unknown node type %q: use Start, Task, Wait, Fork, Join, Success, Failed or Canceled", b)
}

// Policy says when a Join lets the execution pass.
type Policy string

// The join policies.
const (
	AllSuccess Policy = "ALL_SUCCESS"
	AnySuccess Policy = "ANY_SUCCESS"
	AllDone    Policy = "ALL_DONE"
	Custom     Policy = "CUSTOM"
)

// Outcome is the side of a node that an edge leaves from.
type Outcome string

// The outcomes.
const (
	OnSuccess Outcome = "success"
	OnFailure Outcome = "failure"
)

// Duration is a time span that is written as a Go duration string ("50ms").
type Duration time.Duration

// MarshalText writes a Go duration string.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a Go duration string.
func (d *Duration) UnmarshalText(b []byte) error {
	got, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is not a duration: write it like 50ms, 2s or 24h", b)
	}
	*d = Duration(got)
	return nil
}

// Retry is when a Task that failed is tried again.
type Retry struct {
	MaxAttempts     int      `json:"maxAttempts,omitzero"`     // default 1: no retry
	InitialInterval Duration `json:"initialInterval,omitzero"` // default 1s
	Backoff         float64  `json:"backoff,omitzero"`         // default 2
	MaxInterval     Duration `json:"maxInterval,omitzero"`     // default 1h
}

// NodeSpec is a node as its author wrote it.
type NodeSpec struct {
	NodeID     string   `json:"nodeId"`
	Type       Kind     `json:"type"`
	Queue      string   `json:"queue,omitempty"`   // Task; default "default"
	Retry      *Retry   `json:"retry,omitempty"`   // Task
	Timeout    Duration `json:"timeout,omitzero"`  // Task: per attempt; Wait
	WaitKey    string   `json:"waitKey,omitempty"` // Wait
	Policy     Policy   `json:"policy,omitempty"`  // Join; default ALL_SUCCESS
	Expression string   `json:"expression,omitempty"`
}

// Edge leads from a node to the next one.
type Edge struct {
	From string  `json:"from"`
	To   string  `json:"to"`
	On   Outcome `json:"on,omitempty"` // default success
	When string  `json:"when,omitempty"`
}

// Graph is a workflow as its author wrote it.
type Graph struct {
	Nodes []NodeSpec `json:"nodes"`
	Edges []Edge     `json:"edges"`
}

// MaxNodes is how many nodes a graph may have; edges may be four times as many.
const MaxNodes = 10_000
