// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"encoding/json"
	"time"
)

// SharingModel: how an object is or was shared.
type SharingModel struct {
	Object  string `json:"object"`
	Version int64  `json:"version"`
	// BUILDING, ACTIVE (in force), RETIRED (it was), CANCELED (it never was).
	Status string `json:"status"`
	OWD    string `json:"owd"`
	// The rules that were active when it was begun.
	Rules json.RawMessage `json:"rules"`
	// Of the rebuild.
	ExecutionID      string    `json:"executionId,omitempty"`
	RecordsProcessed int       `json:"recordsProcessed"`
	RecordsTotal     int       `json:"recordsTotal"`
	CreatedAt        time.Time `json:"createdAt"`
	ActiveAt         time.Time `json:"activeAt,omitzero"`
	EndedAt          time.Time `json:"endedAt,omitzero"`
}

// Territory: a part of the market: accounts are in it, and users work in it.
type Territory struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// The territory above; without it, it is at the top.
	ParentID string `json:"parentTerritoryId,omitempty"`
	Access   string `json:"access,omitempty"`
}

// sharingRebuild: a rebuild of the sharing of an object.
type sharingRebuild struct {
	Object string `json:"object"`
	// Of the model that is being built.
	Version int64 `json:"version"`
}

// Grantee: whom access is given to.
type Grantee struct {
	Type string `json:"type"`
	ID   string `json:"id,omitempty"`
}

// AccessReason: one reason of access.
type AccessReason struct {
	// owner, role (the user's is above the owner's), queue, default (the organization-wide one),
	// rule, team, territory, account (it passes access on), all (a permission set).
	Cause string `json:"cause"`
	// Of what causes it: the rule, the role, the queue, the territory, the account.
	ID     string  `json:"id,omitempty"`
	Access string  `json:"access"`
	Via    Grantee `json:"via"`
}

// RecordAccess: what somebody may do with a record, and why.
type RecordAccess struct {
	Grantee Grantee `json:"grantee"`
	Access  string  `json:"access"`
	// The strongest first.
	Why []AccessReason `json:"why"`
}

// accessExplanation: who has access to a record, and why.
type accessExplanation struct {
	Object string         `json:"object"`
	ID     string         `json:"id"`
	Access []RecordAccess `json:"access"`
}
