package automation

import (
	"fmt"
	"slices"

	"renga.dev/renga/internal/crm"
)

// Rules is what is done with records before they are saved. It has no state: what it says
// follows from the model.
type Rules struct{}

// Before calls set with every rule that acts before the save and holds for the draft, by
// name. A rule sees what those before it did.
func (Rules) Before(m *crm.Model, d *crm.Draft, set func(*crm.WorkflowRule) error) error {
	on := crm.OnUpdate
	if d.Old == nil {
		on = crm.OnCreate
	}
	var vars map[string]any
	for _, rule := range m.WorkflowRules(d.Object.Name, crm.BeforeSave) {
		if !slices.Contains(rule.On, on) {
			continue
		}
		if vars == nil {
			vars = d.Vars()
		}
		if !crm.Holds(rule.Condition, vars) {
			continue
		}
		if err := set(rule); err != nil {
			return err
		}
		vars = nil
	}
	return nil
}

// Broken are the validation rules that are true of a draft, by name, and those of which
// nobody knows, since its texts are too long for them: else a long text would be a way
// around a rule.
func (Rules) Broken(m *crm.Model, d *crm.Draft) (broken []*crm.ValidationRule) {
	rules := m.ValidationRules(d.Object.Name)
	if len(rules) == 0 {
		return nil
	}
	vars := d.Vars()
	for _, rule := range rules {
		switch holds, tooLong := crm.Judge(rule.Condition, vars); {
		case holds:
			broken = append(broken, rule)
		case tooLong:
			broken = append(broken, unchecked(rule))
		}
	}
	return broken
}

// unchecked is a rule that refuses a draft since it cannot be held against it.
func unchecked(rule *crm.ValidationRule) *crm.ValidationRule {
	said := *rule
	said.Message = fmt.Sprintf("The texts are too long to be held against the rule %q: %s", rule.Name, rule.Message)
	return &said
}
