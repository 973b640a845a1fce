package search

import (
	"context"
	"errors"
	"strconv"
	"time"

	"renga.dev/renga/internal/engine"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/flow"
	"renga.dev/renga/internal/sqldb"
)

// A rebuild is an execution of this graph, with one task that a process of the server
// claims. Callers cannot make a graph of this name.
const (
	GraphPrefix  = "search:" // begins the ids of graphs of search; names that users give have no colon
	graphID      = GraphPrefix + "rebuild"
	rebuildNode  = "rebuild"
	rebuildQueue = "search.rebuild"
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

// Run rebuilds, and deletes tokens that are not used any more, until ctx ends; what is
// under way goes on at the next start.
func (s *Search) Run(ctx context.Context) {
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
			s.log.ErrorContext(ctx, "the search index could not be rebuilt", "error", err)
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

// step does some of what there is to do and reports whether there is more.
func (s *Search) step(ctx context.Context) (worked bool, err error) {
	var running []Rebuild
	err = s.read(ctx, "search.step", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		running, err = rebuilds(ctx, tx, "status = 1 ORDER BY num LIMIT 100")
		return err
	})
	if err != nil {
		return false, err
	}
	var failed error
	for i := range running {
		did, err := s.advance(ctx, &running[i])
		worked, failed = worked || did, errors.Join(failed, err)
	}
	more, err := s.sweep(ctx)
	return worked || more, errors.Join(failed, err)
}

// advance starts the execution of a rebuild, or works on it if nobody does.
func (s *Search) advance(ctx context.Context, b *Rebuild) (worked bool, err error) {
	if b.Execution == "" {
		return true, s.start(ctx, b)
	}
	claimed, err := s.cfg.Engine.Claim(ctx, engine.ClaimRequest{
		Tenant: b.tenant, Worker: s.cfg.Worker, Queues: []string{rebuildQueue}, Max: 1, Lease: lease, CorrelationID: b.Execution,
	})
	if err != nil {
		return false, fault.Wrap("search.claim", err)
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
func (s *Search) start(ctx context.Context, b *Rebuild) error {
	if _, _, err := s.cfg.Engine.PutGraph(ctx, b.tenant, graphID, rebuildGraph()); err != nil {
		return fault.Wrap("search.start", err)
	}
	input, err := b.outcome()
	if err != nil {
		return err
	}
	_, err = s.cfg.Engine.Do(ctx, engine.Unit{
		Before: func(ctx context.Context, tx *sqldb.Tx) error {
			n, err := tx.Exec(ctx, "UPDATE search_rebuild SET execution = '' WHERE num = $1 AND tenant_id = $2 AND status = 1 AND execution = ''", b.num, b.tenant)
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
			_, err := tx.Exec(ctx, "UPDATE search_rebuild SET execution = $3 WHERE num = $1 AND tenant_id = $2", b.num, b.tenant, results[0].Answer.Execution.String())
			return err
		},
	})
	if errors.Is(err, errGone) {
		return nil
	}
	return fault.Wrap("search.start", err)
}

func (s *Search) actor() flow.Actor { return flow.Actor{Kind: flow.KindSystem, ID: "search"} }

// work does a rebuild to its end, unless ctx ends before or the task is lost.
func (s *Search) work(ctx context.Context, tenant string, task *engine.Task) error {
	b, err := s.rebuildOf(ctx, tenant, task.Execution)
	if err != nil {
		return err
	}
	if b == nil || b.Status != Running {
		return s.submit(ctx, tenant, task, flow.Cancel{Reason: "the rebuild has ended"})
	}
	for done := false; !done; {
		if ctx.Err() != nil {
			return s.submit(context.WithoutCancel(ctx), tenant, task, s.failed(task, "ERR_INTERRUPTED", "the process ended"))
		}
		done, err = s.chunk(ctx, b)
		if errors.Is(err, errGone) {
			return nil // who did these records goes on
		}
		if err != nil {
			return errors.Join(err, s.submit(context.WithoutCancel(ctx), tenant, task, s.failed(task, "ERR_HANDLER", "some records could not be indexed")))
		}
		if err := s.submit(ctx, tenant, task, b.progress(task, s.cfg.Worker)); err != nil {
			return err
		}
	}
	return s.finish(ctx, b, task)
}

// progress tells how far a rebuild is.
func (b *Rebuild) progress(task *engine.Task, worker string) flow.Command {
	part := 1.0
	if b.Total > 0 {
		part = min(float64(b.Processed)/float64(b.Total), 1)
	}
	return flow.Progress{Node: task.Node, Attempt: task.Attempt, Worker: worker, Progress: &part, Message: strconv.Itoa(b.Processed) + " records"}
}

// finish ends a rebuild and its execution, in one transaction.
func (s *Search) finish(ctx context.Context, b *Rebuild, task *engine.Task) error {
	output, err := b.outcome()
	if err != nil {
		return err
	}
	_, err = s.cfg.Engine.Do(ctx, engine.Unit{
		Before: func(ctx context.Context, tx *sqldb.Tx) error { return s.end(ctx, tx, b, Done) },
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
	return fault.Wrap("search.finish", err)
}

// end notes that a rebuild has ended.
func (s *Search) end(ctx context.Context, tx *sqldb.Tx, b *Rebuild, status Status) error {
	at, err := s.now(ctx, tx)
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, "UPDATE search_rebuild SET status = $3, ended_at = $4 WHERE num = $1 AND tenant_id = $2 AND status = 1", b.num, b.tenant, int64(status), at)
	if err == nil && n == 0 {
		err = errGone
	}
	return err
}

// look finds out why nobody can work on a rebuild. One that was canceled is given up; one
// whose execution ended otherwise gets another.
func (s *Search) look(ctx context.Context, b *Rebuild) error {
	id, err := flow.ParseID(b.Execution)
	if err != nil {
		return err
	}
	v, err := s.cfg.Engine.Execution(ctx, b.tenant, id, 0)
	if err != nil {
		return fault.Wrap("search.look", err)
	}
	if !v.State.Status.Terminal() {
		return nil
	}
	return s.write(ctx, "search.look", func(ctx context.Context, tx *sqldb.Tx) error {
		if v.State.Status == flow.Canceled {
			if err := s.end(ctx, tx, b, Canceled); !errors.Is(err, errGone) {
				return err
			}
			return nil
		}
		tx.OnCommit(s.wake)
		_, err := tx.Exec(ctx, "UPDATE search_rebuild SET execution = '' WHERE num = $1 AND tenant_id = $2 AND status = 1 AND execution = $3", b.num, b.tenant, b.Execution)
		return err
	})
}

// rebuildOf is the rebuild that an execution does, nil when there is none.
func (s *Search) rebuildOf(ctx context.Context, tenant string, execution flow.ID) (b *Rebuild, err error) {
	err = s.read(ctx, "search.rebuildOf", func(ctx context.Context, tx *sqldb.Tx) error {
		all, err := rebuilds(ctx, tx, "tenant_id = $1 AND execution = $2", tenant, execution.String())
		if len(all) > 0 {
			b = &all[0]
		}
		return err
	})
	return b, err
}

// submit sends a command about a task. A refusal is not an error: somebody else has it.
func (s *Search) submit(ctx context.Context, tenant string, task *engine.Task, c flow.Command) error {
	results := s.cfg.Engine.Submit(ctx, []engine.Request{{
		Tenant: tenant, Execution: task.Execution, Command: c, Actor: s.actor(), CorrelationID: task.Execution.String(),
	}})
	return fault.Wrap("search.submit", results[0].Err)
}

func (s *Search) failed(task *engine.Task, code, message string) flow.Command {
	return flow.Fail{Node: task.Node, Attempt: task.Attempt, Worker: s.cfg.Worker, Error: &flow.Error{Code: code, Message: message}}
}
