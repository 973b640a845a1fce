package records

import (
	"context"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
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
			"ApprovalSubmitted", "ApprovalDecided", "MetadataChanged", "PermissionChanged", "RoleHierarchyChanged",
			"GroupMemberChanged",
			"TerritoryAssignmentChanged", "SharingConfigChanged", "AutomationConfigChanged", "ApprovalConfigChanged",
			"SharingRebuildCompleted",
		},
		Handle: s.on, GivenUp: s.onGivenUp,
	}
}

// on takes one event.
func (s *Records) on(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	switch e.Type {
	case "ApprovalSubmitted":
		return s.onSubmitted(ctx, tx, e)
	case "ApprovalDecided":
		return s.onDecided(ctx, tx, e)
	}
	if e.Type == "GroupMemberChanged" && s.cfg.Regrouped != nil {
		return s.cfg.Regrouped(ctx, tx, e)
	}
	return nil
}

// onSubmitted locks the fields of a record until its approval is decided. Approvals that
// are kept beside the records have locked them in the transaction of their submission, and
// are asked: an event that comes late locks nothing.
func (s *Records) onSubmitted(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.ApprovalSubmitted](e)
	if err != nil {
		return bus.Permanent(err)
	}
	if s.cfg.Open != nil {
		if open, err := s.cfg.Open(ctx, tx, e.Tenant, p.ApprovalInstanceID); err != nil || !open {
			return err
		}
	}
	return Locks{}.Lock(ctx, tx, e.Tenant, model.FieldLock{
		ApprovalID: p.ApprovalInstanceID, Object: p.Target.ObjectName, RecordID: p.Target.RecordID,
		Fields: p.LockedFields, At: p.SubmittedAt,
	})
}

// onDecided unlocks them, and writes the outcome of the approval into the record. What is
// to be written is asked for: an event does not carry what may be sensitive.
func (s *Records) onDecided(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.ApprovalDecided](e)
	if err != nil {
		return bus.Permanent(err)
	}
	if err := (Locks{}).Unlock(ctx, tx, e.Tenant, p.ApprovalInstanceID); err != nil || s.cfg.Outcome == nil {
		return err
	}
	o, err := s.cfg.Outcome(ctx, tx, e.Tenant, p.ApprovalInstanceID)
	if err != nil || len(o.Fields) == 0 {
		return err
	}
	return s.settle(ctx, tx, e, p.ApprovalInstanceID, o)
}

// skipped is why an outcome is not written that an operator has given up.
const skipped = "an operator skipped the event with which it would have been written"

// onGivenUp takes it that the end of an approval never comes, since an operator skipped it:
// its fields are free, and its outcome counts as refused.
func (s *Records) onGivenUp(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	if e.Type != "ApprovalDecided" {
		return nil
	}
	p, err := wire.DecodePayload[wire.ApprovalDecided](e)
	if err != nil {
		return nil // nobody knows which approval it is about
	}
	if err := (Locks{}).Unlock(ctx, tx, e.Tenant, p.ApprovalInstanceID); err != nil || s.cfg.Outcome == nil {
		return err
	}
	o, err := s.cfg.Outcome(ctx, tx, e.Tenant, p.ApprovalInstanceID)
	if err != nil || len(o.Fields) == 0 {
		return err
	}
	if _, done, err := (Locks{}).Settled(ctx, tx, e.Tenant, p.ApprovalInstanceID); err != nil || done {
		return err
	}
	return s.noteOutcome(ctx, tx, e, p.ApprovalInstanceID, o, model.Settled{Refused: skipped})
}
