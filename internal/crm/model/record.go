package model

import (
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
)

// Record is a record as the services have it: package records alone stores and changes
// it.
type Record struct {
	Object        string
	ID            string
	OwnerID       string // a user or a queue
	Name          string
	AccountID     string // of a contact or an opportunity, and of a quote through its opportunity; "": none
	OpportunityID string // of a quote; "": none
	// Fields are those that are not empty, by name: string, float64 or bool. They may not be
	// changed.
	Fields    map[string]any
	Version   canonical.Stamp // rises with every change, also of its team or its members
	CreatedAt canonical.Stamp
	CreatedBy string
	UpdatedAt canonical.Stamp // of the record itself
	UpdatedBy string
	Deleted   bool
}

// TeamMember is somebody in the team of a record.
type TeamMember struct {
	Object   string
	RecordID string
	UserID   string
	TeamRole string
	Access   Access
}

// Use says how many records of an object need a definition.
type Use struct {
	Object string `json:"object"`
	ID     string `json:"id"` // of one of them
	Count  int64  `json:"count"`
}

// Change is fields that the server itself is to write into a record; null empties one.
type Change struct {
	ID     string
	Fields map[string]jsontext.Value
}

// Changed is what became of a Change.
type Changed struct {
	Version canonical.Stamp // that the record has
	Changed bool            // false: it had these values already
	Err     error           // why it was refused; then nothing was done
}

// CampaignMember is a lead or a contact in a campaign.
type CampaignMember struct {
	CampaignID   string
	MemberType   string // Lead, Contact
	MemberID     string
	Status       string
	HasResponded bool
}

// Viewer is a user on whose behalf one service asks another.
type Viewer struct {
	Tenant string
	User   string // an active user of the tenant
}

// FieldLock is the fields of a record that an approval keeps as they are.
type FieldLock struct {
	ApprovalID string
	Object     string
	RecordID   string
	Fields     []string
	At         canonical.Stamp
}

// Outcome is what an approval that has ended writes into its record.
type Outcome struct {
	Object   string
	RecordID string
	Fields   map[string]jsontext.Value // null empties one; none: nothing is written

	SubmittedBy, DecidedBy string // users
}

// Settled is what became of an Outcome.
type Settled struct {
	Version canonical.Stamp // of the record since; 0: it was refused
	Changed bool            // false: the record had these values already
	Refused string          // why
}

// Approval is what other services see of an approval.
type Approval struct {
	ID          string
	Object      string
	RecordID    string
	SubmittedBy string
	SubmittedAt canonical.Stamp
	Decision    string          // "": it is pending
	DecidedAt   canonical.Stamp // 0: it is pending
}
