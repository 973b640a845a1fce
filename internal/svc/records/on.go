package records

import (
	"context"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/bus"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// ConsumerName is what the consumer of this service is called on the bus.
const ConsumerName = "core"

// Consumer is told of what the document of the events lists for Core: approvals lock
// fields, and everything that says what somebody may do drops what is in memory about it.
// What is in memory is never used when it is not current, so a late event does no harm.
func (s *Records) Consumer() bus.Consumer {
	return bus.Consumer{
		Name: ConsumerName, Stream: wire.Events,
		Types: []string{
			"ApprovalSubmitted", "ApprovalDecided", "MetadataChanged", "PermissionChanged", "RoleHierarchyChanged", "GroupMemberChanged",
			"TerritoryAssignmentChanged", "SharingConfigChanged", "AutomationConfigChanged", "ApprovalConfigChanged", "SharingRebuildCompleted",
		},
		Handle: s.on,
	}
}

// on takes one event.
func (s *Records) on(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	switch e.Type {
	case "ApprovalSubmitted":
		return onSubmitted(ctx, tx, e)
	case "ApprovalDecided":
		return onDecided(ctx, tx, e)
	}
	tenant := e.Tenant
	tx.OnCommit(func() { s.views.forget(tenant) })
	return nil
}

// onSubmitted locks the fields of a record until its approval is decided.
func onSubmitted(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.ApprovalSubmitted](e)
	if err != nil {
		return bus.Permanent(err)
	}
	fields := p.LockedFields
	if fields == nil {
		fields = []string{}
	}
	list, err := json.Marshal(fields)
	if err != nil {
		return bus.Permanent(err)
	}
	_, err = tx.Exec(ctx, `INSERT INTO records_lock (tenant_id, object, record_id, approval_id, fields, at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (tenant_id, approval_id) DO UPDATE SET object = excluded.object, record_id = excluded.record_id, fields = excluded.fields, at = excluded.at`,
		e.Tenant, p.Target.ObjectName, p.Target.RecordID, p.ApprovalInstanceID, string(list), p.SubmittedAt)
	return err
}

// onDecided unlocks them.
func onDecided(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.ApprovalDecided](e)
	if err != nil {
		return bus.Permanent(err)
	}
	_, err = tx.Exec(ctx, "DELETE FROM records_lock WHERE tenant_id = $1 AND approval_id = $2", e.Tenant, p.ApprovalInstanceID)
	return err
}
