package model

import (
	"cmp"
	"slices"
)

// rules are the active rules and jobs of a model, each kind by name, then by id.
type rules struct {
	validation map[string][]*ValidationRule // by object
	workflow   map[string][]*WorkflowRule   // by object and when
	jobs       []*ScheduledJob
}

func (m *Model) sortRules() *rules {
	r := &rules{validation: map[string][]*ValidationRule{}, workflow: map[string][]*WorkflowRule{}}
	for _, v := range m.All(KindValidationRule) {
		if rule := v.(*ValidationRule); rule.IsActive {
			r.validation[rule.Object] = append(r.validation[rule.Object], rule)
		}
	}
	for _, v := range m.All(KindWorkflowRule) {
		if rule := v.(*WorkflowRule); rule.IsActive {
			key := rule.Object + " " + rule.When
			r.workflow[key] = append(r.workflow[key], rule)
		}
	}
	for _, v := range m.All(KindScheduledJob) {
		if job := v.(*ScheduledJob); job.IsActive {
			r.jobs = append(r.jobs, job)
		}
	}
	for _, all := range r.validation {
		slices.SortStableFunc(all, func(a, b *ValidationRule) int { return cmp.Compare(a.Name, b.Name) })
	}
	for _, all := range r.workflow {
		slices.SortStableFunc(all, func(a, b *WorkflowRule) int { return cmp.Compare(a.Name, b.Name) })
	}
	slices.SortStableFunc(r.jobs, func(a, b *ScheduledJob) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// ValidationRules are the active ones of an object, by name.
func (m *Model) ValidationRules(object string) []*ValidationRule {
	return m.rules().validation[object]
}

// WorkflowRules are the active ones of an object that act BeforeSave or AfterSave, by
// name.
func (m *Model) WorkflowRules(object, when string) []*WorkflowRule {
	return m.rules().workflow[object+" "+when]
}

// ScheduledJobs are the active ones, by name.
func (m *Model) ScheduledJobs() []*ScheduledJob { return m.rules().jobs }

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
