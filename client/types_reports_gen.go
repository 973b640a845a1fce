// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"time"
)

// ReportColumn: a column of a report.
type ReportColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// ReportOmission: what a report leaves out, since the caller may not read a field.
type ReportOmission struct {
	// Object and name, such as `Opportunity.Amount`.
	Field   string   `json:"field"`
	Columns []string `json:"columns"`
}

// ReportRebuild: a check of what is counted against the records, which corrects it.
type ReportRebuild struct {
	RebuildID   string `json:"rebuildId"`
	Status      string `json:"status"`
	ExecutionID string `json:"executionId,omitempty"`
	// Records, members of campaigns and approvals.
	RecordsProcessed int       `json:"recordsProcessed"`
	RecordsTotal     int       `json:"recordsTotal"`
	CreatedAt        time.Time `json:"createdAt"`
	EndedAt          time.Time `json:"endedAt,omitzero"`
}
