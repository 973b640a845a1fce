package events

import "renga.dev/renga/internal/platform/canonical"

// MetadataChanged says that the definition of an object changed.
type MetadataChanged struct {
	ChangeType  string          `json:"changeType"`
	ObjectName  string          `json:"objectName"`
	ResourceID  string          `json:"resourceId"`
	EffectiveAt canonical.Stamp `json:"effectiveAt"`
}

// PermissionChanged says that what a subject may do changed.
type PermissionChanged struct {
	ChangeType  string            `json:"changeType"`
	Subject     PermissionSubject `json:"subject"`
	EffectiveAt canonical.Stamp   `json:"effectiveAt"`
}

// PermissionSubject is whose permissions they are.
type PermissionSubject struct {
	Type string `json:"type"` // such as User
	ID   string `json:"id"`
}

// RoleHierarchyChanged says that a role, or its place among the roles, changed.
type RoleHierarchyChanged struct {
	ChangeType   string          `json:"changeType"` // RoleCreated, RoleUpdated, RoleDeleted, ParentChanged
	RoleID       string          `json:"roleId"`
	RoleName     string          `json:"roleName"`
	ParentRoleID OrNull          `json:"parentRoleId"`
	EffectiveAt  canonical.Stamp `json:"effectiveAt"`
}

// GroupMemberChanged says that a public group or a queue got or lost a member.
type GroupMemberChanged struct {
	ChangeType  string          `json:"changeType"` // MemberAdded, MemberRemoved
	GroupID     string          `json:"groupId"`
	GroupName   string          `json:"groupName"`
	GroupType   string          `json:"groupType"`
	MemberType  string          `json:"memberType"`
	MemberID    string          `json:"memberId"`
	EffectiveAt canonical.Stamp `json:"effectiveAt"`
}

// SharingConfigChanged says that the sharing settings of an object changed.
type SharingConfigChanged struct {
	// OWDChanged, ShareRuleCreated, ShareRuleUpdated, ShareRuleDeleted, TeamRoleSettingChanged
	ChangeType  string          `json:"changeType"`
	ObjectName  string          `json:"objectName"`
	OldOWD      string          `json:"oldOWD,omitzero"`
	NewOWD      string          `json:"newOWD,omitzero"`
	ResourceID  string          `json:"resourceId,omitzero"`
	EffectiveAt canonical.Stamp `json:"effectiveAt"`
}

// AutomationConfigChanged says that a validation rule, a workflow rule or a scheduled
// job changed.
type AutomationConfigChanged struct {
	// {ValidationRule,WorkflowRule,ScheduledJob}{Created,Updated,Deleted}
	ChangeType     string          `json:"changeType"`
	ObjectName     OrNull          `json:"objectName"`
	AutomationType string          `json:"automationType"`
	AutomationID   string          `json:"automationId"`
	AutomationName string          `json:"automationName"`
	IsActive       bool            `json:"isActive"`
	EffectiveAt    canonical.Stamp `json:"effectiveAt"`
}

// ApprovalConfigChanged says that an approval process or a step of it changed.
type ApprovalConfigChanged struct {
	// ProcessCreated, ProcessUpdated, ProcessDeleted, ProcessActivated, ProcessDeactivated
	ChangeType  string          `json:"changeType"`
	ObjectName  string          `json:"objectName"`
	ProcessID   string          `json:"processId"`
	ProcessName string          `json:"processName"`
	IsActive    bool            `json:"isActive"`
	EffectiveAt canonical.Stamp `json:"effectiveAt"`
}

// The types of these events.
func (MetadataChanged) EventType() string         { return "MetadataChanged" }
func (PermissionChanged) EventType() string       { return "PermissionChanged" }
func (RoleHierarchyChanged) EventType() string    { return "RoleHierarchyChanged" }
func (GroupMemberChanged) EventType() string      { return "GroupMemberChanged" }
func (SharingConfigChanged) EventType() string    { return "SharingConfigChanged" }
func (AutomationConfigChanged) EventType() string { return "AutomationConfigChanged" }
func (ApprovalConfigChanged) EventType() string   { return "ApprovalConfigChanged" }
