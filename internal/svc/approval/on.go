package approval

import (
	"context"
	"fmt"

	"renga.dev/renga/internal/bus"
	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// ConsumerName is what the consumer of this service is called on the bus.
const ConsumerName = "approval"

// Types are the events that approvals take: those that the document lists for them, in
// its order.
var Types = []string{"RecordCreated", "RecordUpdated", "PermissionChanged", "RoleHierarchyChanged", "ApprovalConfigChanged"}

// Consumer is approvals as the bus knows them.
func (s *Approvals) Consumer() bus.Consumer {
	return bus.Consumer{Name: ConsumerName, Stream: wire.Events, Types: Types, Handle: s.on}
}

// handlers are what takes them.
var handlers = map[string]func(*Approvals, context.Context, *sqldb.Tx, *wire.Event) error{
	"RecordCreated":         (*Approvals).onRecord,
	"RecordUpdated":         (*Approvals).onRecord,
	"PermissionChanged":     (*Approvals).onDirectory,
	"RoleHierarchyChanged":  (*Approvals).onDirectory,
	"ApprovalConfigChanged": (*Approvals).onConfig,
}

// on takes one event. It says that something is different; what is true is read.
func (s *Approvals) on(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	take := handlers[e.Type]
	if take == nil {
		return bus.Permanent(fmt.Errorf("approval takes no events of type %s", e.Type))
	}
	return fault.Wrap("approval.on", take(s, ctx, tx, e))
}

// onRecord notes whether the process of a pending approval would still take the record.
func (s *Approvals) onRecord(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[struct {
		ObjectName string `json:"objectName"`
		RecordID   string `json:"recordId"`
	}](e)
	if err != nil {
		return bus.Permanent(err)
	}
	open, err := instances(ctx, tx, "SELECT "+instanceColumns+` FROM approval_instance a
		WHERE a.tenant_id = $1 AND a.object = $2 AND a.record_id = $3 AND a.status = 0`, e.Tenant, p.ObjectName, p.RecordID)
	if err != nil {
		return err
	}
	return s.judge(ctx, tx, e.Tenant, open)
}

// onConfig does the same for all pending approvals of a process: what is defined is read
// in every transaction, so there is nothing else to renew.
func (s *Approvals) onConfig(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[struct {
		ProcessID string `json:"processId"`
	}](e)
	if err != nil {
		return bus.Permanent(err)
	}
	open, err := instances(ctx, tx, "SELECT "+instanceColumns+" FROM approval_instance a WHERE a.tenant_id = $1 AND a.status = 0 AND a.process_id = $2 ORDER BY a.id", e.Tenant, p.ProcessID)
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
		if d, _ := m.Get(crm.KindApprovalProcess, a.processID); ok && !record.Deleted && d.Value != nil {
			if p := d.Value.(*crm.ApprovalProcess); p.IsActive && meets(m, p.Condition, &record) {
				takes = 1
			}
		}
		if a.meets == (takes == 1) {
			continue
		}
		if _, err := tx.Exec(ctx, "UPDATE approval_instance SET meets = $3 WHERE tenant_id = $1 AND id = $2 AND status = 0", tenant, a.id, takes); err != nil {
			return err
		}
	}
	return nil
}

// onDirectory lets Run look at the open stages of a tenant: with other approvers one may
// wait for nobody any more.
func (s *Approvals) onDirectory(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	_, err := tx.Exec(ctx, `INSERT INTO approval_stale (tenant_id, event) VALUES ($1, $2)
		ON CONFLICT (tenant_id) DO UPDATE SET event = excluded.event`, e.Tenant, e.ID)
	tx.OnCommit(s.wake)
	return err
}
