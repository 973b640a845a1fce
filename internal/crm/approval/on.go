package approval

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// ConsumerName is what the consumer of this service is called on the bus.
const ConsumerName = "approval"

// Types are the events that approvals take: those that the document lists for them, in
// its order.
var Types = []string{
	"RecordCreated", "RecordUpdated", "PermissionChanged", "RoleHierarchyChanged",
	"ApprovalConfigChanged",
}

// Consumer is approvals as the bus knows them.
func (s *Approvals) Consumer() bus.Consumer {
	return bus.Consumer{Name: ConsumerName, Stream: wire.Events, Types: Types, Handle: s.on, HandleAll: s.onAll}
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

// onAll takes events together: pending approvals of the records that they name are looked
// for at once. There are few.
func (s *Approvals) onAll(ctx context.Context, tx *sqldb.Tx, events []*wire.Event) error {
	named := map[[2]string][]string{} // by tenant and object
	for _, e := range events {
		if e.Type != "RecordCreated" && e.Type != "RecordUpdated" {
			if err := s.on(ctx, tx, e); err != nil {
				return err
			}
			continue
		}
		object, id, err := recordIn(e)
		if err != nil {
			return err
		}
		of := [2]string{e.Tenant, object}
		named[of] = append(named[of], id)
	}
	for _, of := range slices.SortedFunc(maps.Keys(named), func(a, b [2]string) int {
		return slices.Compare(a[:],
			b[:])
	}) {
		if err := s.judgeRecords(ctx, tx, of[0], of[1], named[of]); err != nil {
			return fault.Wrap("approval.on", err)
		}
	}
	return nil
}

// recordIn is the record that an event is about.
func recordIn(e *wire.Event) (object, id string, err error) {
	p, err := wire.DecodePayload[struct {
		ObjectName string `json:"objectName"`
		RecordID   string `json:"recordId"`
	}](e)
	return p.ObjectName, p.RecordID, err
}

// onRecord notes whether the process of a pending approval would still take the record.
func (s *Approvals) onRecord(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	object, id, err := recordIn(e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.judgeRecords(ctx, tx, e.Tenant, object, []string{id})
}

// judgeRecords judges the pending approvals of some records.
func (s *Approvals) judgeRecords(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) error {
	var b sqldb.Binds
	query := "SELECT " + instanceColumns + " FROM approval_instance a WHERE a.tenant_id = " + b.Add(tenant) +
		" AND a.object = " + b.Add(object) +
		" AND a.status = 0 AND " + b.OneOf(tx, "a.record_id", ids)
	open, err := instances(ctx, tx, query, b.Args()...)
	if err != nil {
		return err
	}
	return s.judge(ctx, tx, tenant, open)
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
	open, err := instances(ctx, tx, "SELECT "+instanceColumns+
		" FROM approval_instance a WHERE a.tenant_id = $1 AND a.status = 0 AND a.process_id = $2 ORDER BY a.id",
		e.Tenant, p.ProcessID)
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
				ok, err := meets(judgeOf(tx), m, p.Condition, &record)
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
// It is for core, which takes the events that tell of it.
func (s *Approvals) Regrouped(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	return fault.Wrap("approval.regrouped", s.onDirectory(ctx, tx, e))
}

// onDirectory lets Run look at the open stages of a tenant: with other approvers one may
// wait for nobody any more.
func (s *Approvals) onDirectory(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	_, err := tx.Exec(ctx, `INSERT INTO approval_stale (tenant_id, event) VALUES ($1, $2)
		ON CONFLICT (tenant_id) DO UPDATE SET event = excluded.event`, e.Tenant, e.ID)
	tx.OnCommit(s.wake)
	return err
}
