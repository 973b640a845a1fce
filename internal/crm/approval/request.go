package approval

import (
	"context"
	"errors"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// maxLooks is how often a request is planned anew because something changed between its
// plan and its transaction.
const maxLooks = 16

var (
	errMoved = errors.New("approval: what the request was planned on has changed")
	errKnown = errors.New("approval: the key has an answer")
)

// request is something that a caller wants done once, however often it is planned.
type request struct {
	op     string
	caller Caller
	key    *canonical.IdempotencyKey // nil: it may not be repeated
	// look plans in a transaction that cannot write; commands are for the engine (nil: none).
	look     func(ctx context.Context, w *session) error
	commands func(ctx context.Context) ([]engine.Request, error)
	// save does it in the transaction of the commands, whose results it gets; errMoved says that
	// the plan does not hold any more.
	save func(ctx context.Context, w *session, results []engine.Result) ([]byte, error)
}

// do executes a request, planned anew until nothing came in between.
func (s *Approvals) do(ctx context.Context, r *request) (answer []byte, replay bool, err error) {
	for range maxLooks {
		answer, err = s.try(ctx, r)
		switch {
		case errors.Is(err, errMoved):
			continue
		case errors.Is(err, errKnown):
			answer, err = s.again(ctx, r, answer)
			return answer, true, err
		case err != nil:
			return nil, false, s.Wrap(r.op, err)
		}
		return answer, false, nil
	}
	return nil, false, s.Wrap(r.op, fault.New(fault.Unavailable, "STORAGE_BUSY",
		"the approval changed all the time; nothing was done, send it again"))
}

// try plans and executes a request; errKnown comes with the answer that its key has. What began
// may have happened, so its end is waited for.
func (s *Approvals) try(ctx context.Context, r *request) (answer []byte, err error) {
	repeatable := func(w *session) idempotency.Request {
		return idempotency.Request{Tenant: r.caller.Tenant, Key: r.key, At: w.now}
	}
	err = s.read(ctx, r.op, r.caller, func(ctx context.Context, w *session) (err error) {
		if answer, err = s.keys.Recall(ctx, w.Tx, repeatable(w)); err != nil {
			return err
		}
		if answer != nil {
			return errKnown
		}
		return r.look(ctx, w)
	})
	if err != nil {
		return answer, err
	}
	unit := engine.Unit{After: func(ctx context.Context, tx *sqldb.Tx, results []engine.Result) error {
		w, err := s.begin(ctx, tx, r.caller)
		if err != nil {
			return err
		}
		var known bool
		answer, known, err = s.keys.Do(
			ctx,
			tx,
			repeatable(w),
			func() ([]byte, error) { return r.save(ctx, w, results) },
		)
		if err == nil && known {
			err = errKnown // so that nothing else of the transaction happens
		}
		return err
	}}
	if r.commands != nil {
		if unit.Commands, err = r.commands(ctx); err != nil {
			return nil, err
		}
	}
	err = s.perform(context.WithoutCancel(ctx), unit)
	return answer, err
}

// perform does a unit: through the engine if it has a command.
func (s *Approvals) perform(ctx context.Context, unit engine.Unit) error {
	if len(unit.Commands) > 0 {
		_, err := s.cfg.Engine.Do(ctx, unit)
		return err
	}
	return s.DB.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		return unit.After(ctx, tx, nil)
	})
}

// change is a request about an approval that the caller may know of. plan gives the command that
// it takes; nil: none. apply changes the approval, whose row is held: the execution is held
// before the approval, as by all who hold both.
func (s *Approvals) change(ctx context.Context, op string, c Caller, id string, key *canonical.IdempotencyKey,
	plan func(w *session, a *instance) (flow.Command, error),
	apply func(ctx context.Context, w *session, a *instance, results []engine.Result) error,
) (answer []byte, replay bool, err error) {
	var commands []engine.Request
	return s.do(ctx, &request{
		op: op, caller: c, key: key,
		look: func(ctx context.Context, w *session) error {
			a, err := w.visible(ctx, id)
			if err != nil {
				return err
			}
			execution, err := flow.ParseID(a.execution)
			if err != nil {
				return err
			}
			command, err := plan(w, a)
			if commands = nil; command != nil {
				commands = []engine.Request{{
					Tenant: c.Tenant, Execution: execution, Command: command, Actor: actorOf(c),
					CorrelationID: c.CorrelationID,
				}}
			}
			return err
		},
		commands: func(context.Context) ([]engine.Request, error) { return commands, nil },
		save: func(ctx context.Context, w *session, results []engine.Result) ([]byte, error) {
			a, err := find(ctx, w.Tx, c.Tenant, id, s.sql.forUpdate)
			if err != nil {
				return nil, err
			}
			if err := apply(ctx, w, a, results); err != nil {
				return nil, err
			}
			return w.showNow(ctx, a)
		},
	})
}

func actorOf(c Caller) flow.Actor { return flow.Actor{Kind: flow.KindUser, ID: c.Subject} }
