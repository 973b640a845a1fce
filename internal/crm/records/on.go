package records

import (
	"context"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// ConsumerName is what the consumer of this service is called on the bus.
const ConsumerName = "core"

// Consumer handles what the document of the events lists for core: approvals lock fields and
// write their outcomes. What events say about permissions and definitions is read in every
// transaction.
func (s *Records) Consumer() bus.Consumer {
	handlers := []kit.Handler{
		kit.On("ApprovalSubmitted", s.onSubmitted), kit.On("ApprovalDecided", s.onDecided),
		kit.Ignore("MetadataChanged"), kit.Ignore("PermissionChanged"), kit.Ignore("RoleHierarchyChanged"),
		{Type: "GroupMemberChanged", Handle: s.cfg.Regrouped},
		kit.Ignore("TerritoryAssignmentChanged"),
		kit.Ignore("SharingConfigChanged"), kit.Ignore("AutomationConfigChanged"),
		kit.Ignore("ApprovalConfigChanged"), kit.Ignore("SharingRebuildCompleted"),
	}
	if s.cfg.Regrouped == nil {
		handlers[5] = kit.Ignore("GroupMemberChanged")
	}
	c := kit.Consumer(ConsumerName, handlers...)
	c.GivenUp = s.onGivenUp
	return c
}

// onSubmitted locks the fields of a record until its approval is decided. Approvals that
// are kept beside the records have locked them in the transaction of their submission, and
// are asked: an event that comes late locks nothing.
func (s *Records) onSubmitted(ctx context.Context, tx *sqldb.Tx, e *wire.Event, p wire.ApprovalSubmitted) error {
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

// onDecided unlocks them, and writes the outcome of the approval into the record.
func (s *Records) onDecided(ctx context.Context, tx *sqldb.Tx, e *wire.Event, p wire.ApprovalDecided) error {
	o, err := s.unlock(ctx, tx, e.Tenant, p.ApprovalInstanceID)
	if err != nil || len(o.Fields) == 0 {
		return err
	}
	return s.settle(ctx, tx, e, p.ApprovalInstanceID, o)
}

// unlock frees the fields that an approval locks, and gives its outcome. That is asked for:
// an event does not carry what may be sensitive.
func (s *Records) unlock(ctx context.Context, tx *sqldb.Tx, tenant, approval string) (o model.Outcome, err error) {
	if err := (Locks{}).Unlock(ctx, tx, tenant, approval); err != nil || s.cfg.Outcome == nil {
		return o, err
	}
	return s.cfg.Outcome(ctx, tx, tenant, approval)
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
	o, err := s.unlock(ctx, tx, e.Tenant, p.ApprovalInstanceID)
	if err != nil || len(o.Fields) == 0 {
		return err
	}
	if _, done, err := (Locks{}).Settled(ctx, tx, e.Tenant, p.ApprovalInstanceID); err != nil || done {
		return err
	}
	return s.noteOutcome(ctx, tx, e, p.ApprovalInstanceID, o, model.Settled{Refused: skipped})
}
