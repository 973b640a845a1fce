package records

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// parentField names the record above another one of its object.
const parentField = "ParentId"

// maxLevels is how many records may be above one that is put above another.
const maxLevels = 100

// newParents are the records that updates, and rules that act before them, put above
// others. New records have nothing below them.
func (k *batch) newParents(ops []Op) (ids []string) {
	f := k.view.Field(parentField)
	if f == nil {
		return nil
	}
	add := func(raw jsontext.Value) {
		if id, err := f.Parse(raw); err == nil && id != nil {
			ids = append(ids, id.(string))
		}
	}
	updates := false
	for i := range ops {
		if ops[i].Kind != Update {
			continue
		}
		updates = true
		if raw, named := ops[i].Fields[parentField]; named {
			add(raw)
		}
	}
	if !updates || k.cfg.Rules == nil {
		return ids
	}
	for _, rule := range k.Model.WorkflowRules(k.object, model.BeforeSave) {
		for i := range rule.Actions {
			if a := &rule.Actions[i]; a.Field == parentField {
				add(a.Value)
			}
		}
	}
	return ids
}

// loadAbove reads what is above some records, whoever sees it, level by level.
func (k *batch) loadAbove(ctx context.Context, ids []string) error {
	k.above = map[string]string{}
	f := k.view.Field(parentField)
	for level := 0; len(ids) > 0 && level <= maxLevels; level++ {
		slices.Sort(ids)
		var b sqldb.Binds
		query := "SELECT r.id, coalesce(" + k.sql.value(&b, f) + ", '') FROM " +
			living(&b, k.Caller.Tenant, k.object) + " AND " + b.OneOf(k.Tx, "r.id", slices.Compact(ids))
		ids = nil
		for row, err := range k.Tx.Query(ctx, query, b.Args()...) {
			var id, parent string
			if err == nil {
				err = row.Scan(&id, &parent)
			}
			if err != nil {
				return err
			}
			k.above[id] = parent
			ids = append(ids, parent)
		}
		ids = slices.DeleteFunc(ids, func(id string) bool {
			_, known := k.above[id]
			return id == "" || known
		})
	}
	return nil
}

// checkCircle refuses an update that puts a record above itself.
func (k *batch) checkCircle(d *decision, op *Op) error {
	for i := range d.changes {
		parent, _ := d.changes[i].New.(string)
		if d.changes[i].Field != parentField || parent == "" {
			continue
		}
		if why := k.circle(d.after.ID, parent); why != "" {
			_, named := op.Fields[parentField]
			return k.refuseParent(named, why)
		}
	}
	return nil
}

// circle says what is wrong with a record's parent, "" when nothing is.
func (k *batch) circle(id, parent string) string {
	for level := 0; parent != ""; level++ {
		switch {
		case parent == id:
			return "must not be the record itself, nor one below it"
		case level >= maxLevels:
			return fmt.Sprintf("must be a record with fewer than %d above it", maxLevels)
		}
		parent = k.above[parent]
	}
	return ""
}

// refuseParent blames who wanted a parent: the caller, or else a rule, which is not to
// tell of a field that the caller may not see.
func (k *batch) refuseParent(named bool, why string) error {
	switch {
	case named:
		return unfit(k.view.Field(parentField), "%s", why)
	case k.view.Reads(parentField):
		return about(CodeRuleFailed, parentField, "a workflow rule cannot be carried out: %s %s", parentField, why)
	}
	return fault.New(fault.Invalid, CodeRuleFailed, "a workflow rule cannot be carried out: ask an administrator")
}
