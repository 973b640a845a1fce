// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"encoding/json"
	"time"
)

// MessageState: what became of a message. KEPT: no node waited for it yet; RESUMED: it
// resumed nodes; STARTED: it started executions; REJECTED: no node that waited for it took
// its payload, or a graph could not be started; EXPIRED: its ttl ended first.
type MessageState string

// The values of MessageState.
const (
	MessageKept     MessageState = "KEPT"
	MessageResumed  MessageState = "RESUMED"
	MessageStarted  MessageState = "STARTED"
	MessageRejected MessageState = "REJECTED"
	MessageExpired  MessageState = "EXPIRED"
)

// MessageDelivery: what a message did to one execution.
type MessageDelivery struct {
	ExecutionID string `json:"executionId"`
	// The node that waited for it.
	NodeID string `json:"nodeId,omitempty"`
	// The graph that it started.
	GraphID string `json:"graphId,omitempty"`
	// Why the node did not take it; absent where it did.
	Reason string `json:"reason,omitempty"`
}

// StoredMessage: a message, and what became of it.
type StoredMessage struct {
	MessageID  string            `json:"messageId"`
	Name       string            `json:"name"`
	Key        string            `json:"key,omitempty"`
	State      MessageState      `json:"state"`
	Deliveries []MessageDelivery `json:"deliveries"`
	// Of REJECTED.
	Reason string `json:"reason,omitempty"`
	// Who sent it, where that is known.
	Sender        string    `json:"sender,omitempty"`
	CorrelationID string    `json:"correlationId,omitempty"`
	ReceivedAt    time.Time `json:"receivedAt"`
	ExpiresAt     time.Time `json:"expiresAt"`
	// When it was KEPT no longer.
	DecidedAt time.Time `json:"decidedAt,omitzero"`
	// Only in the answer to getMessage.
	Payload json.RawMessage `json:"payload,omitempty"`
	// Only in the answer to sendMessage: a message of this id was sent before, and this is what
	// became of it.
	Duplicate bool `json:"duplicate,omitempty"`
}

// SendMessage: what is sent to the nodes that wait for it.
type SendMessage struct {
	// With the same key it happens once; "" is a new one.
	Key string `json:"-"`
	// Without one the server makes one.
	MessageID string `json:"messageId,omitempty"`
	// What the message is, such as paid; nodes ask for it by name and key.
	Name       string `json:"name"`
	MessageKey string `json:"key,omitempty"`
	// The output of the nodes that it resumes, or the input of what it starts; `{}` unless
	// given. At most 64 KiB.
	Payload any `json:"payload,omitempty"`
	// How long it is kept when nobody waits for it, 1s to 720h; 24h unless given.
	TTL string `json:"ttl,omitempty"`
}
