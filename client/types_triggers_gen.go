// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"time"
)

// StoredTrigger: a trigger as the server has it, without its secret.
type StoredTrigger struct {
	ID    string            `json:"id"`
	Graph string            `json:"graph"`
	When  string            `json:"when,omitempty"`
	Input map[string]string `json:"input,omitempty"`
	Key   string            `json:"key,omitempty"`
	Once  string            `json:"once"`
	// Whether senders have to show one.
	HasSecret bool      `json:"hasSecret"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// TriggerDefinition: how events of another system start executions of a graph. Expressions
// see the event as `body` and `headers` (names in lower case).
type TriggerDefinition struct {
	// The graph that is started, in its newest version.
	Graph string `json:"graph"`
	// A condition; events for which it does not hold start nothing.
	When string `json:"when,omitempty"`
	// Expressions by the members of the execution's input. Without them the input is the body.
	Input map[string]string `json:"input,omitempty"`
	// An expression that gives the key of an event, a text of 1 to 255 characters or a whole
	// number. Without it the key is the one in the header.
	Key string `json:"key,omitempty"`
	// How often the events with one key start an execution: once as long as the key is
	// remembered, once a day or once a month (UTC). Events without a key have the same one for
	// `day` and `month`, and none for `key`.
	Once string `json:"once,omitempty"`
	// What senders have to show. Without it the secret stays as it is, and `null` takes it away.
	// It is stored as a digest and never shown.
	Secret string `json:"secret,omitempty"`
}

// TriggerAnswer: what an event led to.
type TriggerAnswer struct {
	// The key has started the execution before.
	Duplicate bool `json:"duplicate"`
	// It was started now.
	Triggered bool   `json:"triggered"`
	TriggerID string `json:"triggerId"`
	GraphID   string `json:"graphId"`
	// Not there when the event has none.
	Key string `json:"key,omitempty"`
	// Not there when the condition of the trigger does not hold.
	ExecutionID string `json:"executionId,omitempty"`
}
