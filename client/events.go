package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"time"
)

// Events reads and follows business events, their schemas, consumers and settings.
type Events struct{ *transport }

// few is a list that comes as a whole.
type few[T any] struct {
	Items []T `json:"items"`
}

// whole reads such a list.
func whole[T any](ctx context.Context, c *transport, path string) ([]T, error) {
	all, _, err := exchange[few[T]](ctx, c, call{method: http.MethodGet, path: path}, nil)
	return all.Items, err
}

// Schemas lists the event types.
func (c Events) Schemas(ctx context.Context) ([]EventSchema, error) {
	return whole[EventSchema](ctx, c.transport, "/events/schemas")
}

// Schema reads the JSON Schema of an event type.
func (c Events) Schema(ctx context.Context, eventType string) (json.RawMessage, error) {
	r, err := c.do(ctx, call{method: http.MethodGet, path: pathOf("/events/schemas/{eventType}", eventType)})
	return r.body, err
}

// Consumers lists how far all consumers are.
func (c Events) Consumers(ctx context.Context) ([]Consumer, error) {
	return whole[Consumer](ctx, c.transport, "/events/consumers")
}

// OutboxQuery selects events of the outbox; the zero value the newest 50.
type OutboxQuery struct {
	EventType string
	Key       string // partition key
	After     int64  // only what follows this position
	Size      int    // 10..100
}

// Outbox reads the outbox.
func (c Events) Outbox(ctx context.Context, q OutboxQuery) (*Outbox, error) {
	return get[Outbox](ctx, c.transport, "/events/outbox", given(map[string]string{
		"eventType": q.EventType, "key": q.Key, "after": number(q.After), "page_size": number(q.Size),
	}))
}

// BusinessEvent is an event of a record: who published what, and in which order.
type BusinessEvent struct {
	Position      int64           `json:"-"` // opaque, for FollowQuery.After
	EventID       string          `json:"eventId"`
	SchemaVersion int             `json:"schemaVersion"`
	EventType     string          `json:"eventType"`
	OccurredAt    time.Time       `json:"occurredAt"`
	TenantID      string          `json:"tenantId"`
	Producer      Producer        `json:"producer"`
	CorrelationID string          `json:"correlationId"`
	Sequence      Sequence        `json:"sequence"`
	Payload       json.RawMessage `json:"payload"`
}

// Producer is the service that published an event.
type Producer struct {
	Service    string `json:"service"`
	InstanceID string `json:"instanceId"`
}

// Sequence is where an event stands among those of its key.
type Sequence struct {
	PartitionKey  string    `json:"partitionKey"`
	RecordVersion time.Time `json:"recordVersion"`
	Index         int       `json:"index"`
}

// FollowQuery selects events to follow; the zero value all of those to come.
type FollowQuery struct {
	EventType string
	Key       string    // partition key
	From      time.Time // published at or after; zero: from now on
	After     *int64    // only what follows this position; 0: all that there is
}

// Follow follows the tenant's events, in their order, until ctx
// ends. A connection that breaks is opened again after the last event that was seen, so
// each event comes once. An error is the last thing that comes.
func (c Events) Follow(ctx context.Context, q FollowQuery) iter.Seq2[BusinessEvent, error] {
	return func(yield func(BusinessEvent, error) bool) {
		s := &stream{
			client: c.transport, path: "/events/stream",
			query: given(map[string]string{"eventType": q.EventType, "key": q.Key, "from": instant(q.From)}),
		}
		if q.After != nil {
			s.last = strconv.FormatInt(*q.After, 10)
		}
		s.handle = func(f *frame) error { return handleEvent(s, f, yield) }
		if err := s.run(ctx); err != nil {
			yield(BusinessEvent{}, err)
		}
	}
}

// handleEvent hands the event of a frame on. One without an event has the position alone.
func handleEvent(s *stream, f *frame, yield func(BusinessEvent, error) bool) error {
	if f.name == "" {
		if f.id != "" {
			s.last = f.id
		}
		return nil
	}
	var e BusinessEvent
	if err := json.Unmarshal(f.data, &e); err != nil {
		return s.unreadable(err)
	}
	var err error
	if e.Position, err = strconv.ParseInt(f.id, 10, 64); err != nil {
		return s.unreadable(err)
	}
	s.last = f.id
	if !yield(e, nil) {
		return errStreamDone
	}
	return nil
}
