// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"time"
)

// HighlightPart: a piece of text.
type HighlightPart struct {
	Text string `json:"text"`
	// It was looked for.
	Match bool `json:"match"`
}

// Highlight: a piece of a field in which something was found.
type Highlight struct {
	Field string          `json:"field"`
	Parts []HighlightPart `json:"parts"`
}

// Hit: a record that was found, as the caller may see it.
type Hit struct {
	Object string `json:"object"`
	ID     string `json:"id"`
	// Without it the caller may not read it.
	Name          string    `json:"name,omitempty"`
	OwnerID       string    `json:"ownerId"`
	RecordVersion string    `json:"recordVersion"`
	UpdatedAt     time.Time `json:"updatedAt"`
	// 4: all words are in the name; 3: some as the start of a word; 2: all words are in some
	// fields; 1: some as the start of a word.
	Relevance int `json:"relevance"`
	// An approval of it is open.
	InApproval bool `json:"inApproval"`
	// Pieces of up to three fields in which something was found, the name first. An ellipsis
	// stands for what is left out.
	Highlights []Highlight `json:"highlights"`
}

// HitPage: some hits, the most relevant first. It can be short, or empty, and have a next
// page all the same.
type HitPage struct {
	Items []Hit `json:"items"`
	// The cursor of the next page; there is none without it.
	Next string `json:"next,omitempty"`
}

// rebuildSearch: starts a rebuild of the index.
type rebuildSearch struct {
	// The object; without it all.
	Object string `json:"object,omitempty"`
}

// rebuildStarted: the rebuild that was started.
type rebuildStarted struct {
	RebuildID string `json:"rebuildId"`
}

// SearchRebuild: a rebuild of the index of an object, or of all.
type SearchRebuild struct {
	RebuildID string `json:"rebuildId"`
	// Without it all.
	Object string `json:"object,omitempty"`
	// Somebody's request, or that records are to be found by other fields.
	Cause            string    `json:"cause"`
	Status           string    `json:"status"`
	ExecutionID      string    `json:"executionId,omitempty"`
	RecordsProcessed int       `json:"recordsProcessed"`
	RecordsTotal     int       `json:"recordsTotal"`
	CreatedAt        time.Time `json:"createdAt"`
	EndedAt          time.Time `json:"endedAt,omitzero"`
}
