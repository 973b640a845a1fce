package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Events reads and follows business events, their schemas, consumers and settings.
type Events struct{ *transport }

// EventSchema names the schema of an event type.
type EventSchema struct {
	EventType     string `json:"eventType"`
	SchemaVersion int    `json:"schemaVersion"`
	Href          string `json:"href"`
}

// few is a list that comes as a whole.
type few[T any] struct {
	Items []T `json:"items"`
}

// Schemas lists the event types.
func (c Events) Schemas(ctx context.Context) ([]EventSchema, error) {
	var all few[EventSchema]
	err := c.read(ctx, "/events/schemas", nil, &all)
	return all.Items, err
}

// Schema reads the JSON Schema of an event type.
func (c Events) Schema(ctx context.Context, eventType string) (json.RawMessage, error) {
	if eventType == "" {
		return nil, errors.New("client: an event type is required")
	}
	r, err := c.do(ctx, call{method: http.MethodGet, path: "/events/schemas/" + url.PathEscape(eventType)})
	return r.body, err
}

// Consumer is how far a consumer of events is.
type Consumer struct {
	Consumer   string              `json:"consumer"`
	Configured bool                `json:"configured"` // the process that answered knows it
	Stream     string              `json:"stream"`
	EventTypes []string            `json:"eventTypes"` // none: all of the stream
	Continue   bool                `json:"continue"`   // it goes on behind a dead letter
	Partitions []ConsumerPartition `json:"partitions"`
}

// ConsumerPartition is how far a consumer is in one partition.
type ConsumerPartition struct {
	Partition    int         `json:"partition"`
	Holder       string      `json:"holder,omitempty"` // the process that reads; none when it is empty
	LeaseUntil   time.Time   `json:"leaseUntil,omitzero"`
	Seq          uint64      `json:"seq"`                  // place in the stream
	PublishedAt  time.Time   `json:"publishedAt,omitzero"` // of the event there
	Pending      int         `json:"pending"`              // about how many events followed
	SeenAt       time.Time   `json:"seenAt,omitzero"`      // when that was noted
	Counts       TakenCounts `json:"counts"`
	WaitingKeys  WaitingKeys `json:"waitingKeys"` // of the tenant
	WaitingSince time.Time   `json:"waitingSince,omitzero"`
	DeadLetters  int         `json:"deadLetters"` // of the tenant
}

// TakenCounts is what became of events.
type TakenCounts struct {
	Applied   int `json:"applied"`
	Duplicate int `json:"duplicate"`
	Stale     int `json:"stale"`
	Failed    int `json:"failed"`
}

// WaitingKeys is how many keys wait: for another try, or for a decision.
type WaitingKeys struct {
	Retrying int `json:"retrying"`
	Blocked  int `json:"blocked"`
}

// Consumers tells how far all consumers are.
func (c Events) Consumers(ctx context.Context) ([]Consumer, error) {
	var all few[Consumer]
	err := c.read(ctx, "/events/consumers", nil, &all)
	return all.Items, err
}

// Outbox is what waits to be published, and the newest events of the tenant.
type Outbox struct {
	Unpublished         int               `json:"unpublished"`
	OldestUnpublishedAt time.Time         `json:"oldestUnpublishedAt,omitzero"`
	Partitions          []OutboxPartition `json:"partitions"`
	Items               []OutboxItem      `json:"items"` // oldest first
}

// OutboxPartition is how far publishing is in one partition.
type OutboxPartition struct {
	Partition           int       `json:"partition"`
	Holder              string    `json:"holder,omitempty"`
	LeaseUntil          time.Time `json:"leaseUntil,omitzero"`
	Unpublished         int       `json:"unpublished"`
	OldestUnpublishedAt time.Time `json:"oldestUnpublishedAt,omitzero"`
	Refill              *Refill   `json:"refill,omitempty"`
}

// Refill is a stream that lost something and is filled again from the outbox.
type Refill struct {
	Position int64     `json:"position"`
	Upto     int64     `json:"upto"`
	Since    time.Time `json:"since,omitzero"`
}

// OutboxItem is an event in the outbox, without its payload.
type OutboxItem struct {
	Position     int64     `json:"position"` // opaque, for OutboxQuery.After
	EventID      string    `json:"eventId"`
	EventType    string    `json:"eventType"`
	PartitionKey string    `json:"partitionKey"`
	Partition    int       `json:"partition"`
	OccurredAt   time.Time `json:"occurredAt"`
	CreatedAt    time.Time `json:"createdAt"`
	PublishedAt  time.Time `json:"publishedAt,omitzero"` // zero while it waits
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
	query := given(map[string]string{"eventType": q.EventType, "key": q.Key})
	if q.After != 0 {
		query.Set("after", strconv.FormatInt(q.After, 10))
	}
	if q.Size != 0 {
		query.Set("page_size", strconv.Itoa(q.Size))
	}
	out := new(Outbox)
	if err := c.read(ctx, "/events/outbox", query, out); err != nil {
		return nil, err
	}
	return out, nil
}

// BusinessEvent is an event of a record: who announced what, and in which order.
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

// Producer is the service that announced an event.
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
	From      time.Time // announced at or after; zero: from now on
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
		s.take = func(f *frame) error { return takeEvent(s, f, yield) }
		if err := s.run(ctx); err != nil {
			yield(BusinessEvent{}, err)
		}
	}
}

// takeEvent hands the event of a frame on. One without an event tells the place alone.
func takeEvent(s *stream, f *frame, yield func(BusinessEvent, error) bool) error {
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
