// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"encoding/json"
	"time"
)

// Health: how well a strategy did when it was last checked.
type Health string

// The values of Health.
const (
	Healthy       Health = "healthy"
	Degraded      Health = "degraded"
	HealthUnknown Health = "unknown"
)

// Strategy: something that is checked again and again.
type Strategy struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Each once, in the order of code points.
	Tags   []string `json:"tags"`
	Health Health   `json:"health"`
	// `null`: never.
	LastCheckedAt *time.Time      `json:"last_checked_at"`
	Metrics       json.RawMessage `json:"metrics"`
}

// ArtifactURL: a way to a file that a check has left. It needs no token.
type ArtifactURL struct {
	// With a host if the operator has set one (`--public-url`); else it is relative to the
	// server that was asked.
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
	Name      string    `json:"name"`
	MediaType string    `json:"media_type"`
	// Bytes.
	Size int `json:"size"`
}

// RecheckWindow: the time that a check looks at; so many days back, or from one instant to
// another that is not before it.
type RecheckWindow struct {
	LookbackDays int       `json:"lookback_days,omitempty"`
	From         time.Time `json:"from,omitzero"`
	To           time.Time `json:"to,omitzero"`
}

// RecheckStatus: `queued`: nothing has begun. `succeeded`, `failed`: all strategies did,
// `partial`: some. `canceled`: by somebody; what had ended before has its result.
type RecheckStatus string

// The values of RecheckStatus.
const (
	RecheckQueued    RecheckStatus = "queued"
	RecheckRunning   RecheckStatus = "running"
	RecheckSucceeded RecheckStatus = "succeeded"
	RecheckFailed    RecheckStatus = "failed"
	RecheckPartial   RecheckStatus = "partial"
	RecheckCanceled  RecheckStatus = "canceled"
)

// RecheckAccepted: a request that was accepted.
type RecheckAccepted struct {
	RequestID string        `json:"request_id"`
	Status    RecheckStatus `json:"status"`
	DryRun    bool          `json:"dry_run"`
	// How many strategies it is about.
	Total int `json:"total"`
}

// RecheckCounts: how many items are in each status.
type RecheckCounts struct {
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Canceled  int `json:"canceled"`
	Planned   int `json:"planned"`
}

// RecheckFailure: why it failed.
type RecheckFailure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// RecheckItem: one strategy of a request.
type RecheckItem struct {
	Strategy string `json:"strategy"`
	Status   string `json:"status"`
	// What the worker found out. Of `artifacts` it has the ids, once the batch has ended.
	Result json.RawMessage `json:"result"`
	// Why it failed.
	Error *RecheckFailure `json:"error"`
}

// RecheckProgress: a request and a page of its items.
type RecheckProgress struct {
	RecheckAccepted
	Window  RecheckWindow `json:"window"`
	Reason  string        `json:"reason"`
	TraceID string        `json:"trace_id"`
	// How many items are in each status.
	Counts RecheckCounts `json:"counts"`
	Items  []RecheckItem `json:"items"`
	Page   int           `json:"page"`
	Size   int           `json:"page_size"`
	// Items in the statuses that were asked for, on all pages.
	Matching  int       `json:"matching"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// recheckCancel: cancels a request.
type recheckCancel struct {
	Reason string `json:"reason,omitempty"`
}

// RecheckFilter: all of it must hold; `{}` is all strategies.
type RecheckFilter struct {
	// Part of the id or the name, in upper or lower case.
	Text string `json:"q,omitempty"`
	// Has one of these tags.
	TagsAny []string `json:"tags_any,omitempty"`
	// Is one of these.
	Health []Health `json:"health,omitempty"`
}

// StrategyDraft: what a caller says of a strategy.
type StrategyDraft struct {
	// If it is there, it must be the one in the path.
	ID string `json:"id,omitempty"`
	// On one line.
	Name   string   `json:"name"`
	Tags   []string `json:"tags,omitempty"`
	Health Health   `json:"health,omitempty"`
	// `null`: never.
	LastCheckedAt *time.Time `json:"last_checked_at,omitempty"`
	// At most 4 KiB.
	Metrics json.RawMessage `json:"metrics,omitempty"`
}
