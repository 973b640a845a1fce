package records

import (
	"context"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// ConsumerName is what the consumer of this service is called on the bus.
const ConsumerName = "core"

// Consumer handles what the document of the events lists for core: approvals lock fields and
// write their outcomes. What events say about permissions and definitions is read in every
// transaction.
func (s *Records) Consumer(approvals Approvals, notifier Notifier) bus.Consumer {
	h := consumer{s, approvals, notifier}
	c := kit.Consumer(ConsumerName,
		kit.On("ApprovalSubmitted", h.onSubmitted), kit.On("ApprovalDecided", h.onDecided),
		kit.Ignore("MetadataChanged"), kit.Ignore("PermissionChanged"), kit.Ignore("RoleHierarchyChanged"),
		kit.Handler{Type: "GroupMemberChanged", Handle: approvals.Regrouped},
		kit.Ignore("TerritoryAssignmentChanged"),
		kit.Ignore("SharingConfigChanged"), kit.Ignore("AutomationConfigChanged"),
		kit.Ignore("ApprovalConfigChanged"), kit.Ignore("SharingRebuildCompleted"),
	)
	c.GivenUp = h.onGivenUp
	return c
}

// consumer is the records with those with whom events are handled.
type consumer struct {
	*Records
	approvals Approvals
	notifier  Notifier
}

// onSubmitted locks the fields of a record until its approval is decided. Approvals that
// are kept beside the records have locked them in the transaction of their submission, and
// are asked: an event that comes late locks nothing.
func (s consumer) onSubmitted(ctx context.Context, tx *sqldb.Tx, e *events.Event, p events.ApprovalSubmitted) error {
	if open, err := s.approvals.Open(ctx, tx, e.Tenant, p.ApprovalInstanceID); err != nil || !open {
		return err
	}
	return Locks{}.Lock(ctx, tx, e.Tenant, model.FieldLock{
		ApprovalID: p.ApprovalInstanceID, Object: p.Target.ObjectName, RecordID: p.Target.RecordID,
		Fields: p.LockedFields, At: p.SubmittedAt,
	})
}

// onDecided unlocks them, and writes the outcome of the approval into the record.
func (s consumer) onDecided(ctx context.Context, tx *sqldb.Tx, e *events.Event, p events.ApprovalDecided) error {
	o, err := s.unlock(ctx, tx, e.Tenant, p.ApprovalInstanceID)
	if err != nil || len(o.Fields) == 0 {
		return err
	}
	return s.settle(ctx, tx, e, p.ApprovalInstanceID, o)
}

// unlock frees the fields that an approval locks, and gives its outcome. That is asked for:
// an event does not carry what may be sensitive.
func (s consumer) unlock(ctx context.Context, tx *sqldb.Tx, tenant, approval string) (o model.Outcome, err error) {
	if err := (Locks{}).Unlock(ctx, tx, tenant, approval); err != nil {
		return o, err
	}
	return s.approvals.Outcome(ctx, tx, tenant, approval)
}

// skipped is why an outcome is not written that an operator has given up.
const skipped = "an operator skipped the event with which it would have been written"

// onGivenUp takes it that the end of an approval never comes, since an operator skipped it:
// its fields are free, and its outcome counts as refused.
func (s consumer) onGivenUp(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
	if e.Type != "ApprovalDecided" {
		return nil
	}
	p, err := events.DecodePayload[events.ApprovalDecided](e)
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
