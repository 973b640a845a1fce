package model

import (
	"cmp"
	"slices"
)

// active are the active ones of a kind of rules by a key, each list by name, then
// by id. of is the key and the name of one.
func active[T any](m *Model, kind Kind, of func(T) (key, name string, isActive bool)) map[string][]T {
	all := map[string][]T{}
	for _, rule := range List[T](m, kind) {
		if key, _, isActive := of(rule); isActive {
			all[key] = append(all[key], rule)
		}
	}
	for _, rules := range all {
		slices.SortStableFunc(rules, func(a, b T) int {
			_, left, _ := of(a)
			_, right, _ := of(b)
			return cmp.Compare(left, right)
		})
	}
	return all
}

// ValidationRules are the active ones of an object, by name.
func (m *Model) ValidationRules(object string) []*ValidationRule {
	return m.derived().validation[object]
}

// WorkflowRules are the active ones of an object that act BeforeSave or AfterSave, by
// name.
func (m *Model) WorkflowRules(object, when string) []*WorkflowRule {
	return m.derived().workflow[object+" "+when]
}

// Draft is a record that is about to be saved, or was, and what it was before.
type Draft struct {
	Object  *Object
	ID      string
	OwnerID string
	Fields  map[string]any
	Old     *Record // nil: the record is new
}

// Vars is what conditions see of it.
func (d *Draft) Vars() map[string]any {
	vars := map[string]any{"record": d.Object.Vars(d.ID, d.OwnerID, d.Fields), "old": nil}
	if d.Old != nil {
		vars["old"] = d.Object.Vars(d.Old.ID, d.Old.OwnerID, d.Old.Fields)
	}
	return vars
}
