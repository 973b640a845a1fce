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

// holdParents is the lock of whoever puts records of an object below others. Two such
// changes at once could close a circle that neither of them sees.
const holdParents = "SELECT pg_advisory_xact_lock(hashtextextended($1, 7003))"

// newParents are the records that updates, and rules that act before them, put above
// others. New records have nothing below them.
func (k *bench) newParents(ops []Op) (ids []string) {
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
	for _, rule := range k.model.WorkflowRules(k.object, model.BeforeSave) {
		for i := range rule.Actions {
			if a := &rule.Actions[i]; a.Field == parentField {
				add(a.Value)
			}
		}
	}
	return ids
}

// holdAbove lets nobody else put records of the object below others until the transaction
// ends. It comes before any row is held, so that nobody waits in a circle.
func (k *bench) holdAbove(ctx context.Context) error {
	if k.tx.Dialect() != sqldb.Postgres {
		return nil // one writes at a time
	}
	_, err := k.tx.Exec(ctx, holdParents, "records:"+k.caller.Tenant+":"+k.object)
	return err
}

// loadAbove reads what is above some records, whoever sees it, level by level.
func (k *bench) loadAbove(ctx context.Context, ids []string) error {
	k.above = map[string]string{}
	f := k.view.Field(parentField)
	for level := 0; len(ids) > 0 && level <= maxLevels; level++ {
		slices.Sort(ids)
		var b sqldb.Binds
		up := (&builder{dialect: k.tx.Dialect(), binds: &b}).extract(f)
		query := "SELECT r.id, coalesce(" + up + ", '') FROM records_record r WHERE r.tenant_id = " +
			b.Add(k.caller.Tenant) + " AND r.object = " + b.Add(k.object) +
			" AND " + b.OneOf(k.tx, "r.id", slices.Compact(ids)) + " AND r.deleted_at = 0"
		ids = nil
		for row, err := range k.tx.Query(ctx, query, b.Args()...) {
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
func (k *bench) checkCircle(d *decision, op *Op) error {
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
func (k *bench) circle(id, parent string) string {
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
func (k *bench) refuseParent(named bool, why string) error {
	switch {
	case named:
		return unfit(k.view.Field(parentField), "%s", why)
	case k.view.Reads(parentField):
		return about(CodeRuleFailed, parentField, "a workflow rule cannot be carried out: %s %s", parentField, why)
	}
	return fault.New(fault.Invalid, CodeRuleFailed, "a workflow rule cannot be carried out: ask an administrator")
}
