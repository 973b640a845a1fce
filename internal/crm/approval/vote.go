package approval

import (
	"context"
	"errors"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Decide says what an approver thinks, in the stage that is open, and gives the approval
// as it is then. When that closes the stage, the execution goes on in the same
// transaction; one that was cancelled refuses, and nothing happens.
func (s *Approvals) Decide(ctx context.Context, c Caller, id string, b Ballot, key *canonical.IdempotencyKey) (
	answer []byte, replay bool, err error,
) {
	var ends Status // what the stage ends with, as planned; Pending: it does not
	var stage int
	plan := func(w *session, a *instance) (flow.Command, error) {
		v, err := cast(w.Model, a, w.User, &b, w.now)
		if err != nil {
			return nil, err
		}
		ends, stage = v.ends, a.at
		if b.Stage == nil {
			b.Stage = new(a.at) // however often it is planned, it means this one
		}
		if ends == Pending {
			return nil, nil
		}
		return resume(stage, ends, c.Subject)
	}
	return s.change(ctx, "decide", c, id, key, plan,
		func(ctx context.Context, w *session, a *instance, results []engine.Result) error {
			v, err := cast(w.Model, a, w.User, &b, w.now)
			if err != nil {
				return err
			}
			if v.ends != ends || a.at != stage {
				return errMoved
			}
			if err := w.alive(ctx, a, results); err != nil {
				return err
			}
			stmts := make([]sqldb.Stmt, len(v.votes))
			for i, one := range v.votes {
				stmts[i] = sqldb.Stmt{Query: insertVote, Args: []any{
					c.Tenant, a.id, one.stage, one.approver, one.user, int64(one.decision), one.comment, one.at,
				}}
			}
			if err := w.Tx.Batch(ctx, stmts...); err != nil {
				return err
			}
			a.votes = append(a.votes, v.votes...)
			if v.ends == Pending {
				return nil
			}
			return w.pass(ctx, a, ending{v.ends, w.User, b.Comment})
		})
}

// alive refuses what comes after the execution has ended. A Wait that somebody resumed by
// hand is not one: what counts of the stages are the decisions.
func (w *session) alive(ctx context.Context, a *instance, results []engine.Result) error {
	over := fault.New(fault.Conflict, CodeEnded, "the execution of the approval was ended, so it is recalled").With(
		map[string]string{"status": Recalled.String()})
	for i := range results {
		if refused := results[i].Answer.Refused; refused != nil && refused.Guard != flow.GuardNodeWaiting {
			return over
		}
	}
	var one int64
	err := w.Tx.Row(ctx, "SELECT 1 FROM "+endedTable+" WHERE tenant_id = $1 AND execution = $2", w.Caller.Tenant,
		a.execution).Scan(&one)
	switch {
	case errors.Is(err, sqldb.ErrNoRow):
		return nil
	case err == nil && len(results) == 0:
		return over
	}
	return err
}
