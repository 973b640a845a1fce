package metadata

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/cron"
)

func (p *parser) validationRule() (any, error) {
	r := model.ValidationRule{IsActive: true}
	if err := first(p.decode(&r), p.named(&r.ID, r.Name)); err != nil {
		return nil, err
	}
	o, err := p.objectOf(r.Object, p.now(model.KindValidationRule))
	if err != nil {
		return nil, err
	}
	switch {
	case r.Condition == "":
		return nil, unfit("condition", "condition is missing: a record of which it is true is refused")
	case r.Message == "":
		return nil, unfit("message", "message is missing: callers are shown it")
	case r.Field != "" && o.Field(r.Field) == nil:
		return nil, unfit("field", "%s has no field %s", o.Name, quoted(r.Field))
	}
	return &r, first(condition(o, "condition", r.Condition, true), words("message", r.Message, MaxDescription))
}

func (p *parser) workflowRule() (any, error) {
	r := model.WorkflowRule{IsActive: true}
	if err := first(p.decode(&r), p.named(&r.ID, r.Name)); err != nil {
		return nil, err
	}
	o, err := p.objectOf(r.Object, p.now(model.KindWorkflowRule))
	if err != nil {
		return nil, err
	}
	if err := first(few("on", len(r.On), 1, 3), distinct("on", r.On), oneOf("when", r.When, model.BeforeSave,
		model.AfterSave)); err != nil {
		return nil, err
	}
	for i, on := range r.On {
		if err := oneOf(fmt.Sprintf("on[%d]", i), on, model.OnCreate, model.OnUpdate, model.OnDelete); err != nil {
			return nil, err
		}
	}
	if r.When == model.BeforeSave && slices.Contains(r.On, model.OnDelete) {
		return nil, unfit("on", "on: nothing is saved when a record is deleted; a rule on delete acts after it")
	}
	may := []string{model.SetField}
	if r.When == model.AfterSave {
		may = []string{model.Notify, model.CreateTask, model.UpdateField, model.StartGraph}
	}
	if err := first(condition(o, "condition", r.Condition, true), p.actions(o, r.Actions, may)); err != nil {
		return nil, err
	}
	return &r, acts(r.On, r.Actions)
}

// acts refuses an action that can never do anything: there is no record to update when it
// was deleted.
func acts(on []string, actions []model.Action) error {
	if !slices.Equal(on, []string{model.OnDelete}) {
		return nil
	}
	for i := range actions {
		if actions[i].Type == model.UpdateField {
			at := fmt.Sprintf("actions[%d].type", i)
			return unfit(at, "%s: a rule that acts on delete alone has no record to update", at)
		}
	}
	return nil
}

func (p *parser) scheduledJob() (any, error) {
	j := model.ScheduledJob{IsActive: true, TimeZone: "UTC"}
	if err := first(p.decode(&j), p.named(&j.ID, j.Name)); err != nil {
		return nil, err
	}
	may := []string{model.StartGraph}
	var o *model.Object
	if j.Object != "" {
		var err error
		if o, err = p.objectOf(j.Object, nil); err != nil {
			return nil, err
		}
		may = []string{model.Notify, model.CreateTask, model.UpdateField, model.StartGraph}
		if err := condition(o, "condition", j.Condition, false); err != nil {
			return nil, err
		}
	} else if j.Condition != "" {
		return nil, unfit("condition", "condition chooses records of an object; name the object, or leave it out")
	}
	if err := cron.Check(j.Cron); err != nil {
		return nil, unfit("cron", "cron %v", err)
	}
	if _, err := cron.Zone(j.TimeZone); err != nil {
		return nil, unfit("timeZone", "timeZone %v", err)
	}
	return &j, p.actions(o, j.Actions, may)
}

// actions checks what a rule or a job does; o is nil for one that has no records.
func (p *parser) actions(o *model.Object, actions []model.Action, may []string) error {
	if err := few("actions", len(actions), 1, MaxActions); err != nil {
		return err
	}
	var keys []string
	for i := range actions {
		a, at := &actions[i], fmt.Sprintf("actions[%d]", i)
		if !canonical.Name(a.Key) {
			return unfit(at+".key", "%s.key must be 1 to %d letters, digits, dots, dashes or underscores", at,
				canonical.MaxName)
		}
		keys = append(keys, a.Key)
		if err := oneOf(at+".type", a.Type, may...); err != nil {
			return err
		}
		if err := p.action(o, a, at); err != nil {
			return err
		}
	}
	return distinct("actions", keys)
}

// action checks that an action has what its type needs, and nothing else.
func (p *parser) action(o *model.Object, a *model.Action, at string) error {
	fills := a.Type == model.SetField || a.Type == model.UpdateField
	tells := a.Type == model.Notify || a.Type == model.CreateTask
	starts := a.Type == model.StartGraph
	switch {
	case !fills && (a.Field != "" || a.Value != nil):
		return unfit(at+".field", "%s: field and value are only for setField and updateField", at)
	case !tells && (a.To != nil || a.Message != ""):
		return unfit(at+".to", "%s: to and message are only for notify and createTask", at)
	case a.Type != model.CreateTask && a.DueDays != 0:
		return unfit(at+".dueDays", "%s.dueDays is only for createTask", at)
	case !starts && a.GraphID != "":
		return unfit(at+".graphId", "%s.graphId is only for startGraph", at)
	case starts && !canonical.Name(a.GraphID):
		return unfit(at+".graphId", "%s.graphId must be the id of a graph", at)
	case tells && a.Message == "":
		return unfit(at+".message", "%s.message is missing", at)
	case a.DueDays < 0 || a.DueDays > 3650:
		return unfit(at+".dueDays", "%s.dueDays must be 0 to 3650", at)
	}
	if fills {
		return writes(o, a.Field, a.Value, at+".field", at+".value")
	}
	if a.To != nil {
		return first(words(at+".message", a.Message, MaxDescription), p.member(at+".to", *a.To, model.TypeUser,
			model.TypeRole, model.TypeGroup))
	}
	return words(at+".message", a.Message, MaxDescription)
}

// writes checks that a field can be written, and have a value. Its name and its value are
// those members of the body that name and is say.
func writes(o *model.Object, field string, value jsontext.Value, name, is string) error {
	f := o.Field(field)
	switch {
	case f == nil:
		return unfit(name, "%s: %s has no field %s", name, o.Name, quoted(field))
	case f.ReadOnly && !f.Custom:
		return unfit(name, "%s: %s is set by the server alone", name, model.FieldKey(o.Name, f.Name))
	case value == nil:
		return unfit(is, "%s is missing; null empties the field", is)
	}
	if err := f.Fits(value); err != nil {
		return unfit(is, "%s %v", is, err)
	}
	return nil
}

func (p *parser) approvalProcess() (any, error) {
	a := model.ApprovalProcess{IsActive: true, LockedFields: []string{}}
	if err := first(p.decode(&a), p.named(&a.ID, a.Name)); err != nil {
		return nil, err
	}
	o, err := p.objectOf(a.Object, p.now(model.KindApprovalProcess))
	if err != nil {
		return nil, err
	}
	if err := few("lockedFields", len(a.LockedFields), 0, MaxFields); err != nil {
		return nil, err
	}
	for i, name := range a.LockedFields {
		if o.Field(name) == nil {
			return nil, unfit(fmt.Sprintf("lockedFields[%d]", i), "lockedFields[%d]: %s has no field %s", i, o.Name,
				quoted(name))
		}
	}
	if err := first(condition(o, "condition", a.Condition, false), distinct("lockedFields", a.LockedFields),
		few("steps", len(a.Steps), 1, model.MaxProcessSteps)); err != nil {
		return nil, err
	}
	if err := outcomes(o, &a.Outcomes); err != nil {
		return nil, err
	}
	var names []string
	for i := range a.Steps {
		s, at := &a.Steps[i], fmt.Sprintf("steps[%d]", i)
		if s.Decide == "" {
			s.Decide = model.ByAny
		}
		if err := first(
			line(at+".name", s.Name, MaxName), condition(o, at+".condition", s.Condition, false),
			oneOf(at+".decide", s.Decide, model.ByAny, model.ByAll),
			few(at+".approvers", len(s.Approvers), 1, MaxApprovers),
		); err != nil {
			return nil, err
		}
		for j, who := range s.Approvers {
			if err := p.approver(fmt.Sprintf("%s.approvers[%d]", at, j), who); err != nil {
				return nil, err
			}
		}
		names = append(names, s.Name)
	}
	return &a, distinct("steps", names)
}

// approver checks who decides: somebody who is there, or the manager of somebody who is
// known when a record is submitted.
func (p *parser) approver(at string, who model.Member) error {
	if who.Type == model.TypeManager {
		return oneOf(at+".id", who.ID, model.OfSubmitter, model.OfOwner)
	}
	if err := oneOf(at+".type", who.Type, model.TypeUser, model.TypeRole, model.TypeGroup,
		model.TypeManager); err != nil {
		return err
	}
	return p.member(at, who, model.TypeUser, model.TypeRole, model.TypeGroup)
}

// outcomes checks what is written into records when approvals end.
func outcomes(o *model.Object, all *model.Outcomes) error {
	for at, fields := range all.Each() {
		if err := few(at, len(*fields), 0, MaxOutcomes); err != nil {
			return err
		}
		for _, name := range sorted(*fields) {
			if err := writes(o, name, (*fields)[name], at+"."+name, at+"."+name); err != nil {
				return err
			}
		}
		if len(*fields) == 0 {
			*fields = nil // to say so is the same as to say nothing
		}
	}
	return nil
}

// findGraphs refuses actions that start a graph which does not exist. Graphs are never
// deleted, so it is done before the transaction.
func (s *Metadata) findGraphs(ctx context.Context, c Change, body []byte) error {
	if s.cfg.Graph == nil || c.Kind != model.KindWorkflowRule && c.Kind != model.KindScheduledJob {
		return nil
	}
	var doc struct {
		Actions []struct {
			GraphID string `json:"graphId"`
		} `json:"actions"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return nil // parse says what is wrong
	}
	for i, a := range doc.Actions[:min(len(doc.Actions), MaxActions)] {
		if !canonical.Name(a.GraphID) {
			continue
		}
		there, err := s.cfg.Graph(ctx, c.Tenant, a.GraphID)
		if err != nil {
			return err
		}
		if !there {
			return unfit(fmt.Sprintf("actions[%d].graphId", i),
				"actions[%d].graphId: there is no graph %s; store it with PUT /graphs/{graphId}", i, quoted(a.GraphID))
		}
	}
	return nil
}
