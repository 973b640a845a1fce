package model

import "slices"

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
	return m.Object(object) != nil && m.allowed(user, func(s *PermissionSet) bool {
		return s.ModifyAll || s.ViewAll && op == ReadOp || s.Objects[object].allows(op)
	})
}

// ViewAll reports whether a user reads all records, whoever they are shared with.
func (m *Model) ViewAll(user string) bool {
	return m.allowed(user, func(s *PermissionSet) bool { return s.ViewAll || s.ModifyAll })
}

// ModifyAll reports whether a user does everything with all records.
func (m *Model) ModifyAll(user string) bool {
	return m.allowed(user, func(s *PermissionSet) bool { return s.ModifyAll })
}

// allowed reports whether a permission set of an active user allows something. The system
// user may do everything.
func (m *Model) allowed(user string, by func(*PermissionSet) bool) bool {
	if m.IsSystem(user) {
		return true
	}
	u := m.User(user)
	return u != nil && u.IsActive && slices.ContainsFunc(u.PermissionSetIDs, func(id string) bool {
		s := m.PermissionSet(id)
		return s != nil && by(s)
	})
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

// Restricted reports whether a permission set names a field, so that only some see it.
func (m *Model) Restricted(object, field string) bool {
	return m.derived().restricted[[2]string{object, field}]
}

// View is an object as one user may see it. A view of nothing lets nobody do anything.
type View struct {
	*Object
	May      ObjectPermission // with records that the user has access to
	Readable []*Field         // what the user reads of them, in the order of the fields
	fields   []FieldPermission
}

// View is an object as a user may see it: the one place where field permission is decided.
// A field that no permission set names is read by all who read the object, and written by
// all who create or update its records; as soon as a set names it, only by those to whom a
// set gives it. Nobody writes what is read-only.
func (m *Model) View(user, object string) *View {
	o := m.Object(object)
	if o == nil {
		return &View{}
	}
	v := &View{Object: o, fields: make([]FieldPermission, len(o.Fields)), May: ObjectPermission{
		Create: m.Can(user, object, CreateOp), Read: m.Can(user, object, ReadOp),
		Update: m.Can(user, object, UpdateOp), Delete: m.Can(user, object, DeleteOp),
	}}
	for i := range o.Fields {
		p := FieldPermission{Read: v.May.Read, Edit: (v.May.Create || v.May.Update) && !o.Fields[i].ReadOnly}
		if name := o.Fields[i].Name; m.Restricted(object, name) {
			key := FieldKey(object, name)
			p.Edit = p.Edit && m.allowed(user, func(s *PermissionSet) bool { return s.Fields[key].Edit })
			p.Read = p.Read && m.allowed(user, func(s *PermissionSet) bool {
				return s.Fields[key].Read || s.Fields[key].Edit
			})
		}
		if v.fields[i] = p; p.Read {
			v.Readable = append(v.Readable, &o.Fields[i])
		}
	}
	return v
}

// permission is what the user may do with a field; nothing with one that does not exist.
func (v *View) permission(field string) FieldPermission {
	if v.Object == nil {
		return FieldPermission{}
	}
	i, ok := v.places[field]
	if !ok {
		return FieldPermission{}
	}
	return v.fields[i]
}

// Reads reports whether the user sees a field of the records that it reads.
func (v *View) Reads(field string) bool { return v.permission(field).Read }

// Edits reports whether the user may write a field of the records that it creates or updates.
func (v *View) Edits(field string) bool { return v.permission(field).Edit }

// Shows reports whether the user sees a field whose values may leave the record, too: it is
// not sensitive.
func (v *View) Shows(field string) bool { return v.Reads(field) && !v.Field(field).Sensitive }
