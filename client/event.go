package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"time"
)

// Event is a fact in the log of an execution.
type Event struct {
	EventID       string          `json:"eventId"`
	ExecutionID   string          `json:"executionId"`
	Seq           uint64          `json:"seq"`
	Type          string          `json:"type"` // one of 24, such as NODE_STARTED
	OccurredAt    time.Time       `json:"occurredAt"`
	Actor         Actor           `json:"actor"`
	CorrelationID string          `json:"correlationId,omitempty"`
	CausationID   string          `json:"causationId,omitempty"`
	SchemaVersion int             `json:"schemaVersion"`
	Payload       json.RawMessage `json:"payload"`
}

// Decode reads the payload into v.
func (e *Event) Decode(v any) error {
	if err := json.Unmarshal(e.Payload, v); err != nil {
		return fmt.Errorf("client: the payload of event %d: %w", e.Seq, err)
	}
	return nil
}

// NodeID is the node that the event is about, "" when it is about the execution.
func (e *Event) NodeID() string {
	var p struct {
		NodeID string `json:"nodeId"`
	}
	_ = json.Unmarshal(e.Payload, &p) // a payload is an object
	return p.NodeID
}

// ListEvents reads a page of the log of an execution.
func (c Executions) ListEvents(ctx context.Context, id string, at Paging) (*Page[Event], error) {
	if id == "" {
		return nil, errNoExecution
	}
	return list[Event](ctx, c.transport, "/executions/"+url.PathEscape(id)+"/events", url.Values{}, at)
}

// Events reads the log of an execution as it is now, from a seq on. Stream goes on
// with what is appended.
func (c Executions) Events(ctx context.Context, id string, from uint64) iter.Seq2[Event, error] {
	return all[Event](ctx, c.transport, "/executions/"+url.PathEscape(id)+"/events", int(from))
}
