package approval

import (
	"context"

	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// service names what is published here.
const service = "approval-service"

// submittedEvent tells that a record was submitted.
func submittedEvent(a *instance) wire.Payload {
	return wire.ApprovalSubmitted{
		ApprovalInstanceID: a.id, Target: wire.ApprovalTarget{ObjectName: a.object, RecordID: a.recordID}, SubmittedBy: a.submittedBy,
		SubmittedAt: a.submittedAt, LockedFields: a.locked, CurrentStageIndex: wire.Count(a.at),
	}
}

// decidedEvent tells how an approval ended.
func decidedEvent(a *instance) wire.Payload {
	return wire.ApprovalDecided{
		ApprovalInstanceID: a.id, Target: wire.ApprovalTarget{ObjectName: a.object, RecordID: a.recordID}, Decision: a.status.String(),
		DecidedBy: a.decidedBy, DecidedAt: a.decidedAt, Comment: wire.OrNull(a.decision), FinalStageIndex: wire.Count(a.at),
	}
}

// announce publishes an event of an approval, whose row is held.
func (w *session) announce(ctx context.Context, a *instance, p wire.Payload) error {
	body, err := wire.NewPayload(p)
	if err != nil {
		return err
	}
	return w.cfg.Publisher.Publish(ctx, w.tx, wire.Event{
		Type: p.EventType(), OccurredAt: a.version, Tenant: w.tenant, Producer: wire.Producer{Service: service}, CorrelationID: w.correlationID,
		Key: wire.RecordKey("Approval", w.tenant, a.id), Version: a.version, Payload: body,
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
	a.version = wire.NextStamp(a.version, w.now)
	return w.tx.Batch(ctx, append(a.principals(w.tenant), a.update(w.tenant))...)
}

// end ends an approval: its fields are free again, and others are told.
func (w *session) end(ctx context.Context, a *instance, e ending) error {
	a.version = wire.NextStamp(a.version, w.now)
	a.status, a.decidedBy, a.decidedAt, a.decision = e.status, e.by, a.version, e.comment
	stmts := append(a.principals(w.tenant), a.update(w.tenant), forgetStmt(w.tenant, a.execution))
	if err := w.tx.Batch(ctx, stmts...); err != nil {
		return err
	}
	if err := w.cfg.Locks.Unlock(ctx, w.tx, w.tenant, a.id); err != nil {
		return err
	}
	return w.announce(ctx, a, decidedEvent(a))
}

// forgetStmt takes an execution from those whose approvals have to be looked at.
func forgetStmt(tenant, execution string) sqldb.Stmt {
	return sqldb.Stmt{Query: "DELETE FROM approval_ended WHERE tenant_id = $1 AND execution = $2", Args: []any{tenant, execution}}
}
