package model

// Op is what is done with records.
type Op string

// The operations.
const (
	CreateOp Op = "create"
	ReadOp   Op = "read"
	UpdateOp Op = "update"
	DeleteOp Op = "delete"
)

// Can reports whether a user may do something with records of an object that it has
// access to. Sharing says which these are.
func (m *Model) Can(user, object string, op Op) bool {
	if m.Object(object) == nil {
		return false
	}
	if m.IsSystem(user) {
		return true
	}
	for _, s := range m.setsOf(user) {
		if s.ModifyAll || s.ViewAll && op == ReadOp || s.Objects[object].allows(op) {
			return true
		}
	}
	return false
}

// ViewAll reports whether a user reads all records, whoever they are shared with.
func (m *Model) ViewAll(user string) bool {
	if m.IsSystem(user) {
		return true
	}
	for _, s := range m.setsOf(user) {
		if s.ViewAll || s.ModifyAll {
			return true
		}
	}
	return false
}

// ModifyAll reports whether a user does everything with all records.
func (m *Model) ModifyAll(user string) bool {
	if m.IsSystem(user) {
		return true
	}
	for _, s := range m.setsOf(user) {
		if s.ModifyAll {
			return true
		}
	}
	return false
}

// Readable reports whether a user sees a field of the records that it reads. A field
// that no permission set names is seen by all who read the object; as soon as one names
// it, only by those to whom a set gives it.
func (m *Model) Readable(user, object, field string) bool {
	return m.Field(object, field) != nil && m.Can(user, object, ReadOp) &&
		m.given(user, FieldKey(object, field), func(p FieldPermission) bool { return p.Read || p.Edit })
}

// Restricted reports whether a permission set names a field, so that only some see it.
func (m *Model) Restricted(object, field string) bool {
	return m.derived().restricted[FieldKey(object, field)]
}

// Editable reports whether a user may write a field of the records that it creates or
// updates. Nobody writes what is read-only.
func (m *Model) Editable(user, object, field string) bool {
	f := m.Field(object, field)
	return f != nil && !f.ReadOnly && (m.Can(user, object, UpdateOp) || m.Can(user, object, CreateOp)) &&
		m.given(user, FieldKey(object, field), func(p FieldPermission) bool { return p.Edit })
}

// given reports whether a field is open, or a set of the user gives it.
func (m *Model) given(user, key string, enough func(FieldPermission) bool) bool {
	if m.IsSystem(user) || !m.derived().restricted[key] {
		return true
	}
	for _, s := range m.setsOf(user) {
		if enough(s.Fields[key]) {
			return true
		}
	}
	return false
}

// setsOf are the permission sets of a user who is active.
func (m *Model) setsOf(user string) []*PermissionSet {
	u := m.User(user)
	if u == nil || !u.IsActive {
		return nil
	}
	sets := make([]*PermissionSet, 0, len(u.PermissionSetIDs))
	for _, id := range u.PermissionSetIDs {
		if s := m.PermissionSet(id); s != nil {
			sets = append(sets, s)
		}
	}
	return sets
}

func (p ObjectPermission) allows(op Op) bool {
	switch op {
	case CreateOp:
		return p.Create
	case ReadOp:
		return p.Read
	case UpdateOp:
		return p.Update
	case DeleteOp:
		return p.Delete
	}
	return false
}
