// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

import (
	"encoding/json"
	"time"
)

// namesWanted: ids of which the names are wanted.
type namesWanted struct {
	// Ids, or the subjects of users.
	IDs []string `json:"ids"`
}

// NameOfID: what an id stands for.
type NameOfID struct {
	// What was asked for.
	Of string `json:"of"`
	// `record`, `territory`, or a kind of definition as `user`, `role`, `group`,
	// `permission-set`, `sharing-rule`, `validation-rule`, `workflow-rule`, `scheduled-job`,
	// `approval-process`.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Of a record.
	Object string `json:"object,omitempty"`
	// What people call it.
	Label string `json:"label"`
}

// namesFound: what ids stand for.
type namesFound struct {
	Items []NameOfID `json:"items"`
}

// Record: a record as the caller may see it.
type Record struct {
	ID     string `json:"id"`
	Object string `json:"object"`
	// A user or a queue.
	OwnerID string `json:"ownerId"`
	// Rises with every change, also of the team or the members.
	RecordVersion string    `json:"recordVersion"`
	CreatedAt     time.Time `json:"createdAt"`
	CreatedBy     string    `json:"createdBy"`
	// When the record itself was last changed.
	UpdatedAt time.Time      `json:"updatedAt"`
	UpdatedBy string         `json:"updatedBy"`
	Fields    map[string]any `json:"fields"`
}

// RecordDraft: what a caller says of a record. A field that is null is emptied.
type RecordDraft struct {
	// A user or a queue; without it, the caller.
	OwnerID string         `json:"ownerId,omitempty"`
	Fields  map[string]any `json:"fields"`
}

// RecordOperation: one operation of a bulk of records.
type RecordOperation struct {
	Op string `json:"op"`
	// Of the record that is updated or deleted.
	ID            string         `json:"id,omitempty"`
	RecordVersion string         `json:"recordVersion,omitempty"`
	OwnerID       string         `json:"ownerId,omitempty"`
	Fields        map[string]any `json:"fields,omitempty"`
}

// recordBulk: operations on records of one object, in one transaction.
type recordBulk struct {
	AllOrNone  bool              `json:"allOrNone,omitempty"`
	Operations []RecordOperation `json:"operations"`
}

// RecordResult: the result of one operation.
type RecordResult struct {
	// As the operation would have been answered alone.
	Status        int    `json:"status"`
	ID            string `json:"id"`
	RecordVersion string `json:"recordVersion"`
	Error         *Error `json:"error"`
}

// recordResults: a result for each operation.
type recordResults struct {
	Results []RecordResult `json:"results"`
}

// LeadConversion: what a lead is to become.
type LeadConversion struct {
	// With the same key it happens once; "" is a new one.
	Key string `json:"-"`
	// Of the lead that the caller has seen.
	Version       string         `json:"recordVersion,omitempty"`
	OwnerID       string         `json:"ownerId,omitempty"`
	AccountID     string         `json:"accountId,omitempty"`
	ContactID     string         `json:"contactId,omitempty"`
	OpportunityID string         `json:"opportunityId,omitempty"`
	Match         bool           `json:"match,omitempty"`
	Opportunity   map[string]any `json:"opportunity,omitempty"`
}

// ConvertedLead: what a lead became.
type ConvertedLead struct {
	Lead          Record  `json:"lead"`
	AccountID     string  `json:"accountId"`
	ContactID     string  `json:"contactId"`
	OpportunityID *string `json:"opportunityId"`
	// Which of them are new.
	Created []string `json:"created"`
}

// RecordFieldChange: a field before and after a change.
type RecordFieldChange struct {
	Field string `json:"field"`
	// Null when it was empty; not there when the field is sensitive.
	Old json.RawMessage `json:"old,omitempty"`
	// Null when it is empty now.
	New json.RawMessage `json:"new,omitempty"`
}

// RecordEntry: one change in the history of a record.
type RecordEntry struct {
	RecordVersion string              `json:"recordVersion"`
	At            time.Time           `json:"at"`
	UserID        string              `json:"userId"`
	Action        string              `json:"action"`
	Changes       []RecordFieldChange `json:"changes"`
}

// CampaignMember: a lead or a contact in a campaign.
type CampaignMember struct {
	MemberType   string    `json:"memberType"`
	MemberID     string    `json:"memberId"`
	Status       string    `json:"status"`
	HasResponded bool      `json:"hasResponded"`
	AddedAt      time.Time `json:"addedAt"`
	UpdatedAt    time.Time `json:"updatedAt"`
}

// campaignMemberDraft: what a caller says of a member of a campaign.
type campaignMemberDraft struct {
	Status       string `json:"status,omitempty"`
	HasResponded *bool  `json:"hasResponded,omitempty"`
}

// TeamMember: a member of the team of an account or an opportunity.
type TeamMember struct {
	UserID      string    `json:"userId"`
	TeamRole    string    `json:"teamRole"`
	AccessLevel string    `json:"accessLevel"`
	AddedAt     time.Time `json:"addedAt"`
}

// teamMemberDraft: what a caller says of a member of a team.
type teamMemberDraft struct {
	TeamRole    string `json:"teamRole"`
	AccessLevel string `json:"accessLevel,omitempty"`
}
