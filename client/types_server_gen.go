// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"time"
)

// CallerUser: the user of the metadata that it is.
type CallerUser struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Caller: who calls, and what it may use.
type Caller struct {
	// How callers prove who they are.
	Auth     string `json:"auth"`
	TenantID string `json:"tenantId"`
	// That of the token; without authentication, the header X-User-Id.
	Subject string `json:"subject,omitempty"`
	// The user of the metadata that it is.
	User   *CallerUser `json:"user,omitempty"`
	Scopes []string    `json:"scopes"`
	// Of the server.
	Version string `json:"version"`
	// The clock of the server.
	Now time.Time `json:"now"`
	// Some of the limits of the server, by name.
	Limits map[string]int `json:"limits"`
	// What the server was started with, by name.
	Features map[string]bool `json:"features"`
}
