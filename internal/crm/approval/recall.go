package approval

import (
	"context"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Recall takes a submission back: its execution is cancelled, and no decision counts any
// more. It is for the one who submitted, and for who may modify all records.
func (s *Approvals) Recall(ctx context.Context, c Caller, id, comment string, key *canonical.IdempotencyKey) (
	answer []byte, replay bool, err error,
) {
	plan := func(w *session, a *instance) (flow.Command, error) {
		if a.submittedBy != w.User && !w.Model.ModifyAll(w.User) {
			return nil, fault.New(fault.Forbidden, kit.CodeAccessDenied,
				"only who submitted the record, or may modify all records, recalls the approval")
		}
		return flow.Cancel{Reason: "the approval was recalled"}, a.waits(nil)
	}
	// An execution that has ended refuses, and that is fine: what counts is the approval.
	return s.change(ctx, "recall", c, id, key, plan,
		func(ctx context.Context, w *session, a *instance, _ []engine.Result) error {
			if err := a.waits(nil); err != nil {
				return err
			}
			return w.end(ctx, a, ending{Recalled, w.User, comment})
		})
}

// Delegate gives the places in the open stage that the caller holds to another user, who
// decides instead, and gives the approval as it is then. A place that comes back to its
// approver has no deputy.
func (s *Approvals) Delegate(ctx context.Context, c Caller, id, to, comment string, key *canonical.IdempotencyKey) (
	answer []byte, replay bool, err error,
) {
	plan := func(w *session, a *instance) (flow.Command, error) {
		_, err := hand(w.Model, a, w.User, to, w.now, comment)
		return nil, err
	}
	return s.change(ctx, "delegate", c, id, key, plan,
		func(ctx context.Context, w *session, a *instance, _ []engine.Result) error {
			given, err := hand(w.Model, a, w.User, to, w.now, comment)
			if err != nil {
				return err
			}
			if err := w.alive(ctx, a, nil); err != nil {
				return err
			}
			var stmts []sqldb.Stmt
			for _, d := range given {
				if d.user == d.approver {
					stmts = append(stmts, d.remove(c.Tenant, a.id))
					continue
				}
				stmts = append(stmts, sqldb.Stmt{Query: putDeputy, Args: []any{
					c.Tenant, a.id, d.stage, d.approver, d.user, d.by, d.comment, d.at,
				}})
			}
			if err := w.Tx.Batch(ctx, stmts...); err != nil {
				return err
			}
			a.votes, a.deputies = nil, nil
			if err := load(ctx, w.Tx, c.Tenant, a); err != nil {
				return err
			}
			return w.Tx.Batch(ctx, a.principals(c.Tenant)...)
		})
}

// remove is the statement that takes a deputy away.
func (d *deputy) remove(tenant, approval string) sqldb.Stmt {
	return sqldb.Stmt{Query: deleteDeputy, Args: []any{tenant, approval, d.stage, d.approver}}
}
