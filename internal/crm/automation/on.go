package automation

import (
	"context"
	"fmt"
	"slices"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// consumerName is under which the bus keeps what automation has taken.
const consumerName = "automation"

// Types are the events that automation takes, in the order of the document.
var Types = []string{
	"RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", "StageChanged", "LeadConverted",
	"ApprovalSubmitted",
	"ApprovalDecided", "MetadataChanged", "AutomationConfigChanged", "CampaignMemberChanged",
}

var handlers = map[string]func(*Automation, context.Context, *sqldb.Tx, *wire.Event) error{
	"RecordCreated":           (*Automation).onRecord,
	"RecordUpdated":           (*Automation).onRecord,
	"RecordDeleted":           (*Automation).onRecord,
	"OwnerChanged":            (*Automation).onOwner,
	"StageChanged":            (*Automation).onStage,
	"LeadConverted":           (*Automation).onConverted,
	"ApprovalSubmitted":       (*Automation).onSubmitted,
	"ApprovalDecided":         (*Automation).onDecided,
	"MetadataChanged":         (*Automation).onMetadata,
	"AutomationConfigChanged": (*Automation).onConfig,
	"CampaignMemberChanged":   (*Automation).onMember,
}

// Consumer is automation as the bus knows it. The key of an event that it cannot take waits
// for a decision, so that no action is left out unseen.
func (s *Automation) Consumer() bus.Consumer {
	return bus.Consumer{Name: consumerName, Stream: wire.Events, Types: Types, Handle: s.handle, HandleAll: s.handleAll}
}

func (s *Automation) handle(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	on := handlers[e.Type]
	if on == nil {
		return bus.Permanent(fmt.Errorf("automation takes no events of type %s", e.Type))
	}
	return fault.Wrap("automation.on", on(s, ctx, tx, e))
}

// handleAll takes events together: what rules there are is asked once for a tenant. What
// rules do is done one event after the other, since what one writes another may read.
func (s *Automation) handleAll(ctx context.Context, tx *sqldb.Tx, events []*wire.Event) error {
	models := map[string]*model.Model{}
	for _, e := range events {
		if ons[e.Type] == "" {
			if err := s.handle(ctx, tx, e); err != nil {
				return err
			}
			continue
		}
		m := models[e.Tenant]
		if m == nil {
			var err error
			if m, err = s.cfg.Models.Model(ctx, tx, e.Tenant); err != nil {
				return fault.Wrap("automation.on", err)
			}
			models[e.Tenant] = m
		}
		if err := s.saved(ctx, tx, m, e); err != nil {
			return fault.Wrap("automation.on", err)
		}
	}
	return nil
}

// ons is what happened to a record, by the type of the event.
var ons = map[string]string{
	"RecordCreated": model.OnCreate, "RecordUpdated": model.OnUpdate,
	"RecordDeleted": model.OnDelete,
}

// onRecord lets the rules act that come after a save.
func (s *Automation) onRecord(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	m, err := s.cfg.Models.Model(ctx, tx, e.Tenant)
	if err != nil {
		return err
	}
	return s.saved(ctx, tx, m, e)
}

// saved lets the rules of a model act on a record that an event tells of.
func (s *Automation) saved(ctx context.Context, tx *sqldb.Tx, m *model.Model, e *wire.Event) error {
	p, err := wire.DecodePayload[struct {
		ObjectName string `json:"objectName"`
		RecordID   string `json:"recordId"`
	}](e)
	if err != nil {
		return bus.Permanent(err)
	}
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
	now := judgeOf(tx).Of(&d)
	for _, rule := range rules {
		holds, err := now.Holds(rule.Condition)
		if err != nil {
			return costly(err, rule.Name, rule.ID)
		}
		if !holds {
			continue
		}
		for i := range rule.Actions {
			t.deeds = append(t.deeds, deed{
				source: SourceRule, ruleID: rule.ID, rule: rule.Name,
				action: &rule.Actions[i],
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

// judgeOf is what evaluates the conditions of a transaction.
func judgeOf(tx *sqldb.Tx) *model.Judge {
	return sqldb.Own(tx, func() *model.Judge { return model.NewJudge(tx.Waits) })
}

// costly says which rule has a condition for which there are no steps left. An event that was
// taken alone will not fare better another time.
func costly(err error, name, id string) error {
	if err = model.Costly(err, "workflow rule", name, id); model.IsCostly(err) {
		return bus.Permanent(err)
	}
	return err
}

// onConfig brings the times of a job up to date. Rules are read from the model of the
// transaction that asks, so nothing is to be done about them.
func (s *Automation) onConfig(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.AutomationConfigChanged](e)
	if err != nil {
		return bus.Permanent(err)
	}
	if p.AutomationType != "ScheduledJob" {
		return nil
	}
	m, err := s.cfg.Models.Model(ctx, tx, e.Tenant)
	if err != nil {
		return err
	}
	tx.OnCommit(s.wake)
	return s.schedule(ctx, tx, m, p.AutomationID)
}

// onMetadata has nothing to do: what rules see of objects and fields is read from the model
// of the transaction that asks.
func (s *Automation) onMetadata(context.Context, *sqldb.Tx, *wire.Event) error { return nil }

// turnOf is what an event lets be done to a record.
func (s *Automation) turnOf(e *wire.Event, object, record string) turn {
	return turn{
		tenant: e.Tenant, correlation: e.CorrelationID, eventID: e.ID, eventType: e.Type, object: object,
		record: record, at: s.now(),
	}
}
