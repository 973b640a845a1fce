// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"time"
)

// WorkflowAnswer: the answer to an event that has a run.
type WorkflowAnswer struct {
	// The key had started the run before, maybe in an attempt that got no answer.
	Duplicate bool `json:"duplicate"`
	// This event started it.
	Triggered    bool   `json:"triggered"`
	TemplateID   string `json:"template_id"`
	TemplateName string `json:"template_name"`
	// The action of the template's first step.
	ActionKey string `json:"action_key"`
	// The key that counted; absent when there was none.
	Key   string `json:"idempotency_key"`
	RunID string `json:"run_id"`
}

// DeliveredEvent: one delivery in a summary.
type DeliveredEvent struct {
	At     time.Time `json:"at"`
	Status string    `json:"status"`
	Action string    `json:"action"`
	RunID  string    `json:"run_id"`
	// The trigger that the event was posted to; not there for workflow events.
	TriggerID    string `json:"trigger_id,omitempty"`
	TemplateID   string `json:"template_id"`
	TemplateName string `json:"template_name"`
	EventName    string `json:"event_name"`
	Source       string `json:"source"`
	Key          string `json:"idempotency_key"`
	Reason       string `json:"reason"`
	ReasonClass  string `json:"reason_class"`
	ReasonCode   string `json:"reason_code"`
	RetryAdvice  string `json:"retry_advice"`
	Duplicate    bool   `json:"duplicate"`
}

// ReceiptRetention: how long, and how many of a tenant, keys are remembered.
type ReceiptRetention struct {
	TTLDays     int `json:"ttl_days"`
	MaxReceipts int `json:"max_receipts"`
}

// WorkflowSummary: the outcomes of the events of a month.
type WorkflowSummary struct {
	Month         string         `json:"ym"`
	Total         int            `json:"total"`
	ByStatus      map[string]int `json:"by_status"`
	ByReasonClass map[string]int `json:"by_reason_class"`
	ByReasonCode  map[string]int `json:"by_reason_code"`
	ByRetryAdvice map[string]int `json:"by_retry_advice"`
	Duplicate     map[string]int `json:"duplicate"`
	// The newest deliveries of the month, newest first.
	Recent []DeliveredEvent `json:"recent"`
	// How long, and how many of a tenant, keys are remembered.
	Retention ReceiptRetention `json:"receipt_retention"`
}

// TemplateStep: one step of a template: a Task in the queue of its action.
type TemplateStep struct {
	// The queue of the step's Task.
	Action string `json:"action"`
	// What makes the step begin: an event (the first step only), the end of the step before, or
	// somebody who resumes it.
	TriggerKind string `json:"trigger_kind"`
	Title       string `json:"title,omitempty"`
	Timeout     string `json:"timeout,omitempty"`
	Retry       *Retry `json:"retry,omitempty"`
}

// Template: what a workflow event starts.
type Template struct {
	Name       string `json:"name"`
	Year       int    `json:"year,omitempty"`
	Month      int    `json:"month,omitempty"`
	MFCloudURL string `json:"mfcloud_url,omitempty"`
	// At most 8 KiB.
	Notes string         `json:"notes,omitempty"`
	Steps []TemplateStep `json:"steps"`
}

// StoredTemplate: a template as the server has it.
type StoredTemplate struct {
	ID string `json:"id"`
	Template
	// The version of the graph `template:<id>` that new runs are of.
	GraphVersion int       `json:"graph_version"`
	CreatedAt    time.Time `json:"created_at"`
	UpdatedAt    time.Time `json:"updated_at"`
}
