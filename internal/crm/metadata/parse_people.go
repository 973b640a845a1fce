package metadata

import (
	"fmt"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
)

func (p *parser) user() (any, error) {
	if p.m.IsSystem(p.id) {
		return nil, fault.New(fault.Conflict, CodeStandard,
			"the system user belongs to the server and cannot be changed")
	}
	u := model.User{IsActive: true}
	if err := first(p.decode(&u), p.named(&u.ID, u.Name)); err != nil {
		return nil, err
	}
	if u.Email != "" {
		if err := line("email", u.Email, MaxName); err != nil || !strings.Contains(u.Email, "@") {
			return nil, unfit("email", "email must be an address, such as anna@example.com")
		}
	}
	if err := p.subject(&u); err != nil {
		return nil, err
	}
	if u.RoleID != "" && p.m.Role(u.RoleID) == nil {
		return nil, unfit("roleId", "roleId: there is no role %s; create it with PUT /metadata/roles/{id}",
			quoted(u.RoleID))
	}
	if err := p.manager(&u); err != nil {
		return nil, err
	}
	if err := few("permissionSetIds", len(u.PermissionSetIDs), 0, MaxSets); err != nil {
		return nil, err
	}
	if u.PermissionSetIDs = setOf(u.PermissionSetIDs, strings.Compare); len(u.PermissionSetIDs) == 0 {
		u.PermissionSetIDs = nil
	}
	for _, id := range u.PermissionSetIDs {
		if p.m.PermissionSet(id) == nil {
			return nil, unfit("permissionSetIds",
				"permissionSetIds: there is no permission set %s; create it with PUT /metadata/permission-sets/{id}",
				quoted(id))
		}
	}
	return &u, nil
}

// subject checks what tokens call a user: nobody else may be meant by it.
func (p *parser) subject(u *model.User) error {
	if u.Subject == "" {
		return nil
	}
	if len(u.Subject) > MaxSubject || strings.ContainsFunc(u.Subject, control) {
		return unfit("subject", "subject must be at most %d bytes on one line", MaxSubject)
	}
	if other := p.m.Who(u.Subject); other != nil && other.ID != u.ID {
		return unfit("subject", "subject is that of the user %s already", other.ID)
	}
	if model.ValidID(strings.ToLower(u.Subject)) && strings.ToLower(u.Subject) != u.ID {
		return unfit("subject", "subject must not look like the id of another user")
	}
	return nil
}

// manager checks whom a user reports to: somebody who is there, and does not report to the
// user, however far up.
func (p *parser) manager(u *model.User) error {
	if u.ManagerID == "" {
		return nil
	}
	if u.ManagerID != u.ID && p.m.User(u.ManagerID) == nil {
		return unfit("managerId", "managerId: there is no user %s; create it with PUT /metadata/users/{id}",
			quoted(u.ManagerID))
	}
	if p.m.IsSystem(u.ManagerID) {
		return unfit("managerId", "managerId: the system user is nobody's manager")
	}
	path, ids := circle(u.ID, u.Name, u.ManagerID, func(id string) (name, above string, ok bool) {
		if m := p.m.User(id); m != nil {
			return m.Name, m.ManagerID, true
		}
		return "", "", false
	})
	if path == "" {
		return nil
	}
	return fault.New(fault.Invalid, CodeManagerCycle, "managerId would make the user its own manager: %s", path).
		With(map[string]any{"field": "managerId", "path": ids})
}

// circle is the path from somebody up to itself, as names and as ids; "" when there is none. of is
// somebody who is there already, and who is above.
func circle(id, name, above string, of func(id string) (name, above string, ok bool)) (path string, ids []string) {
	names, ids := []string{name}, []string{id}
	for at := above; at != ""; {
		ids = append(ids, at)
		if at == id {
			return strings.Join(append(names, name), " → "), ids
		}
		next, up, ok := of(at)
		if !ok {
			break
		}
		names, at = append(names, next), up
	}
	return "", nil
}

func (p *parser) role() (any, error) {
	var r model.Role
	if err := first(p.decode(&r), p.named(&r.ID, r.Name)); err != nil {
		return nil, err
	}
	if r.ParentRoleID == "" {
		return &r, nil
	}
	if r.ParentRoleID != r.ID && p.m.Role(r.ParentRoleID) == nil {
		return nil, unfit("parentRoleId", "parentRoleId: there is no role %s; create it with PUT /metadata/roles/{id}",
			quoted(r.ParentRoleID))
	}
	path, ids := circle(r.ID, r.Name, r.ParentRoleID, func(id string) (name, above string, ok bool) {
		if r := p.m.Role(id); r != nil {
			return r.Name, r.ParentRoleID, true
		}
		return "", "", false
	})
	if path == "" {
		return &r, nil
	}
	return nil, fault.New(fault.Invalid, CodeCycle, "parentRoleId would put the role above itself: %s", path).
		With(map[string]any{"field": "parentRoleId", "path": ids})
}

func (p *parser) group() (any, error) {
	g := model.Group{Members: []model.Member{}}
	if err := first(p.decode(&g), p.named(&g.ID, g.Name), oneOf("type", string(g.Type), string(model.PublicGroup),
		string(model.Queue))); err != nil {
		return nil, err
	}
	if was := p.m.Group(g.ID); was != nil && was.Type != g.Type {
		return nil, unfit("type", "type is %s and cannot be changed; delete the group and define another", was.Type)
	}
	if err := few("members", len(g.Members), 0, MaxMembers); err != nil {
		return nil, err
	}
	for i, member := range g.Members {
		if err := p.member(fmt.Sprintf("members[%d]", i), member, model.TypeUser, model.TypeRole); err != nil {
			return nil, err
		}
	}
	g.Members = setOf(g.Members, byMember)
	return &g, nil
}

func (p *parser) permissionSet() (any, error) {
	s := model.PermissionSet{Objects: map[string]model.ObjectPermission{}, Fields: map[string]model.FieldPermission{}}
	if err := first(p.decode(&s), p.named(&s.ID, s.Name), words("description", s.Description,
		MaxDescription)); err != nil {
		return nil, err
	}
	for _, name := range sorted(s.Objects) {
		at := "objects." + name
		if p.m.Object(name) == nil {
			return nil, unfit(at, "objects: %s is not an object; the objects are %s", quoted(name), p.m.ObjectNames())
		}
		if o := s.Objects[name]; !o.Read && (o.Create || o.Update || o.Delete) {
			return nil, unfit(at, "%s: who may create, update or delete must be allowed to read", at)
		}
	}
	for _, key := range sorted(s.Fields) {
		at := "fields." + key
		object, name, _ := strings.Cut(key, ".")
		f := p.m.Field(object, name)
		switch of := s.Fields[key]; {
		case f == nil:
			return nil, unfit(at, "fields: %s is not a field; a field is named with its object, such as "+
				"Opportunity.Amount", quoted(key))
		case f.Required:
			return nil, unfit(at, "%s is required, so all who use the object have it; take it out of fields", at)
		case of.Edit && !of.Read:
			return nil, unfit(at, "%s: who may edit must be allowed to read", at)
		case of.Edit && f.ReadOnly:
			return nil, unfit(at, "%s is read-only; nobody can be allowed to edit it", at)
		}
	}
	return &s, nil
}

// noSuch says that a definition does not exist.
func noSuch(kind model.Kind, id string) *fault.Error {
	return fault.New(fault.NotFound, CodeNotFound, "there is no %s %s", strings.ReplaceAll(string(kind), "-", " "),
		quoted(id))
}

// invalidObject says that an object does not exist.
func invalidObject(m *model.Model, name string) *fault.Error {
	return fault.New(fault.NotFound, CodeNotFound, "there is no object %s; the objects are %s", quoted(name),
		m.ObjectNames())
}
