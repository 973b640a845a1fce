package approval

import (
	"context"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// ConsumerName is what the consumer of this service is called on the bus.
const ConsumerName = "approval"

// Consumer handles the events that the document lists for approvals, in its order. Each says
// that something is different; what is true is read.
func (s *Approvals) Consumer() bus.Consumer {
	c := kit.Consumer(ConsumerName,
		kit.On("RecordCreated", s.onRecord),
		kit.On("RecordUpdated", s.onRecord),
		kit.Handler{Type: "PermissionChanged", Handle: s.onDirectory},
		kit.Handler{Type: "RoleHierarchyChanged", Handle: s.onDirectory},
		kit.On("ApprovalConfigChanged", s.onConfig),
	)
	// Pending approvals of the records that several events name are looked for together.
	c.HandleAll = kit.HandleGroups(c.Handle, recordIn,
		func(ctx context.Context, tx *sqldb.Tx, g *kit.Group[string]) error {
			return s.Wrap("on", s.judgeRecords(ctx, tx, g.Tenant, g.Object, g.Named...))
		})
	return c
}

// recordIn is the record that an event is about; ok is false when it is about none.
func recordIn(e *events.Event) (object, id string, ok bool, err error) {
	if e.Type != "RecordCreated" && e.Type != "RecordUpdated" {
		return "", "", false, nil
	}
	p, err := events.DecodePayload[kit.Record](e)
	return p.ObjectName, p.RecordID, true, err
}

// onRecord notes whether the process of a pending approval would still take the record.
func (s *Approvals) onRecord(ctx context.Context, tx *sqldb.Tx, e *events.Event, p kit.Record) error {
	return s.judgeRecords(ctx, tx, e.Tenant, p.ObjectName, p.RecordID)
}

// judgeRecords judges the pending approvals of some records.
func (s *Approvals) judgeRecords(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids ...string) error {
	b := sqldb.Bind(tenant, object)
	query := selectInstances + "a.object = $2 AND a.status = 0 AND " + b.OneOf(tx, "a.record_id", ids)
	open, err := instances(ctx, tx, query, b.Args()...)
	if err != nil {
		return err
	}
	return s.judge(ctx, tx, tenant, open)
}

// onConfig does the same for all pending approvals of a process: what is defined is read
// in every transaction, so there is nothing else to renew.
func (s *Approvals) onConfig(ctx context.Context, tx *sqldb.Tx, e *events.Event, p struct {
	ProcessID string `json:"processId"`
},
) error {
	open, err := instances(ctx, tx,
		selectInstances+"a.status = 0 AND a.process_id = $2 ORDER BY a.id", e.Tenant, p.ProcessID)
	if err != nil {
		return err
	}
	return s.judge(ctx, tx, e.Tenant, open)
}

// judge notes of pending approvals whether their processes would take the records now.
func (s *Approvals) judge(ctx context.Context, tx *sqldb.Tx, tenant string, open []instance) error {
	if len(open) == 0 {
		return nil
	}
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil {
		return err
	}
	for i := range open {
		a := &open[i]
		record, ok, err := s.cfg.Records.Get(ctx, tx, tenant, a.object, a.recordID)
		if err != nil {
			return err
		}
		takes := 0
		if d, _ := m.Get(model.KindApprovalProcess, a.processID); ok && !record.Deleted && d.Value != nil {
			if p := d.Value.(*model.ApprovalProcess); p.IsActive {
				ok, err := meets(kit.JudgeOf(tx), m, p.Condition, &record)
				if err = model.Costly(err, "approval process", p.Name, p.ID); model.IsCostly(err) {
					return bus.Permanent(err)
				}
				if err != nil {
					return err
				}
				if ok {
					takes = 1
				}
			}
		}
		if a.meets == (takes == 1) {
			continue
		}
		if _, err := tx.Exec(ctx,
			"UPDATE approval_instance SET meets = $3 WHERE tenant_id = $1 AND id = $2 AND status = 0", tenant, a.id,
			takes); err != nil {
			return err
		}
	}
	return nil
}

// Regrouped lets Run look at the open stages of a tenant in which a group has other members.
// It is for core, which handles their events.
func (s *Approvals) Regrouped(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
	return s.Wrap("regrouped", s.onDirectory(ctx, tx, e))
}

// onDirectory lets Run look at the open stages of a tenant: with other approvers one may
// wait for nobody any more.
func (s *Approvals) onDirectory(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
	_, err := tx.Exec(ctx, `INSERT INTO approval_stale (tenant_id, event) VALUES ($1, $2)
		ON CONFLICT (tenant_id) DO UPDATE SET event = excluded.event`, e.Tenant, e.ID)
	tx.OnCommit(s.Wake)
	return err
}
