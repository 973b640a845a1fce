package records

import (
	"context"
	"slices"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// act lets the rules act that come before a save, on a draft that has what the change
// names, and gives the fields as they are then. Rules write what the caller may not.
func (f *facts) act(d *model.Draft, given values) (values, error) {
	if f.rules == nil {
		return d.Fields, nil
	}
	var before values
	if d.Old != nil {
		before = d.Old.Fields
	}
	err := f.rules.Before(f.judge, f.model, d, func(rule *model.WorkflowRule) error {
		for i := range rule.Actions {
			a := &rule.Actions[i]
			value, err := f.valueOf(a)
			if err != nil {
				return f.failed(rule, a, err)
			}
			given[a.Field] = value
		}
		after, err := f.fill(before, given)
		if err != nil {
			return f.failed(rule, &rule.Actions[0], err)
		}
		d.Fields = after
		return nil
	})
	return d.Fields, err
}

// valueOf is the value that an action sets.
func (f *facts) valueOf(a *model.Action) (any, error) {
	field := f.view.Field(a.Field)
	if field == nil {
		return nil, f.view.unknown(a.Field)
	}
	value, err := field.Parse(a.Value)
	if err != nil {
		return nil, unfit(field, "%v", err)
	}
	if id, ok := value.(string); ok && field.Type == model.Reference &&
		!slices.Contains(field.ReferenceTo, f.ruled[id].Object) {
		return nil, unfit(field, "must be the id of a record of %s that is there", strings.Join(field.ReferenceTo,
			" or "))
	}
	return value, nil
}

// failed says that a rule could not be carried out. It does not name a field that the
// caller may not see.
func (f *facts) failed(rule *model.WorkflowRule, a *model.Action, cause error) error {
	why := "ask an administrator"
	details := map[string]string{"ruleId": rule.ID, "rule": rule.Name}
	if f.view.Reads(a.Field) {
		details["field"] = a.Field
		if e, ok := fault.As(cause); ok {
			why = e.Message
		}
	}
	return fault.New(fault.Invalid, CodeRuleFailed, "the workflow rule %q cannot be carried out: %s", rule.Name,
		why).With(details)
}

// broken is a validation rule that refuses a record, as callers see it.
type broken struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Message string `json:"message"`
	Field   string `json:"field,omitzero"`
}

// validate refuses a draft that validation rules are true of, with the messages of all of
// them.
func (f *facts) validate(d *model.Draft) error {
	if f.rules == nil {
		return nil
	}
	rules, err := f.rules.Broken(f.judge, f.model, d)
	if err != nil || len(rules) == 0 {
		return err
	}
	var messages []string
	var all []broken
	details := map[string]any{}
	for _, rule := range rules {
		b := broken{ID: rule.ID, Name: rule.Name, Message: rule.Message}
		if f.view.Reads(rule.Field) {
			b.Field = rule.Field
			if details["field"] == nil {
				details["field"] = rule.Field
			}
		}
		messages, all = append(messages, rule.Message), append(all, b)
	}
	details["rules"] = all
	return fault.New(fault.Invalid, CodeRuleBroken, "%s", strings.Join(messages, " ")).With(details)
}

// loadRuled reads the living records that rules which act before a save name in fields of
// an object, whoever sees them, and holds them so that nobody deletes them.
func (w *session) loadRuled(ctx context.Context, object string) (parents, error) {
	if w.cfg.Rules == nil {
		return nil, nil
	}
	wanted := map[string][]string{}
	for _, rule := range w.Model.WorkflowRules(object, model.BeforeSave) {
		for i := range rule.Actions {
			collectReference(w.Model.Field(object, rule.Actions[i].Field), rule.Actions[i].Value, wanted)
		}
	}
	found := parents{}
	for _, object := range w.Model.Objects() { // in one order, so that nobody waits in a circle
		ids := wanted[object.Name]
		if len(ids) == 0 {
			continue
		}
		var b sqldb.Binds
		query := "SELECT r.id, r.account_id FROM " + living(&b, w.Caller.Tenant, object.Name) + " AND " +
			b.OneOf(w.Tx, "r.id", ids) + w.sql.inOrder("r.id") + w.sql.hold(named)
		for row, err := range w.Tx.Query(ctx, query, b.Args()...) {
			var id string
			p := parent{Object: object.Name}
			if err == nil {
				err = row.Scan(&id, &p.AccountID)
			}
			if err != nil {
				return nil, err
			}
			found[id] = p
		}
	}
	return found, nil
}
