package events

import "renga.dev/renga/internal/platform/canonical"

// ApprovalSubmitted says that a record was submitted for approval.
type ApprovalSubmitted struct {
	ApprovalInstanceID string          `json:"approvalInstanceId"`
	Target             ApprovalTarget  `json:"target"`
	SubmittedBy        string          `json:"submittedBy"`
	SubmittedAt        canonical.Stamp `json:"submittedAt"`
	LockedFields       []string        `json:"lockedFields"`
	CurrentStageIndex  Count           `json:"currentStageIndex"`
}

// ApprovalDecided says how an approval ended.
type ApprovalDecided struct {
	ApprovalInstanceID string          `json:"approvalInstanceId"`
	Target             ApprovalTarget  `json:"target"`
	Decision           string          `json:"decision"` // APPROVED, REJECTED, RECALLED
	DecidedBy          string          `json:"decidedBy"`
	DecidedAt          canonical.Stamp `json:"decidedAt"`
	Comment            OrNull          `json:"comment"`
	FinalStageIndex    Count           `json:"finalStageIndex"`
}

// ApprovalTarget is the record that is to be approved.
type ApprovalTarget struct {
	ObjectName string `json:"objectName"`
	RecordID   string `json:"recordId"`
}

// SharingUpdated says that another set of users may see a record.
type SharingUpdated struct {
	ObjectName        string          `json:"objectName"`
	RecordID          string          `json:"recordId"`
	ShareModelVersion Count           `json:"shareModelVersion"`
	UpdatedAt         canonical.Stamp `json:"updatedAt"`
}

// TerritoryAssignmentChanged says that a territory was assigned or taken away, or that
// the hierarchy of territories changed.
type TerritoryAssignmentChanged struct {
	// UserAssigned, UserUnassigned, AccountAssigned, AccountUnassigned, TerritoryHierarchyChanged
	ChangeType     string          `json:"changeType"`
	TerritoryID    string          `json:"territoryId"`
	TerritoryName  string          `json:"territoryName"`
	AssignmentType OrNull          `json:"assignmentType"`
	AssignedID     OrNull          `json:"assignedId"`
	EffectiveAt    canonical.Stamp `json:"effectiveAt"`
}

// SharingRebuildCompleted says that the sharing model of an object was rebuilt.
type SharingRebuildCompleted struct {
	RebuildJobID     string          `json:"rebuildJobId"`
	ObjectName       string          `json:"objectName"`
	Scope            string          `json:"scope"` // full, incremental
	OldVersion       Count           `json:"oldVersion"`
	NewVersion       Count           `json:"newVersion"`
	RecordsProcessed Count           `json:"recordsProcessed"`
	CompletedAt      canonical.Stamp `json:"completedAt"`
}

// The types of these events.
func (ApprovalSubmitted) EventType() string          { return "ApprovalSubmitted" }
func (ApprovalDecided) EventType() string            { return "ApprovalDecided" }
func (SharingUpdated) EventType() string             { return "SharingUpdated" }
func (TerritoryAssignmentChanged) EventType() string { return "TerritoryAssignmentChanged" }
func (SharingRebuildCompleted) EventType() string    { return "SharingRebuildCompleted" }
