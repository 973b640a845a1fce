package sharing

import (
	"context"
	"errors"
	"time"

	"renga.dev/renga/internal/engine"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/flow"
	"renga.dev/renga/internal/sqldb"
)

// A rebuild is an execution of this graph, with one task that a process of the server
// claims. Callers cannot make a graph of this name.
const (
	GraphPrefix  = "sharing:" // begins the ids of graphs of sharing; names that users give have no colon
	graphID      = GraphPrefix + "rebuild"
	rebuildNode  = "rebuild"
	rebuildQueue = "sharing.rebuild"
	lease        = 30 // seconds, renewed with every chunk
	idleFor      = time.Second
	retainEvery  = 10 * time.Minute
)

func rebuildGraph() flow.Graph {
	return flow.Graph{
		Nodes: []flow.NodeSpec{
			{NodeID: "start", Type: flow.StartKind},
			{NodeID: rebuildNode, Type: flow.TaskKind, Queue: rebuildQueue, Retry: &flow.Retry{
				MaxAttempts: flow.MaxAttempts, InitialInterval: flow.Duration(50 * time.Millisecond), Backoff: 2, MaxInterval: flow.Duration(10 * time.Second),
			}},
			{NodeID: "done", Type: flow.SuccessKind},
		},
		Edges: []flow.Edge{{From: "start", To: rebuildNode}, {From: rebuildNode, To: "done"}},
	}
}

// Run rebuilds, and deletes the rows of models that are not used any more, until ctx
// ends; what is under way goes on at the next start.
func (s *Sharing) Run(ctx context.Context) {
	if s.cfg.Engine == nil {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var retained time.Time
	for ctx.Err() == nil {
		worked, err := s.step(ctx)
		if now := time.Now(); now.Sub(retained) >= retainEvery {
			retained = now
			err = errors.Join(err, s.retainKeys(ctx))
		}
		if err != nil && ctx.Err() == nil && fault.KindOf(err) != fault.Unavailable {
			s.log.ErrorContext(ctx, "sharing could not be rebuilt", "error", err)
		}
		if worked && err == nil {
			continue
		}
		timer.Reset(idleFor)
		select {
		case <-s.kick:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// step does some of what there is to do and reports whether there was anything.
func (s *Sharing) step(ctx context.Context) (worked bool, err error) {
	var building []Model
	err = s.read(ctx, "sharing.step", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		building, err = models(ctx, tx, "SELECT "+modelColumns+" FROM sharing_model WHERE status = 1 ORDER BY num LIMIT 100")
		return err
	})
	if err != nil {
		return false, err
	}
	var failed error
	for i := range building {
		did, err := s.advance(ctx, &building[i])
		worked, failed = worked || did, errors.Join(failed, err)
	}
	swept, err := s.sweep(ctx)
	return worked || swept, errors.Join(failed, err)
}

// advance starts the execution of a rebuild, or works on it if nobody does.
func (s *Sharing) advance(ctx context.Context, b *Model) (worked bool, err error) {
	if b.Execution == "" {
		return true, s.start(ctx, b)
	}
	claimed, err := s.cfg.Engine.Claim(ctx, engine.ClaimRequest{
		Tenant: b.tenant, Worker: s.cfg.Worker, Queues: []string{rebuildQueue}, Max: 1, Lease: lease, CorrelationID: b.Execution,
	})
	if err != nil {
		return false, fault.Wrap("sharing.claim", err)
	}
	for i := range claimed.Tasks {
		worked = true
		if err := s.work(ctx, b.tenant, &claimed.Tasks[i]); err != nil {
			return true, err
		}
	}
	if !worked {
		return false, s.look(ctx, b)
	}
	return true, nil
}

// start starts the execution of a rebuild, once.
func (s *Sharing) start(ctx context.Context, b *Model) error {
	if _, _, err := s.cfg.Engine.PutGraph(ctx, b.tenant, graphID, rebuildGraph()); err != nil {
		return fault.Wrap("sharing.start", err)
	}
	input, err := b.input()
	if err != nil {
		return err
	}
	_, err = s.cfg.Engine.Do(ctx, engine.Unit{
		Before: func(ctx context.Context, tx *sqldb.Tx) error {
			n, err := tx.Exec(ctx, "UPDATE sharing_model SET execution = '' WHERE num = $1 AND tenant_id = $2 AND status = 1 AND execution = ''", b.num, b.tenant)
			if err == nil && n == 0 {
				err = errGone
			}
			return err
		},
		Commands: []engine.Request{{
			Tenant: b.tenant, GraphID: graphID, Start: true, Command: flow.Create{Input: input}, Actor: s.actor(), CorrelationID: s.cfg.Worker,
		}},
		After: func(ctx context.Context, tx *sqldb.Tx, results []engine.Result) error {
			if refused := results[0].Answer.Refused; refused != nil {
				return refused
			}
			_, err := tx.Exec(ctx, "UPDATE sharing_model SET execution = $3 WHERE num = $1 AND tenant_id = $2", b.num, b.tenant, results[0].Answer.Execution.String())
			return err
		},
	})
	if errors.Is(err, errGone) {
		return nil
	}
	return fault.Wrap("sharing.start", err)
}

func (s *Sharing) actor() flow.Actor { return flow.Actor{Kind: flow.KindSystem, ID: "sharing"} }

// work does a rebuild to its end, unless ctx ends before or the task is lost.
func (s *Sharing) work(ctx context.Context, tenant string, task *engine.Task) error {
	b, err := s.modelOf(ctx, tenant, task.Execution)
	if err != nil {
		return err
	}
	if b == nil || b.Status != Building {
		return s.submit(ctx, tenant, task, flow.Cancel{Reason: "the rebuild was given up: the object is to be shared in another way by now"})
	}
	for done := false; !done; {
		if ctx.Err() != nil {
			return s.submit(context.WithoutCancel(ctx), tenant, task, s.failed(task, "ERR_INTERRUPTED", "the process ended"))
		}
		done, err = s.chunk(ctx, b)
		if errors.Is(err, errGone) {
			return nil // who did these records goes on; an execution that was given up is canceled by sweep
		}
		if err != nil {
			return errors.Join(err, s.submit(context.WithoutCancel(ctx), tenant, task, s.failed(task, "ERR_HANDLER", "some records could not be shared")))
		}
		if err := s.submit(ctx, tenant, task, b.progress(task, s.cfg.Worker)); err != nil {
			return err
		}
	}
	return s.finish(ctx, b, task)
}

// finish ends an execution and switches to its model, in one transaction.
func (s *Sharing) finish(ctx context.Context, b *Model, task *engine.Task) error {
	output, err := b.input()
	if err != nil {
		return err
	}
	_, err = s.cfg.Engine.Do(ctx, engine.Unit{
		Before: func(ctx context.Context, tx *sqldb.Tx) error { return s.switchTo(ctx, tx, b) },
		Commands: []engine.Request{{
			Tenant: b.tenant, Execution: task.Execution, Actor: s.actor(), CorrelationID: b.Execution,
			Command: flow.Succeed{Node: task.Node, Attempt: task.Attempt, Worker: s.cfg.Worker, Output: output},
		}},
		After: func(_ context.Context, _ *sqldb.Tx, results []engine.Result) error {
			if results[0].Answer.Refused != nil {
				return errGone
			}
			return nil
		},
	})
	if errors.Is(err, errGone) {
		return nil
	}
	return fault.Wrap("sharing.finish", err)
}

// look finds out why nobody can work on a rebuild. One that was canceled is given up; one
// whose execution ended otherwise gets another.
func (s *Sharing) look(ctx context.Context, b *Model) error {
	id, err := flow.ParseID(b.Execution)
	if err != nil {
		return err
	}
	v, err := s.cfg.Engine.Execution(ctx, b.tenant, id, 0)
	if err != nil {
		return fault.Wrap("sharing.look", err)
	}
	if !v.State.Status.Terminal() {
		return nil
	}
	return s.write(ctx, "sharing.look", func(ctx context.Context, tx *sqldb.Tx) error {
		if v.State.Status == flow.Canceled {
			if _, _, err := holdTenant(ctx, tx, b.tenant); err != nil {
				return err
			}
			if err := s.endModel(ctx, tx, b, Canceled); err != nil && !errors.Is(err, errGone) {
				return err
			}
			return nil
		}
		tx.OnCommit(s.wake)
		_, err := tx.Exec(ctx, "UPDATE sharing_model SET execution = '' WHERE num = $1 AND tenant_id = $2 AND status = 1 AND execution = $3", b.num, b.tenant, b.Execution)
		return err
	})
}

// modelOf is the model that an execution builds, nil when there is none.
func (s *Sharing) modelOf(ctx context.Context, tenant string, execution flow.ID) (b *Model, err error) {
	err = s.read(ctx, "sharing.modelOf", func(ctx context.Context, tx *sqldb.Tx) error {
		all, err := models(ctx, tx, "SELECT "+modelColumns+" FROM sharing_model WHERE tenant_id = $1 AND execution = $2", tenant, execution.String())
		if len(all) > 0 {
			b = &all[0]
		}
		return err
	})
	return b, err
}

// submit sends a command about a task. A refusal is not an error: somebody else has it.
func (s *Sharing) submit(ctx context.Context, tenant string, task *engine.Task, c flow.Command) error {
	results := s.cfg.Engine.Submit(ctx, []engine.Request{{
		Tenant: tenant, Execution: task.Execution, Command: c, Actor: s.actor(), CorrelationID: task.Execution.String(),
	}})
	return fault.Wrap("sharing.submit", results[0].Err)
}

func (s *Sharing) failed(task *engine.Task, code, message string) flow.Command {
	return flow.Fail{Node: task.Node, Attempt: task.Attempt, Worker: s.cfg.Worker, Error: &flow.Error{Code: code, Message: message}}
}
