package approval

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

const (
	lookEvery = time.Second // between two looks for what happened elsewhere
	chunk     = 100         // what one look reads at a time
)

// Run recalls approvals whose executions were cancelled, and lets stages pass that wait
// for nobody any more, until ctx ends. Any number of processes may do so.
func (s *Approvals) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		s.attempt(ctx, "approvals whose executions ended could not be recalled", s.settle)
		s.attempt(ctx, "the approvers of open stages could not be worked out anew", s.renew)
		select {
		case <-s.Wakeup():
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// attempt does what can be done again later. What cannot be done now is not worth a line
// each time: the database says so itself.
func (s *Approvals) attempt(ctx context.Context, failed string, do func(context.Context) error) {
	err := do(context.WithoutCancel(ctx))
	if err != nil && !fault.Passes(err) {
		s.cfg.Log.ErrorContext(ctx, failed, "error", err)
	}
}

// place is something of a tenant.
type place struct{ tenant, id string }

// places reads two columns of a statement.
func (s *Approvals) places(ctx context.Context, query string, args ...any) (found []place, err error) {
	err = s.DB.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		found, err = sqldb.Collect(ctx, tx, func(row *sqldb.Row) (p place, err error) {
			err = row.Scan(&p.tenant, &p.id)
			return p, err
		}, query, args...)
		return err
	})
	return found, err
}

// endedTable queues the executions that have ended.
const endedTable = "approval_ended"

// settle recalls the approvals of executions that ended without them.
func (s *Approvals) settle(ctx context.Context) error {
	return s.Wrap("settle", s.Each(ctx, s.DB, s.settleOne))
}

// settleOne recalls the approval of an execution that ended, if it is still pending:
// somebody has cancelled the execution itself.
func (s *Approvals) settleOne(ctx context.Context, tenant, execution string) error {
	id, err := flow.ParseID(execution)
	if err != nil {
		return err
	}
	view, err := s.cfg.Engine.Execution(ctx, tenant, id, 0)
	if err != nil {
		return err
	}
	return s.DB.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		a, err := scanInstance(tx.Row(ctx, selectByExecution+s.sql.forUpdate, tenant, execution))
		if errors.Is(err, sqldb.ErrNoRow) || err == nil && a.status != Pending {
			return tx.Batch(ctx, s.Settled(tenant, execution))
		}
		if err != nil {
			return err
		}
		w, err := s.begin(ctx, tx, Caller{Tenant: tenant, CorrelationID: a.correlationID})
		if err != nil {
			return err
		}
		return w.end(ctx, &a, ending{Recalled, w.User, view.State.CancelReason})
	})
}

const (
	selectStale = "SELECT tenant_id, event FROM approval_stale ORDER BY tenant_id"
	selectOpen  = "SELECT tenant_id, id FROM approval_instance WHERE tenant_id = $1 AND status = 0 AND id > $2 ORDER " +
		"BY id LIMIT $3"
)

// renew looks at the open stages of tenants whose users, roles or permissions changed.
func (s *Approvals) renew(ctx context.Context) (failed error) {
	stale, err := s.places(ctx, selectStale)
	if err != nil {
		return s.Wrap("renew", err)
	}
	for _, tenant := range stale {
		err := s.renewTenant(ctx, tenant.tenant)
		if err == nil {
			err = s.DB.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, "DELETE FROM approval_stale WHERE tenant_id = $1 AND event = $2", tenant.tenant,
					tenant.id)
				return err
			})
		}
		if err != nil {
			failed = s.Wrap("renew", err)
		}
	}
	return failed
}

func (s *Approvals) renewTenant(ctx context.Context, tenant string) error {
	for after := ""; ; {
		open, err := s.places(ctx, selectOpen, tenant, after, chunk)
		if err != nil {
			return err
		}
		for _, p := range open {
			if err := s.renewOne(ctx, p); err != nil && !errors.Is(err, errMoved) {
				return err
			}
		}
		if len(open) < chunk {
			return nil
		}
		after = open[len(open)-1].id
	}
}

// renewOne looks at an open stage anew: who may not decide in it any more has no deputy
// there, and when all who are left have approved, it passes. What moves meanwhile has
// been looked at by whoever moved it.
func (s *Approvals) renewOne(ctx context.Context, p place) error {
	var e ending
	var at int
	var execution flow.ID
	look := func(ctx context.Context, tx *sqldb.Tx, lock string) (*session, *instance, error) {
		a, err := find(ctx, tx, p.tenant, p.id, lock)
		if err != nil {
			return nil, nil, err
		}
		w, err := s.begin(ctx, tx, Caller{Tenant: p.tenant, CorrelationID: a.correlationID})
		return w, a, err
	}
	err := s.DB.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		w, a, err := look(ctx, tx, "")
		if err != nil {
			return err
		}
		at, e = a.at, left(w.Model, a)
		execution, err = flow.ParseID(a.execution)
		return err
	})
	if err != nil {
		return err
	}
	unit := engine.Unit{After: func(ctx context.Context, tx *sqldb.Tx, results []engine.Result) error {
		w, a, err := look(ctx, tx, s.sql.forUpdate)
		if err != nil {
			return err
		}
		if a.status != Pending || a.at != at || left(w.Model, a) != e || w.alive(ctx, a, results) != nil {
			return errMoved
		}
		if err := w.prune(ctx, a); err != nil || e.status == Pending {
			return err
		}
		return w.pass(ctx, a, e)
	}}
	if e.status != Pending {
		c, err := resume(at, e.status, e.by)
		if err != nil {
			return err
		}
		unit.Commands = []engine.Request{{
			Tenant: p.tenant, Execution: execution, Command: c, CorrelationID: p.id,
			Actor: flow.Actor{Kind: flow.KindSystem, ID: "approval"},
		}}
	}
	return s.perform(ctx, unit)
}

// left is how the open stage ends since those who are left have all approved: as the last
// of them said. Mostly it does not.
func left(m *model.Model, a *instance) (e ending) {
	if a.status != Pending || a.open().Decide != model.ByAll {
		return e
	}
	all := slots(m, a, a.at)
	if !complete(all) {
		return e
	}
	last := slices.MaxFunc(all, func(a, b slot) int { return cmp.Compare(a.vote.at, b.vote.at) }).vote
	return ending{Approved, last.user, last.comment}
}

// prune takes deputies of those away who are no approvers of the open stage any more.
func (w *session) prune(ctx context.Context, a *instance) error {
	var stmts []sqldb.Stmt
	kept := a.deputies[:0:0]
	all := slots(w.Model, a, a.at)
	for _, d := range a.deputies {
		if d.stage == a.at && !slices.ContainsFunc(all, func(s slot) bool {
			return s.approver == d.approver && s.deputy != nil
		}) {
			stmts = append(stmts, d.remove(w.Caller.Tenant, a.id))
			continue
		}
		kept = append(kept, d)
	}
	if len(stmts) == 0 {
		return nil
	}
	a.deputies = kept
	return w.Tx.Batch(ctx, append(stmts, a.principals(w.Caller.Tenant)...)...)
}
