package model

// User is somebody who calls.
type User struct {
	ID               string   `json:"id"`
	Name             string   `json:"name"`
	Email            string   `json:"email,omitzero"`
	Subject          string   `json:"subject,omitzero"` // what tokens call the user, beside the id
	RoleID           string   `json:"roleId,omitzero"`
	ManagerID        string   `json:"managerId,omitzero"`        // the user whom this one reports to; "": nobody
	PermissionSetIDs []string `json:"permissionSetIds,omitzero"` // a set, in order
	IsActive         bool     `json:"isActive"`
}

// Role is a place in the hierarchy of roles.
type Role struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	ParentRoleID string `json:"parentRoleId,omitzero"` // "": at the top
}

// GroupType is what a group is for.
type GroupType string

// The types of groups. A queue can own records.
const (
	PublicGroup GroupType = "public"
	Queue       GroupType = "queue"
)

// Group is some users and roles under one name.
type Group struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Type    GroupType `json:"type"`
	Members []Member  `json:"members"` // a set, by type and id
}

// Member is a user, or all users of a role.
type Member struct {
	Type string `json:"type"` // TypeUser, TypeRole
	ID   string `json:"id"`
}

// What an id of a member, of the source or of the target of a sharing rule names.
const (
	TypeUser                = "User"
	TypeRole                = "Role"
	TypeRoleAndSubordinates = "RoleAndSubordinates" // the role and all below it
	TypeGroup               = "Group"
	TypeManager             = "Manager" // the manager of a user; in a step of a process, of OfSubmitter or OfOwner
)

// Whose manager decides in a step of an approval process.
const (
	OfSubmitter = "submitter" // who submits
	OfOwner     = "owner"     // who owns the record when it is submitted
)

// PermissionSet is what those may do whom it is assigned to. What several sets allow
// adds up.
type PermissionSet struct {
	ID          string                      `json:"id"`
	Name        string                      `json:"name"`
	Description string                      `json:"description,omitzero"`
	Objects     map[string]ObjectPermission `json:"objects"`
	Fields      map[string]FieldPermission  `json:"fields"` // by FieldKey
	ViewAll     bool                        `json:"viewAll"`
	ModifyAll   bool                        `json:"modifyAll"`
}

// ObjectPermission is what may be done with records that one has access to.
type ObjectPermission struct {
	Create bool `json:"create"`
	Read   bool `json:"read"`
	Update bool `json:"update"`
	Delete bool `json:"delete"`
}

// FieldPermission is what may be done with a field.
type FieldPermission struct {
	Read bool `json:"read"`
	Edit bool `json:"edit"`
}
