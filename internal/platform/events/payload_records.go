package events

import (
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
)

// RecordCreated says that a record was created.
type RecordCreated struct {
	ObjectName    string                    `json:"objectName"`
	RecordID      string                    `json:"recordId"`
	OwnerID       string                    `json:"ownerId"`
	Fields        map[string]jsontext.Value `json:"fields"`
	ChangedFields []string                  `json:"changedFields"`
	RecordVersion canonical.Stamp           `json:"recordVersion"`
}

// RecordUpdated says that a record was changed, and to what, after all synchronous
// automation.
type RecordUpdated struct {
	ObjectName    string                 `json:"objectName"`
	RecordID      string                 `json:"recordId"`
	OwnerID       string                 `json:"ownerId"`
	ChangedFields []string               `json:"changedFields"`
	FieldChanges  map[string]FieldChange `json:"fieldChanges,omitzero"`
	RecordVersion canonical.Stamp        `json:"recordVersion"`
}

// FieldChange is the value of a field before and after, each any JSON value.
type FieldChange struct {
	Old jsontext.Value `json:"old"`
	New jsontext.Value `json:"new"`
}

// RecordDeleted says that a record was deleted.
type RecordDeleted struct {
	ObjectName    string          `json:"objectName"`
	RecordID      string          `json:"recordId"`
	Deleted       bool            `json:"deleted"` // always true
	RecordVersion canonical.Stamp `json:"recordVersion"`
}

// OwnerChanged says that a record has another owner. It comes beside RecordUpdated.
type OwnerChanged struct {
	ObjectName    string          `json:"objectName"`
	RecordID      string          `json:"recordId"`
	OldOwnerID    string          `json:"oldOwnerId"`
	NewOwnerID    string          `json:"newOwnerId"`
	RecordVersion canonical.Stamp `json:"recordVersion"`
}

// StageChanged says that an opportunity moved to another stage. It comes beside
// RecordUpdated.
type StageChanged struct {
	OpportunityID string          `json:"opportunityId"`
	AccountID     OrNull          `json:"accountId"`
	OldStageName  string          `json:"oldStageName"`
	NewStageName  string          `json:"newStageName"`
	OldIsClosed   bool            `json:"oldIsClosed"`
	NewIsClosed   bool            `json:"newIsClosed"`
	OldIsWon      bool            `json:"oldIsWon"`
	NewIsWon      bool            `json:"newIsWon"`
	CloseDate     OrNull          `json:"closeDate"`
	RecordVersion canonical.Stamp `json:"recordVersion"`
}

// LeadConverted says that a lead became an account and a contact, and an opportunity
// if one was wanted.
type LeadConverted struct {
	LeadID        string          `json:"leadId"`
	ConvertedAt   canonical.Stamp `json:"convertedAt"`
	ConvertedBy   string          `json:"convertedBy"`
	AccountID     string          `json:"accountId"`
	ContactID     string          `json:"contactId"`
	OpportunityID OrNull          `json:"opportunityId"`
	RecordVersion canonical.Stamp `json:"recordVersion"`
}

// TeamMemberChanged says that the team of an opportunity or an account changed.
type TeamMemberChanged struct {
	ChangeType  string          `json:"changeType"` // MemberAdded, MemberUpdated, MemberRemoved
	ObjectName  string          `json:"objectName"`
	RecordID    string          `json:"recordId"`
	UserID      string          `json:"userId"`
	TeamRole    string          `json:"teamRole"`
	AccessLevel string          `json:"accessLevel"`
	EffectiveAt canonical.Stamp `json:"effectiveAt"`
}

// CampaignMemberChanged says that a member of a campaign changed.
type CampaignMemberChanged struct {
	// MemberAdded, MemberUpdated, MemberRemoved, StatusChanged, Responded
	ChangeType    string          `json:"changeType"`
	CampaignID    string          `json:"campaignId"`
	CampaignName  string          `json:"campaignName"`
	MemberType    string          `json:"memberType"`
	MemberID      string          `json:"memberId"`
	MemberStatus  string          `json:"memberStatus"`
	HasResponded  bool            `json:"hasResponded"`
	RecordVersion canonical.Stamp `json:"recordVersion"`
}

// The types of these events.
func (RecordCreated) EventType() string         { return "RecordCreated" }
func (RecordUpdated) EventType() string         { return "RecordUpdated" }
func (RecordDeleted) EventType() string         { return "RecordDeleted" }
func (OwnerChanged) EventType() string          { return "OwnerChanged" }
func (StageChanged) EventType() string          { return "StageChanged" }
func (LeadConverted) EventType() string         { return "LeadConverted" }
func (TeamMemberChanged) EventType() string     { return "TeamMemberChanged" }
func (CampaignMemberChanged) EventType() string { return "CampaignMemberChanged" }
