package automation

import (
	"context"
	"slices"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Consumer is the consumer of automation, of the events in the order of the document. A key
// whose event fails is blocked, so that no action is skipped unseen.
func (s *Automation) Consumer() bus.Consumer {
	c := kit.Consumer(
		"automation",
		kit.On("RecordCreated", s.onRecord),
		kit.On("RecordUpdated", s.onRecord),
		kit.On("RecordDeleted", s.onRecord),
		kit.On("OwnerChanged", s.onOwner),
		kit.On("StageChanged", s.onStage),
		kit.On("LeadConverted", s.onConverted),
		kit.On("ApprovalSubmitted", s.onSubmitted),
		kit.On("ApprovalDecided", s.onDecided),
		kit.Ignore("MetadataChanged"),
		kit.On("AutomationConfigChanged", s.onConfig),
		kit.On("CampaignMemberChanged", s.onMember),
	)
	c.HandleAll = func(ctx context.Context, tx *sqldb.Tx, batch []*events.Event) error {
		return s.handleAll(ctx, tx, batch, c.Handle)
	}
	return c
}

// handleAll handles events together: the model is read once for a tenant. The events are handled
// one after the other, since what the rules of one write another may read.
func (s *Automation) handleAll(ctx context.Context, tx *sqldb.Tx, batch []*events.Event, handle bus.Handler) error {
	models := map[string]*model.Model{}
	for _, e := range batch {
		if ons[e.Type] == "" {
			if err := handle(ctx, tx, e); err != nil {
				return err
			}
			continue
		}
		p, err := events.DecodePayload[kit.Record](e)
		if err != nil {
			return bus.Permanent(err)
		}
		m := models[e.Tenant]
		if m == nil {
			if m, err = s.cfg.Models.Model(ctx, tx, e.Tenant); err != nil {
				return fault.Wrap("automation.on", err)
			}
			models[e.Tenant] = m
		}
		if err := s.saved(ctx, tx, m, e, p); err != nil {
			return fault.Wrap("automation.on", err)
		}
	}
	return nil
}

// ons is what happened to a record, by the type of the event.
var ons = map[string]string{
	"RecordCreated": model.OnCreate, "RecordUpdated": model.OnUpdate, "RecordDeleted": model.OnDelete,
}

// onRecord runs the rules that act after a save.
func (s *Automation) onRecord(ctx context.Context, tx *sqldb.Tx, e *events.Event, p kit.Record) error {
	m, err := s.cfg.Models.Model(ctx, tx, e.Tenant)
	if err != nil {
		return err
	}
	return s.saved(ctx, tx, m, e, p)
}

// saved runs the rules of a model on a record that an event names.
func (s *Automation) saved(ctx context.Context, tx *sqldb.Tx, m *model.Model, e *events.Event, p kit.Record) error {
	o := m.Object(p.ObjectName)
	rules := slices.Clone(m.WorkflowRules(p.ObjectName, model.AfterSave))
	rules = slices.DeleteFunc(rules, func(r *model.WorkflowRule) bool { return !slices.Contains(r.On, ons[e.Type]) })
	if o == nil || len(rules) == 0 {
		return nil
	}
	d, _, ok, err := s.cfg.Records.At(ctx, tx, e.Tenant, o, p.RecordID, e.Version)
	if err != nil || !ok {
		return err
	}
	t := s.turnOf(e, p.ObjectName, p.RecordID)
	t.owner = d.OwnerID
	now := kit.JudgeOf(tx).Of(&d)
	for _, rule := range rules {
		holds, err := now.Holds(rule.Condition)
		if err = model.Costly(err, "workflow rule", rule.Name, rule.ID); model.IsCostly(err) {
			return bus.Permanent(err) // the event will not fare better another time
		}
		if err != nil {
			return err
		}
		if !holds {
			continue
		}
		for i := range rule.Actions {
			t.deeds = append(t.deeds, deed{
				source: SourceRule, ruleID: rule.ID, rule: rule.Name, action: &rule.Actions[i],
			})
		}
	}
	if len(t.deeds) == 0 {
		return nil
	}
	if err := t.follow(ctx, tx, e.Version); err != nil {
		return err
	}
	return s.do(ctx, tx, m, &t)
}

// onConfig brings the times of a job up to date. Rules are read from the model of the
// transaction that needs them, so nothing is to be done about them.
func (s *Automation) onConfig(
	ctx context.Context, tx *sqldb.Tx, e *events.Event, p events.AutomationConfigChanged,
) error {
	if p.AutomationType != "ScheduledJob" {
		return nil
	}
	m, err := s.cfg.Models.Model(ctx, tx, e.Tenant)
	if err != nil {
		return err
	}
	tx.OnCommit(s.wake)
	return scheduler{s}.schedule(ctx, tx, m, p.AutomationID)
}

// turnOf is the turn that an event gives on a record.
func (s *Automation) turnOf(e *events.Event, object, record string) turn {
	return turn{
		tenant: e.Tenant, correlation: e.CorrelationID, eventID: e.ID, eventType: e.Type, object: object,
		record: record, at: s.now(),
	}
}
