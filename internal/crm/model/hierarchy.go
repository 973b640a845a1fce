package model

import "slices"

// derived is what follows from users, roles and groups. It is found out when somebody
// asks first.
type derived struct {
	subjects   map[string]string   // user by subject
	children   map[string][]string // roles directly below a role
	roleUsers  map[string][]string // users of a role
	groups     map[string][]string // groups of a user, also by role
	members    map[string][]string // users of a group, also by role
	reports    map[string][]string // users whose manager a user is
	restricted map[string]bool     // fields that a permission set names
}

func (m *Model) derive() *derived {
	d := &derived{
		subjects: map[string]string{}, children: map[string][]string{}, roleUsers: map[string][]string{},
		groups: map[string][]string{}, members: map[string][]string{}, reports: map[string][]string{},
		restricted: map[string]bool{},
	}
	for _, u := range m.Users() {
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
	for _, r := range m.Roles() {
		if r.ParentRoleID != "" {
			d.children[r.ParentRoleID] = append(d.children[r.ParentRoleID], r.ID)
		}
	}
	for _, g := range m.Groups() {
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
	for _, v := range m.All(KindPermissionSet) {
		for key := range v.(*PermissionSet).Fields {
			d.restricted[key] = true
		}
	}
	return d
}

// RoleAncestors are the roles above a role, from its parent to the top.
func (m *Model) RoleAncestors(role string) []string {
	var above []string
	for r := m.Role(role); r != nil && r.ParentRoleID != "" && len(above) < m.Count(KindRole); r = m.Role(
		r.ParentRoleID) {
		above = append(above, r.ParentRoleID)
	}
	return above
}

// RoleDescendants are all roles below a role, by distance, then by id.
func (m *Model) RoleDescendants(role string) []string {
	children := m.derived().children
	below := slices.Clone(children[role])
	for i := 0; i < len(below) && len(below) <= m.Count(KindRole); i++ {
		below = append(below, children[below[i]]...)
	}
	return below
}

// UsersOfRole are the users who have exactly this role, active or not, by id.
func (m *Model) UsersOfRole(role string) []string { return m.derived().roleUsers[role] }

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
		return m.UsersOfRole(of.ID)
	case TypeRoleAndSubordinates:
		users := slices.Clone(m.UsersOfRole(of.ID))
		for _, below := range m.RoleDescendants(of.ID) {
			users = append(users, m.UsersOfRole(below)...)
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
