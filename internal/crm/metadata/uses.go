package metadata

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
)

// use is a definition that needs another.
type use struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

// maxUses is how many of them a refusal names.
const maxUses = 10

// deletable refuses to take away what does not exist, what every tenant has, and what
// others need.
func deletable(m *model.Model, kind model.Kind, id string) error {
	if _, was := m.Get(kind, id); !was {
		return noSuch(kind, id)
	}
	object, name, _ := strings.Cut(id, ".")
	switch {
	case kind == model.KindUser && m.IsSystem(id):
		return fault.New(fault.Conflict, CodeStandard, "the system user belongs to the server and cannot be deleted")
	case kind == model.KindField && model.StandardField(object, name) != nil:
		return fault.New(fault.Conflict, CodeStandard, "%s is a standard field and cannot be deleted", id)
	}
	return refuseUsed(usesOf(m, kind, id), the(kind))
}

// the is a kind as messages name it.
func the(kind model.Kind) string { return "the " + strings.ReplaceAll(string(kind), "-", " ") }

// refuseUsed refuses to take away what some definitions need, if there are any.
func refuseUsed(uses []use, what string) error {
	if len(uses) == 0 {
		return nil
	}
	shown := uses[:min(len(uses), maxUses)]
	texts := make([]string, len(shown))
	for i, u := range shown {
		texts[i] = fmt.Sprintf("%s %s (%s)", strings.ReplaceAll(u.Kind, "-", " "), u.Name, u.ID)
	}
	return fault.New(fault.Conflict, CodeInUse, "%s is used by %s; change or delete that first", what,
		strings.Join(texts, ", ")).
		With(map[string]any{"usedBy": shown, "total": len(uses)})
}

// checkWritten refuses to take values away from a picklist that rules, jobs and processes
// write: they could not be carried out any more. Records keep such values.
func checkWritten(m *model.Model, object, field string, was, now []string) error {
	gone := slices.DeleteFunc(slices.Clone(was), func(value string) bool { return slices.Contains(now, value) })
	if len(gone) == 0 {
		return nil
	}
	return refuseUsed(writersOf(m, object, field, gone), "what is left out of the values of "+model.FieldKey(object,
		field))
}

// writersOf are the definitions that write one of some texts into a field.
func writersOf(m *model.Model, object, field string, texts []string) (uses []use) {
	is := func(value jsontext.Value) bool {
		text, err := jsontext.AppendUnquote(nil, value)
		return err == nil && slices.Contains(texts, string(text))
	}
	acts := func(a model.Action) bool { return a.Field == field && is(a.Value) }
	note := func(by model.Kind, id, name, of string, writes bool) {
		if of == object && writes {
			uses = append(uses, use{string(by), id, name})
		}
	}
	for _, by := range []model.Kind{model.KindWorkflowRule, model.KindScheduledJob, model.KindApprovalProcess} {
		for _, v := range m.All(by) {
			switch v := v.(type) {
			case *model.WorkflowRule:
				note(by, v.ID, v.Name, v.Object, slices.ContainsFunc(v.Actions, acts))
			case *model.ScheduledJob:
				note(by, v.ID, v.Name, v.Object, slices.ContainsFunc(v.Actions, acts))
			case *model.ApprovalProcess:
				ends := []jsontext.Value{v.OnApproved[field], v.OnRejected[field], v.OnRecalled[field]}
				note(by, v.ID, v.Name, v.Object, slices.ContainsFunc(ends, is))
			}
		}
	}
	return uses
}

// stored is records that need a definition. Name is that of their object: whoever defines may
// not know what a record is called.
type stored struct {
	Kind string `json:"kind"` // "record"
	Name string `json:"name"`
	model.Use
}

// refuseStored refuses to take away what records need, if there are any.
func refuseStored(m *model.Model, uses []model.Use, what string) error {
	if len(uses) == 0 {
		return nil
	}
	texts, by, total := make([]string, len(uses)), make([]stored, len(uses)), int64(0)
	for i, u := range uses {
		records := "records"
		if u.Count == 1 {
			records = "record"
		}
		texts[i] = fmt.Sprintf("%d %s of %s (%s)", u.Count, records, u.Object, u.ID)
		by[i] = stored{"record", m.Object(u.Object).PluralLabel, u}
		total += u.Count
	}
	return fault.New(fault.Conflict, CodeInUse, "%s is used by %s; change or delete that first", what,
		strings.Join(texts, ", ")).
		With(map[string]any{"usedBy": by, "total": total})
}

// usesOf are the definitions that need one, by kind and id.
func usesOf(m *model.Model, kind model.Kind, id string) (uses []use) {
	note := func(by model.Kind, id, name string, needs bool) {
		if needs {
			uses = append(uses, use{string(by), id, name})
		}
	}
	meant := func(of model.Member) bool {
		return of.ID == id && (of.Type == model.TypeUser && kind == model.KindUser || of.Type == model.TypeGroup &&
			kind == model.KindGroup ||
			(of.Type == model.TypeRole || of.Type == model.TypeRoleAndSubordinates) && kind == model.KindRole)
	}
	for _, by := range model.Kinds {
		for _, v := range m.All(by) {
			switch v := v.(type) {
			case *model.User:
				note(by, v.ID, v.Name, kind == model.KindRole && v.RoleID == id || kind == model.KindUser &&
					v.ManagerID == id || kind == model.KindPermissionSet && slices.Contains(v.PermissionSetIDs, id))
			case *model.Role:
				note(by, v.ID, v.Name, kind == model.KindRole && v.ParentRoleID == id)
			case *model.Group:
				note(by, v.ID, v.Name, slices.ContainsFunc(v.Members, meant))
			case *model.PermissionSet:
				_, named := v.Fields[id]
				note(by, v.ID, v.Name, kind == model.KindField && named)
			case *model.SharingRule:
				note(by, v.ID, v.Name, meant(v.Target) || v.Source != nil && meant(*v.Source) ||
					names(kind, id, v.Object, nil, v.Criteria))
			case *model.ValidationRule:
				note(by, v.ID, v.Name, names(kind, id, v.Object, []string{v.Field}, v.Condition))
			case *model.WorkflowRule:
				note(by, v.ID, v.Name, names(kind, id, v.Object, written(v.Actions), v.Condition) ||
					addressed(v.Actions, meant))
			case *model.ScheduledJob:
				note(by, v.ID, v.Name, names(kind, id, v.Object, written(v.Actions), v.Condition) ||
					addressed(v.Actions, meant))
			case *model.ApprovalProcess:
				note(by, v.ID, v.Name, processNeeds(v, kind, id, meant))
			}
		}
	}
	return uses
}

func processNeeds(p *model.ApprovalProcess, kind model.Kind, id string, meant func(model.Member) bool) bool {
	conditions := []string{p.Condition}
	for _, s := range p.Steps {
		if conditions = append(conditions, s.Condition); slices.ContainsFunc(s.Approvers, meant) {
			return true
		}
	}
	fields := slices.Clone(p.LockedFields)
	for _, written := range p.Each() {
		fields = slices.AppendSeq(fields, maps.Keys(*written))
	}
	return names(kind, id, p.Object, fields, conditions...)
}

// names reports whether a definition of an object names a field, in a list or in a
// condition.
func names(kind model.Kind, id, object string, fields []string, conditions ...string) bool {
	of, field, _ := strings.Cut(id, ".")
	return kind == model.KindField && of == object &&
		(slices.Contains(fields, field) || slices.ContainsFunc(conditions, func(src string) bool {
			return model.Uses(src, field)
		}))
}

// written are the fields that actions write.
func written(actions []model.Action) (fields []string) {
	for _, a := range actions {
		fields = append(fields, a.Field)
	}
	return fields
}

// addressed reports whether an action is for somebody.
func addressed(actions []model.Action, meant func(model.Member) bool) bool {
	return slices.ContainsFunc(actions, func(a model.Action) bool { return a.To != nil && meant(*a.To) })
}
