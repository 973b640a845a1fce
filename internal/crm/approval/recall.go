package approval

import (
	"context"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Recall takes a submission back: its execution is cancelled, and no decision counts any
// more. It is for the one who submitted, and for who may modify all records.
func (s *Approvals) Recall(ctx context.Context, c Caller, id, comment string, key *wire.Once) (
	answer []byte, replay bool, err error,
) {
	r := &recalling{about: about{request: request{Approvals: s, call: c, key: key}, id: id}, comment: comment}
	return r.do(ctx, "approval.recall", r.look, r.unit)
}

// recalling is a recall under way.
type recalling struct {
	about
	comment string
}

func (r *recalling) look(ctx context.Context, w *session) error {
	a, err := r.see(ctx, w)
	if err != nil {
		return err
	}
	if a.submittedBy != w.user && !w.model.ModifyAll(w.user) {
		return fault.New(fault.Forbidden, CodeDenied,
			"only who submitted the record, or may modify all records, recalls the approval")
	}
	return a.waits(nil)
}

func (r *recalling) unit(context.Context) (engine.Unit, error) {
	return engine.Unit{
		// An execution that has ended refuses, and that is fine: what counts is the approval.
		Commands: []engine.Request{r.command(flow.Cancel{Reason: "the approval was recalled"})},
		After: func(ctx context.Context, tx *sqldb.Tx, _ []engine.Result) error {
			return r.idempotent(ctx, tx, func(w *session) ([]byte, error) {
				a, err := find(ctx, w.tx, w.tenant, r.id, w.sql.forUpdate)
				if err != nil {
					return nil, err
				}
				if err := a.waits(nil); err != nil {
					return nil, err
				}
				if err := w.end(ctx, a, ending{Recalled, w.user, r.comment}); err != nil {
					return nil, err
				}
				return w.showNow(ctx, a)
			})
		},
	}, nil
}

// Delegate gives the places in the open stage that the caller holds to another user, who
// decides instead, and gives the approval as it is then.
func (s *Approvals) Delegate(ctx context.Context, c Caller, id, to, comment string, key *wire.Once) (
	answer []byte, replay bool, err error,
) {
	r := &about{request: request{Approvals: s, call: c, key: key}, id: id}
	look := func(ctx context.Context, w *session) error {
		a, err := r.see(ctx, w)
		if err == nil {
			_, err = hand(w.model, a, w.user, to, w.now, comment)
		}
		return err
	}
	unit := func(context.Context) (engine.Unit, error) {
		return engine.Unit{After: func(ctx context.Context, tx *sqldb.Tx, _ []engine.Result) error {
			return r.idempotent(ctx, tx, func(w *session) ([]byte, error) { return w.delegate(ctx, id, to, comment) })
		}}, nil
	}
	return r.do(ctx, "approval.delegate", look, unit)
}

// delegate writes down who decides instead of the caller.
func (w *session) delegate(ctx context.Context, id, to, comment string) ([]byte, error) {
	a, err := find(ctx, w.tx, w.tenant, id, w.sql.forUpdate)
	if err != nil {
		return nil, err
	}
	given, err := hand(w.model, a, w.user, to, w.now, comment)
	if err != nil {
		return nil, err
	}
	if err := w.alive(ctx, a, nil); err != nil {
		return nil, err
	}
	return w.answerDeputies(ctx, a, given)
}

// answerDeputies stores places that were given away. A place that comes back to its
// approver has no deputy.
func (w *session) answerDeputies(ctx context.Context, a *instance, given []deputy) ([]byte, error) {
	var stmts []sqldb.Stmt
	for _, d := range given {
		if d.user == d.approver {
			stmts = append(stmts, sqldb.Stmt{Query: deleteDeputy, Args: []any{w.tenant, a.id, d.stage, d.approver}})
			continue
		}
		stmts = append(stmts, sqldb.Stmt{Query: putDeputy, Args: []any{
			w.tenant, a.id, d.stage, d.approver, d.user,
			d.by, d.comment, d.at,
		}})
	}
	if err := w.tx.Batch(ctx, stmts...); err != nil {
		return nil, err
	}
	now, err := find(ctx, w.tx, w.tenant, a.id, "")
	if err != nil {
		return nil, err
	}
	if err := w.tx.Batch(ctx, now.principals(w.tenant)...); err != nil {
		return nil, err
	}
	return w.showNow(ctx, now)
}
