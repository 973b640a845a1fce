package approval

import (
	"context"
	"errors"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Decide says what an approver thinks, in the stage that is open, and gives the approval
// as it is then. When that closes the stage, the execution goes on in the same
// transaction; one that was cancelled refuses, and nothing happens.
func (s *Approvals) Decide(ctx context.Context, c Caller, id string, b Ballot, key *wire.Once) (
	answer []byte, replay bool, err error,
) {
	r := &voting{about: about{request: request{Approvals: s, call: c, key: key}, id: id}, ballot: b}
	return r.do(ctx, "approval.decide", r.look, r.unit)
}

// about is a request about an approval that is there.
type about struct {
	request
	id        string
	execution flow.ID
}

// see is the approval, if the caller may know of it.
func (r *about) see(ctx context.Context, w *session) (*instance, error) {
	a, err := w.visible(ctx, r.id)
	if err == nil {
		r.execution, err = flow.ParseID(a.execution)
	}
	return a, err
}

// command is a request to the engine on behalf of the caller.
func (r *about) command(c flow.Command) engine.Request {
	return engine.Request{
		Tenant: r.call.Tenant, Execution: r.execution, Command: c, Actor: r.call.actor(),
		CorrelationID: r.call.CorrelationID,
	}
}

// voting is a decision under way.
type voting struct {
	about
	ballot Ballot
	ends   Status // what the stage ends with, as planned; Pending: it does not
	stage  int    // in which
}

func (r *voting) look(ctx context.Context, w *session) error {
	a, err := r.see(ctx, w)
	if err != nil {
		return err
	}
	v, err := cast(w.model, a, w.user, &r.ballot, w.now)
	if err != nil {
		return err
	}
	if r.ballot.Stage == nil {
		at := a.at
		r.ballot.Stage = &at // however often it is looked at, it means this one
	}
	r.ends, r.stage = v.ends, a.at
	return nil
}

func (r *voting) unit(context.Context) (unit engine.Unit, err error) {
	if r.ends != Pending {
		c, err := resume(r.stage, r.ends, r.call.Subject)
		if err != nil {
			return unit, err
		}
		unit.Commands = []engine.Request{r.command(c)}
	}
	unit.After = func(ctx context.Context, tx *sqldb.Tx, results []engine.Result) error {
		return r.idempotent(ctx, tx, func(w *session) ([]byte, error) { return r.save(ctx, w, results) })
	}
	return unit, nil
}

// save writes the decision down. The execution is held before the approval, as by all who
// hold both.
func (r *voting) save(ctx context.Context, w *session, results []engine.Result) ([]byte, error) {
	a, err := find(ctx, w.tx, w.tenant, r.id, w.sql.forUpdate)
	if err != nil {
		return nil, err
	}
	v, err := cast(w.model, a, w.user, &r.ballot, w.now)
	if err != nil {
		return nil, err
	}
	if v.ends != r.ends || a.at != r.stage {
		return nil, errMoved
	}
	if err := w.alive(ctx, a, results); err != nil {
		return nil, err
	}
	stmts := make([]sqldb.Stmt, 0, len(v.votes))
	for _, one := range v.votes {
		stmts = append(stmts, sqldb.Stmt{Query: insertVote, Args: []any{
			w.tenant, a.id, one.stage, one.approver, one.user, int64(one.decision), one.comment, one.at,
		}})
	}
	if err := w.tx.Batch(ctx, stmts...); err != nil {
		return nil, err
	}
	a.votes = append(a.votes, v.votes...)
	if v.ends != Pending {
		if err := w.pass(ctx, a, ending{v.ends, w.user, r.ballot.Comment}); err != nil {
			return nil, err
		}
	}
	return w.showNow(ctx, a)
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
	err := w.tx.Row(ctx, "SELECT 1 FROM approval_ended WHERE tenant_id = $1 AND execution = $2", w.tenant,
		a.execution).Scan(&one)
	switch {
	case errors.Is(err, sqldb.ErrNoRow):
		return nil
	case err == nil && len(results) == 0:
		return over
	}
	return err
}
