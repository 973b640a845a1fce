// Package rebuild rebuilds what a service derives from records. Each rebuild is an execution with one
// task that a process of the server claims, so that operators see its progress and can cancel it, and
// another process continues where one has died.
//
// A service has a table of its rebuilds with the columns num, tenant_id, status (1: running) and
// execution (empty: yet to start), and rebuilds a chunk of records at a time (Service). Runner
// decides when, and which process. Resource adds all that rebuilds of derived tables share: their
// rows, and the routes that show them.
//
// The invariant: a rebuild has at most one execution that has not ended, and both end in one
// transaction.
package rebuild

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// ErrGone says that a rebuild has changed since it was read.
var ErrGone = errors.New("rebuild: it has ended, or another process continues it")

// Engine is what rebuilds run on.
type Engine interface {
	Do(ctx context.Context, unit engine.Unit) ([]engine.Result, error)
	Submit(ctx context.Context, requests []engine.Request) []engine.Result
	Claim(ctx context.Context, request engine.ClaimRequest) (engine.Claimed, error)
	PutGraph(ctx context.Context, tenant, id string, g flow.Graph) (engine.GraphRow, bool, error)
	Execution(ctx context.Context, tenant string, id flow.ID, at uint64) (engine.View, error)
}

// State is what a Runner knows of a rebuild.
type State struct {
	Num       int64
	Tenant    string
	Execution string // "": it is yet to start
	Running   bool
	Processed int // records
	Total     int // about how many there are
}

// Job is a rebuild of a service.
type Job interface {
	State() State
	// Summary is the input and the output of its execution.
	Summary() (flow.Data, error)
}

// Service does the work of rebuilds.
type Service[J Job] interface {
	// Now is the time by the clock that all processes share.
	Now(ctx context.Context, tx *sqldb.Tx) (canonical.Stamp, error)
	// Jobs are the rebuilds that a condition over their table selects.
	Jobs(ctx context.Context, tx *sqldb.Tx, where string, args ...any) ([]J, error)
	// Chunk does the next records of a rebuild, stores its progress, and reports whether there are no
	// more. ErrGone: it has ended, or another process has done these records.
	Chunk(ctx context.Context, job J) (done bool, err error)
	// Finish ends a rebuild that is done, GiveUp one that was canceled. ErrGone: it has ended.
	Finish(ctx context.Context, tx *sqldb.Tx, job J) error
	GiveUp(ctx context.Context, tx *sqldb.Tx, job J) error
	// Sweep does some other work and reports whether there may be more.
	Sweep(ctx context.Context) (more bool, err error)
}

// services are those that rebuild.
func services() []string { return []string{"sharing", "search", "reporting"} }

// Reserved reports whether a queue is that of the rebuilds of a service. Only the server may claim its
// tasks or add others: whoever holds the task of a rebuild delays its effect.
func Reserved(queue string) bool {
	service, ok := strings.CutSuffix(queue, "."+node)
	return ok && slices.Contains(services(), service)
}

// Config is the configuration of a Runner.
type Config struct {
	Name   string // of the service, one of services: it begins the names of graph and queue
	Table  string // of its rebuilds
	Engine Engine // nil: nothing is rebuilt here
	Worker string // tells this process from others that rebuild; it may not be empty with Engine
	Log    *slog.Logger

	KeyRetention time.Duration // how long the idempotency key of a request for a rebuild is remembered; 0: 30 days
}

// Lease is for how many seconds a process has a rebuild, from chunk to chunk.
const Lease = 30

const (
	node    = "rebuild"
	idleFor = time.Second
)

// Runner runs the rebuilds of a service.
type Runner[J Job] struct {
	db      *sqldb.DB
	cfg     Config
	service Service[J]
	keys    idempotency.Keys
	wake    chan struct{} // holds a token when a rebuild may wait
}

// New is a runner. It does no I/O.
func New[J Job](db *sqldb.DB, cfg Config, service Service[J]) *Runner[J] {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if !slices.Contains(services(), cfg.Name) {
		panic("rebuild: the queue of " + cfg.Name + " is not reserved")
	}
	return &Runner[J]{
		db: db, cfg: cfg, service: service, wake: make(chan struct{}, 1),
		keys: idempotency.Keys{Service: cfg.Name, Retention: cfg.KeyRetention},
	}
}

// GraphPrefix begins the ids of the graphs of a service; names that users give have no colon.
func GraphPrefix(service string) string { return service + ":" }

func (r *Runner[J]) graphID() string { return GraphPrefix(r.cfg.Name) + node }

// Queue is that of the tasks.
func (r *Runner[J]) Queue() string { return r.cfg.Name + "." + node }

func (r *Runner[J]) graph() flow.Graph {
	return flow.Graph{
		Nodes: []flow.NodeSpec{
			{NodeID: "start", Type: flow.StartKind},
			{NodeID: node, Type: flow.TaskKind, Queue: r.Queue(), Retry: &flow.Retry{
				MaxAttempts: flow.MaxAttempts, InitialInterval: flow.Duration(50 * time.Millisecond), Backoff: 2,
				MaxInterval: flow.Duration(10 * time.Second),
			}},
			{NodeID: "done", Type: flow.SuccessKind},
		},
		Edges: []flow.Edge{{From: "start", To: node}, {From: node, To: "done"}},
	}
}

// Request begins a rebuild on request, and gives what begin calls it. A request with a key is executed
// once; replay says that the name is that of the first time.
func (r *Runner[J]) Request(
	ctx context.Context,
	tenant string,
	key *canonical.IdempotencyKey,
	begin func(ctx context.Context, tx *sqldb.Tx) (string, error),
) (name string, replay bool, err error) {
	err = r.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		at, err := r.service.Now(ctx, tx)
		if err != nil {
			return err
		}
		answer, again, err := r.keys.Do(ctx, tx, idempotency.Request{Tenant: tenant, Key: key, At: at},
			func() ([]byte, error) {
				name, err := begin(ctx, tx)
				return []byte(name), err
			})
		name, replay = string(answer), again
		return err
	})
	return name, replay, r.wrap("rebuild", err)
}

// Wake lets Run look for rebuilds at once.
func (r *Runner[J]) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run rebuilds until ctx ends; running rebuilds continue at the next start.
func (r *Runner[J]) Run(ctx context.Context) {
	if r.cfg.Engine == nil {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		worked, err := r.Step(ctx)
		if err != nil && ctx.Err() == nil && !fault.Passes(err) {
			r.cfg.Log.ErrorContext(ctx, "a rebuild did not go on", "service", r.cfg.Name, "error", err)
		}
		if worked && err == nil {
			continue
		}
		timer.Reset(idleFor)
		select {
		case <-r.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// Step does some work and reports whether there may be more.
func (r *Runner[J]) Step(ctx context.Context) (worked bool, err error) {
	running, err := r.jobs(ctx, "status = 1 ORDER BY num LIMIT 100")
	if err != nil {
		return false, err
	}
	var failed error
	for _, job := range running {
		did, err := r.Advance(sqldb.For(ctx, job.State().Tenant), job)
		worked, failed = worked || did, errors.Join(failed, err)
	}
	more, err := r.service.Sweep(ctx)
	return worked || more, errors.Join(failed, err)
}

func (r *Runner[J]) jobs(ctx context.Context, where string, args ...any) (all []J, err error) {
	err = r.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		all, err = r.service.Jobs(ctx, tx, where, args...)
		return err
	})
	return all, r.wrap("look", err)
}

func (r *Runner[J]) wrap(op string, err error) error { return fault.Wrap(r.cfg.Name+"."+op, err) }

// Advance starts the execution of a rebuild, or works on it if no process does.
func (r *Runner[J]) Advance(ctx context.Context, job J) (worked bool, err error) {
	s := job.State()
	if s.Execution == "" {
		return true, r.Start(ctx, job)
	}
	claimed, err := r.cfg.Engine.Claim(ctx, engine.ClaimRequest{
		Tenant: s.Tenant, Worker: r.cfg.Worker, Queues: []string{r.Queue()}, Max: 1, Lease: Lease,
		Own: true, CorrelationID: s.Execution,
	})
	if err != nil {
		return false, r.wrap("claim", err)
	}
	for i := range claimed.Tasks {
		worked = true
		if err := r.Work(ctx, s.Tenant, &claimed.Tasks[i]); err != nil {
			return true, err
		}
	}
	if !worked {
		return false, r.look(ctx, job)
	}
	return true, nil
}

// Start starts the execution of a rebuild, once.
func (r *Runner[J]) Start(ctx context.Context, job J) error {
	s := job.State()
	if _, _, err := r.cfg.Engine.PutGraph(ctx, s.Tenant, r.graphID(), r.graph()); err != nil {
		return r.wrap("start", err)
	}
	input, err := job.Summary()
	if err != nil {
		return err
	}
	_, err = r.cfg.Engine.Do(ctx, engine.Unit{
		Before: func(ctx context.Context, tx *sqldb.Tx) error { return r.note(ctx, tx, s, "", "") }, // it holds the row
		Commands: []engine.Request{{
			Tenant: s.Tenant, GraphID: r.graphID(), Start: true, Command: flow.Create{Input: input}, Actor: r.actor(),
			CorrelationID: r.cfg.Worker,
		}},
		After: func(ctx context.Context, tx *sqldb.Tx, results []engine.Result) error {
			if refused := results[0].Answer.Refused; refused != nil {
				return refused
			}
			return r.note(ctx, tx, s, "", results[0].Answer.Execution.String())
		},
	})
	return r.unlessGone("start", err)
}

// note stores the execution of a rebuild in place of another one.
func (r *Runner[J]) note(ctx context.Context, tx *sqldb.Tx, s State, was, is string) error {
	n, err := tx.Exec(ctx, "UPDATE "+r.cfg.Table+
		" SET execution = $4 WHERE num = $1 AND tenant_id = $2 AND status = 1 AND execution = $3", s.Num, s.Tenant, was,
		is)
	if err == nil && n == 0 {
		err = ErrGone
	}
	return err
}

// unlessGone drops the error of whoever comes second.
func (r *Runner[J]) unlessGone(op string, err error) error {
	if errors.Is(err, ErrGone) {
		return nil
	}
	return r.wrap(op, err)
}

func (r *Runner[J]) actor() flow.Actor { return flow.Actor{Kind: flow.KindSystem, ID: r.cfg.Name} }

// Work does a rebuild to its end, unless ctx ends before or the lease of the task is lost.
func (r *Runner[J]) Work(ctx context.Context, tenant string, task *engine.Task) error {
	found, err := r.jobs(ctx, "tenant_id = $1 AND execution = $2", tenant, task.Execution.String())
	if err != nil {
		return err
	}
	if len(found) == 0 || !found[0].State().Running {
		return r.Submit(ctx, tenant, task.Execution,
			flow.Cancel{Reason: "the rebuild has ended, or was given up for another"})
	}
	job := found[0]
	for done := false; !done; {
		if ctx.Err() != nil {
			return r.Fail(ctx, tenant, task, "ERR_INTERRUPTED", "the process ended")
		}
		done, err = r.service.Chunk(ctx, job)
		if errors.Is(err, ErrGone) {
			return nil // the process that did these records continues; an abandoned execution is canceled
		}
		if err != nil {
			return errors.Join(err, r.Fail(ctx, tenant, task, "ERR_HANDLER", "some records could not be done"))
		}
		if err := r.Submit(ctx, tenant, task.Execution, r.progress(job, task)); err != nil {
			return err
		}
	}
	return r.Finish(ctx, job, task)
}

// progress reports how far a rebuild is.
func (r *Runner[J]) progress(job J, task *engine.Task) flow.Command {
	s, part := job.State(), 1.0
	if s.Total > 0 {
		part = min(float64(s.Processed)/float64(s.Total), 1)
	}
	return flow.Progress{
		Node: task.Node, Attempt: task.Attempt, Worker: r.cfg.Worker, Progress: &part,
		Message: strconv.Itoa(s.Processed) + " records",
	}
}

// Finish ends a rebuild and its execution, in one transaction.
func (r *Runner[J]) Finish(ctx context.Context, job J, task *engine.Task) error {
	output, err := job.Summary()
	if err != nil {
		return err
	}
	s := job.State()
	_, err = r.cfg.Engine.Do(ctx, engine.Unit{
		Before: func(ctx context.Context, tx *sqldb.Tx) error { return r.service.Finish(ctx, tx, job) },
		Commands: []engine.Request{{
			Tenant: s.Tenant, Execution: task.Execution, Actor: r.actor(), CorrelationID: task.Execution.String(),
			Command: flow.Succeed{Node: task.Node, Attempt: task.Attempt, Worker: r.cfg.Worker, Output: output},
		}},
		After: func(_ context.Context, _ *sqldb.Tx, results []engine.Result) error {
			if results[0].Answer.Refused != nil {
				return ErrGone
			}
			return nil
		},
	})
	return r.unlessGone("finish", err)
}

// look finds out why no task of a rebuild can be claimed. One that was canceled is given up; one whose
// execution ended otherwise gets another.
func (r *Runner[J]) look(ctx context.Context, job J) error {
	s := job.State()
	id, err := flow.ParseID(s.Execution)
	if err != nil {
		return err
	}
	v, err := r.cfg.Engine.Execution(ctx, s.Tenant, id, 0)
	if err != nil || !v.State.Status.Terminal() {
		return r.wrap("look", err)
	}
	return r.unlessGone("look", r.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		if v.State.Status == flow.Canceled {
			return r.service.GiveUp(ctx, tx, job)
		}
		tx.OnCommit(r.Wake)
		return r.note(ctx, tx, s, s.Execution, "")
	}))
}

// Submit sends a command to the execution of a rebuild. A refusal is no error: another process has it.
func (r *Runner[J]) Submit(ctx context.Context, tenant string, execution flow.ID, c flow.Command) error {
	results := r.cfg.Engine.Submit(ctx, []engine.Request{{
		Tenant: tenant, Execution: execution, Command: c, Actor: r.actor(), CorrelationID: execution.String(),
	}})
	return r.wrap("submit", results[0].Err)
}

// Fail gives a task back, also when ctx has ended.
func (r *Runner[J]) Fail(ctx context.Context, tenant string, task *engine.Task, code, message string) error {
	return r.Submit(context.WithoutCancel(ctx), tenant, task.Execution, flow.Fail{
		Node: task.Node, Attempt: task.Attempt, Worker: r.cfg.Worker, Error: &flow.Error{Code: code, Message: message},
	})
}
