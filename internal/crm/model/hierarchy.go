package model

import (
	"slices"
	"strings"
)

// derived is what follows from the definitions. It is found out when somebody asks first.
type derived struct {
	subjects   map[string]string   // user by subject
	children   map[string][]string // roles directly below a role
	roleUsers  map[string][]string // users of a role
	groups     map[string][]string // groups of a user, also by role
	members    map[string][]string // users of a group, also by role
	reports    map[string][]string // users whose manager a user is
	restricted map[[2]string]bool  // objects and fields that a permission set names

	validation map[string][]*ValidationRule // active ones by object
	workflow   map[string][]*WorkflowRule   // by object and when
}

func derive(m *Model) *derived {
	d := &derived{
		subjects: map[string]string{}, children: map[string][]string{}, roleUsers: map[string][]string{},
		groups: map[string][]string{}, members: map[string][]string{}, reports: map[string][]string{},
		restricted: map[[2]string]bool{},
		validation: active(m, KindValidationRule, func(r *ValidationRule) (string, string, bool) {
			return r.Object, r.Name, r.IsActive
		}),
		workflow: active(m, KindWorkflowRule, func(r *WorkflowRule) (string, string, bool) {
			return r.Object + " " + r.When, r.Name, r.IsActive
		}),
	}
	for _, u := range List[*User](m, KindUser) {
		if u.Subject != "" {
			d.subjects[u.Subject] = u.ID
		}
		if u.RoleID != "" {
			d.roleUsers[u.RoleID] = append(d.roleUsers[u.RoleID], u.ID)
		}
		if u.ManagerID != "" {
			d.reports[u.ManagerID] = append(d.reports[u.ManagerID], u.ID)
		}
	}
	for _, r := range List[*Role](m, KindRole) {
		if r.ParentRoleID != "" {
			d.children[r.ParentRoleID] = append(d.children[r.ParentRoleID], r.ID)
		}
	}
	for _, g := range List[*Group](m, KindGroup) {
		var users []string
		for _, member := range g.Members {
			if member.Type == TypeRole {
				users = append(users, d.roleUsers[member.ID]...)
			} else {
				users = append(users, member.ID)
			}
		}
		slices.Sort(users)
		users = slices.Compact(users)
		d.members[g.ID] = users
		for _, user := range users {
			d.groups[user] = append(d.groups[user], g.ID)
		}
	}
	for _, set := range List[*PermissionSet](m, KindPermissionSet) {
		for key := range set.Fields {
			object, field, _ := strings.Cut(key, ".")
			d.restricted[[2]string{object, field}] = true
		}
	}
	return d
}

// RoleAncestors are the roles above a role, from its parent to the top.
func (m *Model) RoleAncestors(role string) []string {
	var above []string
	for r := m.Role(role); r != nil && r.ParentRoleID != "" && len(above) < m.Count(KindRole); {
		above = append(above, r.ParentRoleID)
		r = m.Role(r.ParentRoleID)
	}
	return above
}

// rolesBelow are all roles below a role, by distance, then by id.
func (m *Model) rolesBelow(role string) []string {
	children := m.derived().children
	below := slices.Clone(children[role])
	for i := 0; i < len(below) && len(below) <= m.Count(KindRole); i++ {
		below = append(below, children[below[i]]...)
	}
	return below
}

// GroupsOf are the groups and queues that a user is in, by itself or by its role, by id.
func (m *Model) GroupsOf(user string) []string { return m.derived().groups[user] }

// MembersOf are the users of a group or queue, those of its roles among them, by id.
func (m *Model) MembersOf(group string) []string { return m.derived().members[group] }

// ReportsOf are the users whose manager a user is, active or not, by id.
func (m *Model) ReportsOf(user string) []string { return m.derived().reports[user] }

// Resolve are the users that a member, or the source or target of a rule, stands for, by
// id, active or not.
func (m *Model) Resolve(of Member) []string {
	switch of.Type {
	case TypeUser:
		if m.User(of.ID) != nil {
			return []string{of.ID}
		}
	case TypeRole:
		return m.derived().roleUsers[of.ID]
	case TypeRoleAndSubordinates:
		users := slices.Clone(m.derived().roleUsers[of.ID])
		for _, below := range m.rolesBelow(of.ID) {
			users = append(users, m.derived().roleUsers[below]...)
		}
		slices.Sort(users)
		return users
	case TypeGroup:
		return m.MembersOf(of.ID)
	case TypeManager:
		if u := m.User(of.ID); u != nil && m.User(u.ManagerID) != nil {
			return []string{u.ManagerID}
		}
	}
	return nil
}
