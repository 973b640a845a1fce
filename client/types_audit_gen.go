// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"encoding/json"
	"time"
)

// AuditEntry: one line of the audit log.
type AuditEntry struct {
	AuditID string    `json:"auditId"`
	At      time.Time `json:"at"`
	Actor   Actor     `json:"actor"`
	// What was done: `execution.cancel`, `token.refused`, `dlq.redrive`, `dlq.skip`,
	// `events.replay`, `events.replay.stop`, `events.settings`, `workflow_event`, `trigger.put`,
	// `trigger.delete`, `schedule.put`, `schedule.pause`, `schedule.resume`, `schedule.delete`,
	// `webhook.put`, `webhook.delete`, `webhook.pause`, `webhook.resume`, `webhook.rotate`,
	// `webhook.recover`, `webhook.test`, `webhook.redeliver`, `webhook.skip`, `webhook.disable`.
	Action string `json:"action"`
	// To what; mostly an id.
	Subject       string `json:"subject"`
	CorrelationID string `json:"correlationId"`
	// The outcome. `skipped`: it was done before, and nothing was left to do.
	Outcome string `json:"outcome"`
	// Why, as the actor said.
	Reason      string `json:"reason,omitempty"`
	ReasonClass string `json:"reasonClass,omitempty"`
	// Of what was refused, the guard; of a workflow event also `http_409` and the like,
	// `invalid_year_month`, `duplicate_idempotency_key`.
	ReasonCode  string `json:"reasonCode,omitempty"`
	RetryAdvice string `json:"retryAdvice,omitempty"`
	// Names, ids and counts; it depends on the action.
	Detail json.RawMessage `json:"detail"`
}
