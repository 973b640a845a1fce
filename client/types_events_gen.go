// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"encoding/json"
	"time"
)

// DeadLetterBulk: one decision about a frozen set of dead letters.
type DeadLetterBulk struct {
	BulkID  string           `json:"bulkId"`
	Command string           `json:"command"`
	Filter  DeadLetterFilter `json:"filter"`
	Reason  string           `json:"reason,omitempty"`
	Status  BulkStatus       `json:"status"`
	// Items of the set; while it is FREEZING, so far.
	Total     int        `json:"total"`
	Counts    BulkCounts `json:"counts"`
	CreatedBy Actor      `json:"createdBy"`
	// Who started it last; the actor of its decisions.
	StartedBy     *Actor `json:"startedBy,omitempty"`
	CorrelationID string `json:"correlationId"`
	// The moment that its set is of.
	CreatedAt time.Time `json:"createdAt"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
}

// createDeadLetterBulk: freezes the set of a bulk about dead letters.
type createDeadLetterBulk struct {
	// What is done to each of them: RedriveDeadLetter or SkipDeadLetter.
	Command string           `json:"command"`
	Filter  DeadLetterFilter `json:"filter"`
	// Stands in the audit log with every decision. `dlq.skip` needs one.
	Reason string `json:"reason,omitempty"`
}

// DeadLetterStatus: `OPEN`: nobody has decided. `REDRIVING`, `SKIPPING`: decided, and about
// to be carried out. `APPLIED`: driven again, it took effect. `SKIPPED`: given up. `STALE`:
// driven again, it came after a newer event of its key. `DUPLICATE`: driven again, it turned
// out to have been taken before.
type DeadLetterStatus string

// The values of DeadLetterStatus.
const (
	DeadLetterOpen      DeadLetterStatus = "OPEN"
	DeadLetterRedriving DeadLetterStatus = "REDRIVING"
	DeadLetterSkipping  DeadLetterStatus = "SKIPPING"
	DeadLetterApplied   DeadLetterStatus = "APPLIED"
	DeadLetterSkipped   DeadLetterStatus = "SKIPPED"
	DeadLetterStale     DeadLetterStatus = "STALE"
	DeadLetterDuplicate DeadLetterStatus = "DUPLICATE"
)

// Verdict: what becomes of a dead letter that is driven again. `WILL_APPLY`: it takes
// effect, unless it fails again. `STALE`: a newer event of its key was taken. `DUPLICATE`:
// it was taken before. `CONFLICT`: another event holds its place. `BREAKS_ORDER`: an older
// event of its key is still open or waits. The last two are refused.
type Verdict string

// The values of Verdict.
const (
	VerdictWillApply   Verdict = "WILL_APPLY"
	VerdictStale       Verdict = "STALE"
	VerdictDuplicate   Verdict = "DUPLICATE"
	VerdictConflict    Verdict = "CONFLICT"
	VerdictBreaksOrder Verdict = "BREAKS_ORDER"
)

// Foreseen: while it is PENDING, what would become of it now.
type Foreseen struct {
	Status DeadLetterStatus `json:"status"`
	// Of a redrive of the whole set; absent unless the dead letter is OPEN.
	Verdict Verdict `json:"verdict,omitempty"`
}

// DeadLetterResult: absent while it is PENDING.
type DeadLetterResult struct {
	Verdict Verdict          `json:"verdict,omitempty"`
	Status  DeadLetterStatus `json:"status,omitempty"`
	Guard   string           `json:"guard,omitempty"`
	Code    string           `json:"code,omitempty"`
	Message string           `json:"message,omitempty"`
}

// DeadLetterBulkItem: `APPLIED`: this bulk decided, and it took effect or was skipped.
// `ALREADY`: there was nothing left to do: it had been decided the same way before, or was
// STALE or a DUPLICATE. `REFUSED`: a guard said no. `FAILED`: it died again (`status` OPEN),
// or nobody carried the decision out (`NOT_CARRIED_OUT`), or it is past its retention
// (`DEAD_LETTER_NOT_FOUND`).
type DeadLetterBulkItem struct {
	DeadLetterID string         `json:"deadLetterId"`
	Status       BulkItemStatus `json:"status"`
	// While it is PENDING, what would become of it now.
	Foreseen *Foreseen `json:"foreseen,omitempty"`
	// Absent while it is PENDING.
	Result *DeadLetterResult `json:"result,omitempty"`
}

// TakenCounts: what became of events.
type TakenCounts struct {
	Applied int `json:"applied"`
	// Taken before.
	Duplicate int `json:"duplicate"`
	// Older than one of the key that was taken before.
	Stale int `json:"stale"`
	// Tries that failed.
	Failed int `json:"failed"`
}

// WaitingKeys: the tenant's keys that wait, for another try of their first event
// (`retrying`) or for a decision about it (`blocked`).
type WaitingKeys struct {
	Retrying int `json:"retrying"`
	Blocked  int `json:"blocked"`
}

// ConsumerPartition: how far a consumer is in one partition.
type ConsumerPartition struct {
	Partition int `json:"partition"`
	// The process that reads; absent when none does.
	Holder string `json:"holder,omitempty"`
	// When another process may take over; absent where there is one process alone.
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
	// Its place in the stream.
	Seq uint64 `json:"seq"`
	// When the last event that it took was published.
	PublishedAt time.Time `json:"publishedAt,omitzero"`
	// About how many events followed in the stream when it took the last ones.
	Pending int `json:"pending"`
	// When it last noted where it is.
	SeenAt time.Time   `json:"seenAt,omitzero"`
	Counts TakenCounts `json:"counts"`
	// The tenant's keys that wait, for another try of their first event (`retrying`) or for a
	// decision about it (`blocked`).
	WaitingKeys WaitingKeys `json:"waitingKeys"`
	// Of the key of the tenant that waits longest.
	WaitingSince time.Time `json:"waitingSince,omitzero"`
	// The tenant's, as far as they are OPEN.
	DeadLetters int `json:"deadLetters"`
}

// Consumer: how far a consumer of events is.
type Consumer struct {
	Consumer string `json:"consumer"`
	// The process that answers knows it. One that no process knows any more keeps its marks.
	Configured bool   `json:"configured"`
	Stream     string `json:"stream"`
	// That it takes; none means all of the stream.
	EventTypes []string `json:"eventTypes"`
	// It goes on behind a dead letter.
	Continue   bool                `json:"continue"`
	Partitions []ConsumerPartition `json:"partitions"`
}

// Decision: the last one about it.
type Decision struct {
	By     Actor     `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
	BulkID string    `json:"bulkId,omitempty"`
}

// DeadLetter: an event that a consumer could not take.
type DeadLetter struct {
	DeadLetterID string           `json:"deadLetterId"`
	Status       DeadLetterStatus `json:"status"`
	Consumer     string           `json:"consumer"`
	Partition    int              `json:"partition"`
	PartitionKey string           `json:"partitionKey"`
	// As the stream had it; a UUID, unless the event could not be read.
	EventID   string `json:"eventId"`
	EventType string `json:"eventType"`
	// Absent when the event could not be read.
	RecordVersion time.Time `json:"recordVersion,omitzero"`
	// Its place among the events of one change.
	Index       int    `json:"index"`
	ReasonClass string `json:"reasonClass"`
	ReasonCode  string `json:"reasonCode"`
	RetryAdvice string `json:"retryAdvice"`
	// Of the last try.
	Error         string    `json:"error"`
	Attempts      int       `json:"attempts"`
	FirstFailedAt time.Time `json:"firstFailedAt"`
	// The last time that it died.
	DeadAt time.Time `json:"deadAt"`
	// When it is driven again by itself, if its consumer wants that.
	RedriveAt time.Time `json:"redriveAt,omitzero"`
	// The last one about it.
	Decision *Decision `json:"decision,omitempty"`
	EndedAt  time.Time `json:"endedAt,omitzero"`
	// With `foresee`, of one that is OPEN.
	Verdict Verdict `json:"verdict,omitempty"`
}

// FailedTry: a try that failed.
type FailedTry struct {
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"`
	Error   string    `json:"error"`
}

// WaitingEvent: an event that waits behind its key.
type WaitingEvent struct {
	EventID       string    `json:"eventId"`
	EventType     string    `json:"eventType"`
	RecordVersion time.Time `json:"recordVersion,omitzero"`
	Index         int       `json:"index"`
	WaitingSince  time.Time `json:"waitingSince"`
}

// Waiting: what waits behind its key.
type Waiting struct {
	// Counted up to 10,000.
	Count int `json:"count"`
	// The first 100.
	First []WaitingEvent `json:"first"`
}

// DeadLetterDetails: a dead letter with all that is known of it.
type DeadLetterDetails struct {
	DeadLetter
	// The newest 20 tries that failed, oldest first.
	Failures []FailedTry `json:"failures"`
	// As its schema says (`GET /events/schemas/{eventType}`). Absent when what came is no event
	// of the tenant.
	Event json.RawMessage `json:"event,omitempty"`
	// The payload is not shown, because it does not fit its schema and sensitive fields cannot
	// be found in it.
	PayloadWithheld bool `json:"payloadWithheld"`
	// What waits behind its key.
	Waiting Waiting `json:"waiting"`
	// How many older events of its key, open or being driven again, a skip would make STALE:
	// what is skipped counts as taken. Redrive those first. Absent when there is none; only a
	// consumer that continues behind dead letters has some.
	SkipMakesStale int `json:"skipMakesStale,omitempty"`
}

// AcceptedDecision: how a dead letter stood when a decision about it was accepted.
type AcceptedDecision struct {
	DeadLetterID string           `json:"deadLetterId"`
	Status       DeadLetterStatus `json:"status"`
	// Of a redrive that was decided with this request, what is to be expected.
	Verdict Verdict `json:"verdict,omitempty"`
	// Of a skip that was decided with this request, how many older events of the key are STALE
	// from now on, since it counts as taken. Absent when none is.
	MakesStale    int    `json:"makesStale,omitempty"`
	CorrelationID string `json:"correlationId"`
	Key           string `json:"idempotencyKey"`
}

// Refill: the stream lost something and is filled again, up to a place in the outbox.
type Refill struct {
	Position int64     `json:"position"`
	Upto     int64     `json:"upto"`
	Since    time.Time `json:"since,omitzero"`
}

// OutboxPartition: how far publishing is in one partition.
type OutboxPartition struct {
	Partition int `json:"partition"`
	// The process that publishes; absent when none does.
	Holder              string    `json:"holder,omitempty"`
	LeaseUntil          time.Time `json:"leaseUntil,omitzero"`
	Unpublished         int       `json:"unpublished"`
	OldestUnpublishedAt time.Time `json:"oldestUnpublishedAt,omitzero"`
	// The stream lost something and is filled again, up to a place in the outbox.
	Refill *Refill `json:"refill,omitempty"`
}

// OutboxItem: an event in the outbox, without its payload.
type OutboxItem struct {
	// Where it is in the outbox, for `after`. An opaque number up to 2^52.
	Position     int64     `json:"position"`
	EventID      string    `json:"eventId"`
	EventType    string    `json:"eventType"`
	PartitionKey string    `json:"partitionKey"`
	Partition    int       `json:"partition"`
	OccurredAt   time.Time `json:"occurredAt"`
	CreatedAt    time.Time `json:"createdAt"`
	// Absent while it waits to be published.
	PublishedAt time.Time `json:"publishedAt,omitzero"`
}

// Outbox: what waits to be published, and the newest events of the tenant.
type Outbox struct {
	// Of each partition at most 10,000 are counted.
	Unpublished         int               `json:"unpublished"`
	OldestUnpublishedAt time.Time         `json:"oldestUnpublishedAt,omitzero"`
	Partitions          []OutboxPartition `json:"partitions"`
	Items               []OutboxItem      `json:"items"`
}

// ReplayStatus: the state of a replay.
type ReplayStatus string

// The values of ReplayStatus.
const (
	ReplayRunning ReplayStatus = "RUNNING"
	ReplayDone    ReplayStatus = "DONE"
	ReplayStopped ReplayStatus = "STOPPED"
)

// Replay: a range of time that one consumer gets again.
type Replay struct {
	ReplayID  string       `json:"replayId"`
	Consumer  string       `json:"consumer"`
	From      time.Time    `json:"from"`
	To        time.Time    `json:"to"`
	Status    ReplayStatus `json:"status"`
	Counts    TakenCounts  `json:"counts"`
	CreatedBy Actor        `json:"createdBy"`
	CreatedAt time.Time    `json:"createdAt"`
	EndedAt   time.Time    `json:"endedAt,omitzero"`
}

// StartReplay: delivers the events of a range of time to one consumer again.
type StartReplay struct {
	// With the same key it happens once; "" is a new one.
	Key      string `json:"-"`
	Consumer string `json:"consumer"`
	// Announced at or after this instant.
	From time.Time `json:"from"`
	// Announced before this instant; without it, up to now.
	To time.Time `json:"to,omitzero"`
}

// AcceptedReplay: how a replay stood when a command about it was accepted.
type AcceptedReplay struct {
	ReplayID      string       `json:"replayId"`
	Status        ReplayStatus `json:"status"`
	CorrelationID string       `json:"correlationId"`
	Key           string       `json:"idempotencyKey"`
}

// EventSchema: the schema of an event type.
type EventSchema struct {
	EventType     string `json:"eventType"`
	SchemaVersion int    `json:"schemaVersion"`
	Href          string `json:"href"`
}

// PublishPolicy: which events of executions are published, as ExecutionChanged: `default` is
// those of an execution as a whole (EXECUTION_…) and NODE_WAITING.
type PublishPolicy string

// The values of PublishPolicy.
const (
	PublishDefault PublishPolicy = "default"
	PublishAll     PublishPolicy = "all"
	PublishNone    PublishPolicy = "none"
)

// EventSettings: which events a tenant wants to be published.
type EventSettings struct {
	// Which events of executions are published, as ExecutionChanged: `default` is those of an
	// execution as a whole (EXECUTION_…) and NODE_WAITING.
	Executions PublishPolicy `json:"executions"`
}
