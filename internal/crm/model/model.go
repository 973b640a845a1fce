package model

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Kind is a kind of definition.
type Kind string

// The kinds.
const (
	KindObject          Kind = "object"           // *Object, by name
	KindField           Kind = "field"            // *Field, by FieldKey
	KindStages          Kind = "stages"           // *Stages, "Opportunity"
	KindPermissionSet   Kind = "permission-set"   // *PermissionSet
	KindUser            Kind = "user"             // *User
	KindRole            Kind = "role"             // *Role
	KindGroup           Kind = "group"            // *Group
	KindOWD             Kind = "owd"              // *Default, by object
	KindSharingRule     Kind = "sharing-rule"     // *SharingRule
	KindTeamRoles       Kind = "team-roles"       // *TeamRoles, by object
	KindValidationRule  Kind = "validation-rule"  // *ValidationRule
	KindWorkflowRule    Kind = "workflow-rule"    // *WorkflowRule
	KindScheduledJob    Kind = "scheduled-job"    // *ScheduledJob
	KindApprovalProcess Kind = "approval-process" // *ApprovalProcess
)

// Kinds are all of them. Each may name only definitions of kinds before it, or its own.
var Kinds = []Kind{
	KindObject, KindField, KindStages, KindPermissionSet, KindRole, KindUser, KindGroup, KindOWD, KindSharingRule,
	KindTeamRoles, KindValidationRule, KindWorkflowRule, KindScheduledJob, KindApprovalProcess,
}

// empty makes an empty definition of each kind.
var empty = map[Kind]func() any{
	KindObject: fresh[Object], KindField: fresh[Field], KindStages: fresh[Stages],
	KindPermissionSet: fresh[PermissionSet], KindUser: fresh[User], KindRole: fresh[Role], KindGroup: fresh[Group],
	KindOWD: fresh[Default], KindSharingRule: fresh[SharingRule], KindTeamRoles: fresh[TeamRoles],
	KindValidationRule: fresh[ValidationRule], KindWorkflowRule: fresh[WorkflowRule],
	KindScheduledJob: fresh[ScheduledJob], KindApprovalProcess: fresh[ApprovalProcess],
}

func fresh[T any]() any { return new(T) }

// New is an empty definition of the kind to decode one into; nil when there is no such
// kind.
func (k Kind) New() any {
	if make := empty[k]; make != nil {
		return make()
	}
	return nil
}

// Definition is one thing that a model is made of.
type Definition struct {
	Kind    Kind
	ID      string
	Version int64 // the revision of its last change; 0: as every tenant has it
	Value   any   // what Kind says, not to be changed; nil in With: it is gone
}

// Model is everything that is defined in a tenant, at one revision. It does not change,
// nor may what it hands out be changed, and it may be used by many at once.
type Model struct {
	Tenant   string
	Revision int64 // how many changes there were

	standard Standard
	system   string // the system user
	kinds    map[Kind]definitions
	objects  []*Object
	derived  func() *derived
}

// definitions is the definitions of one kind.
type definitions struct {
	byID  map[string]Definition
	order func() []string // ids
}

func newDefinitions(byID map[string]Definition) definitions {
	return definitions{byID, sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(byID)) })}
}

// With is the model after some changes, at a revision.
func (m *Model) With(revision int64, changes ...Definition) *Model {
	next := *m
	next.Revision, next.kinds = revision, maps.Clone(m.kinds)
	touched := map[Kind]map[string]Definition{}
	for _, d := range changes {
		if touched[d.Kind] == nil {
			touched[d.Kind] = maps.Clone(m.kinds[d.Kind].byID)
		}
		if d.Value == nil {
			delete(touched[d.Kind], d.ID)
		} else {
			touched[d.Kind][d.ID] = d
		}
	}
	for kind, byID := range touched {
		next.kinds[kind] = newDefinitions(byID)
	}
	if touched[KindObject] != nil || touched[KindField] != nil || touched[KindStages] != nil {
		next.buildObjects()
	}
	next.derived = sync.OnceValue(func() *derived { return derive(&next) })
	return &next
}

// buildObjects puts the objects together: standard fields in their order, custom fields
// by name, and the stages as the values of their field.
func (m *Model) buildObjects() {
	m.objects = nil
	stages := value[Stages](m, KindStages, stageObject).names()
	fields := m.kinds[KindField]
	key := FieldKey(stageObject, stageField)
	if f := value[Field](m, KindField, key); f != nil && !slices.Equal(f.Values, stages) {
		staged, byID := *f, maps.Clone(fields.byID)
		staged.Values = stages
		byID[key] = Definition{KindField, key, max(fields.byID[key].Version,
			m.kinds[KindStages].byID[stageObject].Version), &staged}
		fields = newDefinitions(byID)
		m.kinds[KindField] = fields
	}
	custom := map[string][]Field{}
	for _, id := range fields.order() {
		if f := fields.byID[id].Value.(*Field); f.Custom {
			custom[f.Object] = append(custom[f.Object], *f)
		}
	}
	for _, standard := range standardObjects {
		var all []Field
		for i := range standard.Fields {
			all = append(all, *value[Field](m, KindField, FieldKey(standard.Name, standard.Fields[i].Name)))
		}
		object := value[Object](m, KindObject, standard.Name)
		m.objects = append(m.objects, object.withFields(append(all, custom[standard.Name]...)))
	}
}

// value is a definition of a kind, nil when there is none.
func value[T any](m *Model, kind Kind, id string) *T {
	v, _ := m.kinds[kind].byID[id].Value.(*T)
	return v
}

// Get is a definition by kind and id; ok says that it exists.
func (m *Model) Get(kind Kind, id string) (d Definition, ok bool) {
	d, ok = m.kinds[kind].byID[id]
	return d, ok
}

// List are the definitions of a kind as what they are, by id.
func List[T any](m *Model, kind Kind) []T {
	s := m.kinds[kind]
	if s.order == nil {
		return nil
	}
	all := make([]T, 0, len(s.byID))
	for _, id := range s.order() {
		all = append(all, s.byID[id].Value.(T))
	}
	return all
}

// All are the values of a kind, by id.
func (m *Model) All(kind Kind) []any { return List[any](m, kind) }

// Count is how many definitions of a kind there are.
func (m *Model) Count(kind Kind) int { return len(m.kinds[kind].byID) }

// Objects are all objects, in a fixed order.
func (m *Model) Objects() []*Object { return m.objects }

// ObjectNames are the names of all objects as messages list them.
func (m *Model) ObjectNames() string {
	names := make([]string, len(m.objects))
	for i, o := range m.objects {
		names[i] = o.Name
	}
	return strings.Join(names, ", ")
}

// Object is an object by its name, nil when there is none.
func (m *Model) Object(name string) *Object {
	if at := slices.IndexFunc(m.objects, func(o *Object) bool { return o.Name == name }); at >= 0 {
		return m.objects[at]
	}
	return nil
}

// Field is a field of an object, nil when there is none.
func (m *Model) Field(object, name string) *Field { return m.Object(object).Field(name) }

// Sensitive reports whether the values of a field are kept out of events.
func (m *Model) Sensitive(object, field string) bool {
	f := m.Field(object, field)
	return f != nil && f.Sensitive
}

// User is a user by id, nil when there is none. The system user is one.
func (m *Model) User(id string) *User { return value[User](m, KindUser, id) }

// Role is a role by id, nil when there is none.
func (m *Model) Role(id string) *Role { return value[Role](m, KindRole, id) }

// Group is a group or queue by id, nil when there is none.
func (m *Model) Group(id string) *Group { return value[Group](m, KindGroup, id) }

// PermissionSet is a permission set by id, nil when there is none.
func (m *Model) PermissionSet(id string) *PermissionSet {
	return value[PermissionSet](m, KindPermissionSet, id)
}

// Who is the user that a caller's subject names: its id, or what tokens call it. No
// subject is the system user. nil: nobody.
func (m *Model) Who(subject string) *User {
	if subject == "" {
		return m.User(m.system)
	}
	if u := m.User(strings.ToLower(subject)); u != nil && !m.IsSystem(u.ID) {
		return u
	}
	return m.User(m.derived().subjects[subject])
}

// IsSystem reports whether a user is the tenant's system user.
func (m *Model) IsSystem(user string) bool { return user == m.system }

// Owner reports whether records may be given to somebody: an active user, or a queue.
func (m *Model) Owner(id string) bool {
	if u := m.User(id); u != nil {
		return u.IsActive
	}
	g := m.Group(id)
	return g != nil && g.Type == Queue
}
