// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"time"
)

// claimTasks: asks for ready tasks.
type claimTasks struct {
	WorkerID     string   `json:"workerId"`
	Queues       []string `json:"queues,omitempty"`
	Max          int      `json:"max,omitempty"`
	WaitSeconds  int      `json:"waitSeconds,omitempty"`
	LeaseSeconds int      `json:"leaseSeconds,omitempty"`
}

// taskList: tasks that were claimed.
type taskList struct {
	Tasks []Task `json:"tasks"`
}

// Queue: a queue that has ready tasks.
type Queue struct {
	Queue string `json:"queue"`
	// Tasks that wait for a worker, counted up to 10,000.
	Ready int `json:"ready"`
	// That there are more than are counted.
	More          bool      `json:"more"`
	OldestReadyAt time.Time `json:"oldestReadyAt"`
}

// TaskRef: one attempt of one node.
type TaskRef struct {
	ExecutionID string `json:"executionId"`
	NodeID      string `json:"nodeId"`
	Attempt     int    `json:"attempt"`
}

// watchTasks: waits until one of some tasks is not held by its attempt any more.
type watchTasks struct {
	Tasks       []TaskRef `json:"tasks"`
	WaitSeconds int       `json:"waitSeconds,omitempty"`
}

// Interrupted: a task that an attempt does not hold any more.
type Interrupted struct {
	TaskRef
	// Of the node; absent when there is no such node.
	Status NodeStatus `json:"status,omitempty"`
}

// interruptedTasks: the tasks that are not held any more.
type interruptedTasks struct {
	Interrupted []Interrupted `json:"interrupted"`
}
