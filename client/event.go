package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
)

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
	return list[Event](ctx, c.transport, pathOf("/executions/{executionId}/events", id), nil, at)
}

// Events reads the log of an execution as it is now, from a seq on. Stream goes on
// with what is appended.
func (c Executions) Events(ctx context.Context, id string, from uint64) iter.Seq2[Event, error] {
	return all[Event](ctx, c.transport, pathOf("/executions/{executionId}/events", id), int(from))
}
