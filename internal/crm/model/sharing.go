package model

import "slices"

// Access is how much of a record somebody may.
type Access string

// The levels, each with what is before it.
const (
	NoAccess Access = ""
	Read     Access = "Read"
	Edit     Access = "Edit"
)

// OWD is what everybody may do with all records of an object: the organization-wide
// default.
type OWD string

// The defaults.
const (
	Private   OWD = "Private"
	ReadOnly  OWD = "ReadOnly"
	ReadWrite OWD = "ReadWrite"
)

// Access is the access that everybody has.
func (o OWD) Access() Access {
	switch o {
	case ReadOnly:
		return Read
	case ReadWrite:
		return Edit
	}
	return NoAccess
}

// Default is the organization-wide default of an object.
type Default struct {
	Object string `json:"object"`
	Access OWD    `json:"access"`
}

// The kinds of sharing rules.
const (
	OwnerRule    = "owner"    // records of certain owners
	CriteriaRule = "criteria" // records of which an expression is true
)

// SharingRule gives access to some records of an object.
type SharingRule struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Object   string  `json:"object"`
	Kind     string  `json:"kind"`
	Source   *Member `json:"source,omitzero"`   // of an owner rule: TypeRole, TypeRoleAndSubordinates or TypeGroup
	Criteria string  `json:"criteria,omitzero"` // of a criteria rule: CEL over record
	Target   Member  `json:"target"`            // TypeUser, TypeRole, TypeRoleAndSubordinates or TypeGroup
	Access   Access  `json:"access"`
	IsActive bool    `json:"isActive"`
}

// TeamRoles are the roles that members of an object's teams may have.
type TeamRoles struct {
	Object string     `json:"object"`
	Roles  []TeamRole `json:"roles"`
}

// TeamRole is one of them, with the access of a member for whom none is named.
type TeamRole struct {
	Name   string `json:"name"`
	Access Access `json:"access"`
}

// TeamObjects are the objects whose records have teams.
var TeamObjects = []string{"Account", "Opportunity"}

// standardTeamRoles are those of a tenant that has defined none.
var standardTeamRoles = []TeamRole{
	{"Account Manager", Edit},
	{"Channel Manager", Read},
	{"Executive Sponsor", Read},
	{"Lead Qualifier", Read},
	{"Pre-Sales Consultant", Read},
	{"Sales Manager", Edit},
	{"Sales Rep", Edit},
}

// OWD is the default of an object, Private unless another was defined.
func (m *Model) OWD(object string) OWD {
	if d := value[Default](m, KindOWD, object); d != nil {
		return d.Access
	}
	return Private
}

// TeamRoles are the roles of an object's teams; none where records have no teams.
func (m *Model) TeamRoles(object string) []TeamRole {
	if t := value[TeamRoles](m, KindTeamRoles, object); t != nil {
		return t.Roles
	}
	return nil
}

// TeamRole is a role of an object's teams by its name, nil when there is none.
func (m *Model) TeamRole(object, name string) *TeamRole {
	roles := m.TeamRoles(object)
	if at := slices.IndexFunc(roles, func(r TeamRole) bool { return r.Name == name }); at >= 0 {
		return &roles[at]
	}
	return nil
}

// SharingRules are all rules of an object, active or not, by id.
func (m *Model) SharingRules(object string) []*SharingRule {
	return slices.DeleteFunc(List[*SharingRule](m, KindSharingRule), func(r *SharingRule) bool {
		return r.Object != object
	})
}

// Seen is which records of an object a user may read, for whoever keeps counts by owner.
type Seen struct {
	All    bool   // all of them; there is nothing else to ask
	Owners string // in SQL, a query of owners: all their records
	// Records is a query of the ids of more records, of other owners, some perhaps twice; "":
	// there are none.
	Records string
}
