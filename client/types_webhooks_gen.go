// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"encoding/json"
	"time"
)

// WebhookState: ACTIVE: deliveries are sent. PARKED: the endpoint is dead, and one is sent
// now and then until it answers. PAUSED: they wait, as somebody said so. DISABLED: none is
// planned, since the endpoint was dead for five days or answered 410.
type WebhookState string

// The values of WebhookState.
const (
	WebhookActive   WebhookState = "ACTIVE"
	WebhookParked   WebhookState = "PARKED"
	WebhookPaused   WebhookState = "PAUSED"
	WebhookDisabled WebhookState = "DISABLED"
)

// WebhookRecovery: how far the last recovery is.
type WebhookRecovery struct {
	Since time.Time `json:"since"`
	// Deliveries that it found missing.
	Planned int       `json:"planned"`
	EndedAt time.Time `json:"endedAt,omitzero"`
}

// StoredWebhook: a webhook, and how its endpoint does.
type StoredWebhook struct {
	ID          string   `json:"id"`
	URL         string   `json:"url"`
	Events      []string `json:"events"`
	Filter      string   `json:"filter,omitempty"`
	Delivery    string   `json:"delivery"`
	Description string   `json:"description,omitempty"`
	// The names of its headers, whose values are not shown.
	HeaderNames []string     `json:"headerNames"`
	State       WebhookState `json:"state"`
	// Of the state, except ACTIVE.
	Reason string `json:"reason,omitempty"`
	// When the state began.
	Since time.Time `json:"since"`
	// Of PARKED: when the next request is sent.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Of PARKED: when the webhook is disabled, unless its endpoint answers.
	DisablesAt time.Time `json:"disablesAt,omitzero"`
	// When the endpoint took a delivery last.
	SucceededAt time.Time `json:"succeededAt,omitzero"`
	// Deliveries that are not DELIVERED or SKIPPED.
	Open int `json:"open"`
	// Since when events are not planned, as 100,000 deliveries are open; recover from here.
	MissedSince time.Time        `json:"missedSince,omitzero"`
	Recovery    *WebhookRecovery `json:"recovery,omitempty"`
	// What its `v1a` signatures are verified with; two while secrets rotate.
	PublicKeys []string `json:"publicKeys"`
	// Until when the secret before signs too.
	PreviousSecretUntil time.Time `json:"previousSecretUntil,omitzero"`
	// What its `v1` signatures are verified with. Only in the answer that made it.
	Secret    string    `json:"secret,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// WebhookDefinition: what is posted where.
type WebhookDefinition struct {
	// The endpoint. https on the public internet, unless the operator allows more; without user,
	// password and fragment.
	URL string `json:"url"`
	// The event types that are sent, or `*` alone for all.
	Events []string `json:"events"`
	// A condition in CEL on the event, as `event`. Missing: every event of the types.
	Filter string `json:"filter,omitempty"`
	// `ordered`: one request of a partition key at a time, in order, and a delivery that is
	// refused holds up the later ones of its key. `parallel`: each by itself.
	Delivery string `json:"delivery,omitempty"`
	// Headers of every request, at most 20; their values are not shown again. Missing: they stay
	// as they are.
	Headers map[string]string `json:"headers,omitempty"`
	// On one line.
	Description string `json:"description,omitempty"`
}

// WebhookDeliveryState: WAITING: for its turn; RETRYING: the endpoint refused it, it is
// tried again; DELIVERED; FAILED: the endpoint refused it 12 times, and somebody must
// decide; SKIPPED: somebody gave it up, or the filter failed.
type WebhookDeliveryState string

// The values of WebhookDeliveryState.
const (
	DeliveryWaiting   WebhookDeliveryState = "WAITING"
	DeliveryRetrying  WebhookDeliveryState = "RETRYING"
	DeliveryDelivered WebhookDeliveryState = "DELIVERED"
	DeliveryFailed    WebhookDeliveryState = "FAILED"
	DeliverySkipped   WebhookDeliveryState = "SKIPPED"
)

// WebhookDelivery: an event for a webhook, and what became of it.
type WebhookDelivery struct {
	// Rises with each delivery of the webhook.
	Number int `json:"number"`
	// What `webhook-id` says.
	EventID      string `json:"eventId"`
	EventType    string `json:"eventType"`
	PartitionKey string `json:"partitionKey"`
	// Of the body.
	Bytes     int                  `json:"bytes"`
	PlannedAt time.Time            `json:"plannedAt"`
	State     WebhookDeliveryState `json:"state"`
	// Requests that were sent.
	Attempts int `json:"attempts"`
	// Of RETRYING: when it is tried again.
	DueAt time.Time `json:"dueAt,omitzero"`
	// The last attempt.
	TriedAt time.Time `json:"triedAt,omitzero"`
	// What it took.
	Milliseconds int `json:"milliseconds,omitempty"`
	// What it was answered.
	Status int `json:"status,omitempty"`
	// Why there was no answer, or why the filter failed.
	Error string `json:"error,omitempty"`
	// The first KiB of the answer.
	Answer string `json:"answer,omitempty"`
}

// WebhookAttempt: a request that did not succeed.
type WebhookAttempt struct {
	Number       int       `json:"number"`
	TriedAt      time.Time `json:"triedAt"`
	Milliseconds int       `json:"milliseconds"`
	// Of the answer; not there when there was none.
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
	Answer string `json:"answer,omitempty"`
}

// WebhookDeliveryDetails: a delivery with what is sent.
type WebhookDeliveryDetails struct {
	WebhookDelivery
	// The body of the requests.
	Event    json.RawMessage  `json:"event"`
	Failures []WebhookAttempt `json:"failures"`
}

// pauseWebhook: why a webhook is paused.
type pauseWebhook struct {
	// Why. On one line.
	Reason string `json:"reason,omitempty"`
}

// recoverWebhook: from when on a webhook gets what is missing.
type recoverWebhook struct {
	// Events that happened from here on.
	Since time.Time `json:"since"`
}

// WebhookTest: what came of a test.
type WebhookTest struct {
	// Whether the endpoint answered with 2xx.
	Delivered    bool `json:"delivered"`
	Milliseconds int  `json:"milliseconds"`
	// Of the answer.
	Status int `json:"status,omitempty"`
	// Why there was no answer.
	Error string `json:"error,omitempty"`
	// The first KiB of the answer.
	Answer string `json:"answer,omitempty"`
}
