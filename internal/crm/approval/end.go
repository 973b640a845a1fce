package approval

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// service names what is published here.
const service = "approval-service"

func submittedEvent(a *instance) events.Payload {
	return events.ApprovalSubmitted{
		ApprovalInstanceID: a.id, Target: events.ApprovalTarget{ObjectName: a.object, RecordID: a.recordID},
		SubmittedBy: a.submittedBy, SubmittedAt: a.submittedAt, LockedFields: a.locked,
		CurrentStageIndex: events.Count(a.at),
	}
}

func decidedEvent(a *instance) events.Payload {
	return events.ApprovalDecided{
		ApprovalInstanceID: a.id, Target: events.ApprovalTarget{ObjectName: a.object, RecordID: a.recordID},
		Decision: a.status.String(), DecidedBy: a.decidedBy, DecidedAt: a.decidedAt, Comment: events.OrNull(a.decision),
		FinalStageIndex: events.Count(a.at),
	}
}

// publish publishes an event of an approval, whose row is held.
func (w *session) publish(ctx context.Context, a *instance, p events.Payload) error {
	body, err := events.NewPayload(p)
	if err != nil {
		return err
	}
	return w.cfg.Publisher.Publish(ctx, w.Tx, events.Event{
		Type: p.EventType(), OccurredAt: a.version, Tenant: w.Caller.Tenant,
		Producer:      events.Producer{Service: service},
		CorrelationID: w.Caller.CorrelationID,
		Key:           events.RecordKey("Approval", w.Caller.Tenant, a.id), Version: a.version, Payload: body,
	})
}

// ending is how an approval ends, or how one of its stages does.
type ending struct {
	status  Status
	by      string
	comment string
}

// pass closes the open stage of an approval, whose row is held: it goes to the next one,
// or ends.
func (w *session) pass(ctx context.Context, a *instance, e ending) error {
	if e.status != Approved || a.at+1 == len(a.stages) {
		return w.end(ctx, a, e)
	}
	a.at++
	a.version = canonical.NextStamp(a.version, w.now)
	return w.Tx.Batch(ctx, append(a.principals(w.Caller.Tenant), a.update(w.Caller.Tenant))...)
}

// end ends an approval and publishes it. Its fields are free again, unless core has an
// outcome to write: then it frees them with that, so that nobody comes in between.
func (w *session) end(ctx context.Context, a *instance, e ending) error {
	a.version = canonical.NextStamp(a.version, w.now)
	a.status, a.decidedBy, a.decidedAt, a.decision = e.status, e.by, a.version, e.comment
	stmts := append(
		a.principals(w.Caller.Tenant),
		a.update(w.Caller.Tenant),
		w.Settled(w.Caller.Tenant, a.execution),
	)
	if err := w.Tx.Batch(ctx, stmts...); err != nil {
		return err
	}
	if err := w.release(ctx, a); err != nil {
		return err
	}
	return w.publish(ctx, a, decidedEvent(a))
}

// release lets go of the fields of an approval that has ended, or keeps them, and those that
// its outcome is about, until that is written.
func (w *session) release(ctx context.Context, a *instance) error {
	if len(a.outcome()) == 0 {
		return w.cfg.Locks.Unlock(ctx, w.Tx, w.Caller.Tenant, a.id)
	}
	return w.cfg.Locks.Lock(ctx, w.Tx, w.Caller.Tenant, a.lock())
}

// outcome is what an approval writes into its record as it stands: nothing while it is
// pending.
func (a *instance) outcome() map[string]jsontext.Value {
	switch a.status {
	case Approved:
		return a.outcomes.OnApproved
	case Rejected:
		return a.outcomes.OnRejected
	case Recalled:
		return a.outcomes.OnRecalled
	}
	return nil
}

// lock is the fields that an approval keeps as they are as it stands.
func (a *instance) lock() model.FieldLock {
	fields := slices.Clone(a.locked)
	for _, name := range slices.Sorted(maps.Keys(a.outcome())) {
		if !slices.Contains(fields, name) {
			fields = append(fields, name)
		}
	}
	return model.FieldLock{
		ApprovalID: a.id,
		Object:     a.object,
		RecordID:   a.recordID,
		Fields:     fields,
		At:         a.submittedAt,
	}
}

// Outcome is what an approval writes into its record: nothing while it is pending, or when
// there is no such approval. It is for core.
func (s *Approvals) Outcome(ctx context.Context, tx *sqldb.Tx, tenant, id string) (model.Outcome, error) {
	a, err := scanInstance(tx.Row(ctx, selectInstance, tenant, id))
	if errors.Is(err, sqldb.ErrNoRow) {
		return model.Outcome{}, nil
	}
	return model.Outcome{
		Object: a.object, RecordID: a.recordID, Fields: a.outcome(), SubmittedBy: a.submittedBy, DecidedBy: a.decidedBy,
	}, s.Wrap("outcome", err)
}
