package automation

import (
	"fmt"
	"slices"

	"renga.dev/renga/internal/crm/model"
)

// Rules are the rules that act before records are saved. It has no state.
type Rules struct{}

// Before calls set with every rule that acts before the save and holds for the draft, by
// name. A rule sees what those before it did.
func (Rules) Before(j *model.Judge, m *model.Model, d *model.Draft, set func(*model.WorkflowRule) error) error {
	on := model.OnUpdate
	if d.Old == nil {
		on = model.OnCreate
	}
	var now *model.Case
	for _, rule := range m.WorkflowRules(d.Object.Name, model.BeforeSave) {
		if !slices.Contains(rule.On, on) {
			continue
		}
		if now == nil {
			now = j.Of(d)
		}
		holds, err := now.Holds(rule.Condition)
		if err != nil {
			return model.Costly(err, "workflow rule", rule.Name, rule.ID)
		}
		if !holds {
			continue
		}
		if err := set(rule); err != nil {
			return err
		}
		now = nil
	}
	return nil
}

// Broken are the validation rules that are true of a draft, by name, and those for which its
// texts are too long: else a long text would be a way around a rule.
func (Rules) Broken(j *model.Judge, m *model.Model, d *model.Draft) (broken []*model.ValidationRule, err error) {
	rules := m.ValidationRules(d.Object.Name)
	if len(rules) == 0 {
		return nil, nil
	}
	now := j.Of(d)
	for _, rule := range rules {
		switch holds, tooLong, err := now.Judge(rule.Condition); {
		case err != nil:
			return nil, model.Costly(err, "validation rule", rule.Name, rule.ID)
		case holds:
			broken = append(broken, rule)
		case tooLong:
			broken = append(broken, unchecked(rule))
		}
	}
	return broken, nil
}

// unchecked is a rule that refuses a draft since it cannot be held against it.
func unchecked(rule *model.ValidationRule) *model.ValidationRule {
	said := *rule
	said.Message = fmt.Sprintf("The texts are too long to be held against the rule %q: %s", rule.Name, rule.Message)
	return &said
}
