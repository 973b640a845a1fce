package airflow

import (
	"context"
	"maps"
	"slices"
	"time"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

const (
	maxClaim  = 100 // tasks that one claim may take
	maxSubmit = 500 // signs of life in one batch
	beats     = 3   // times that a lease is renewed in its time
)

// claim takes tasks of every tenant that may have some, as many as there is room for.
// While the circuit is not closed it takes none: another process may have better luck.
func (a *Adapter) claim(ctx context.Context) {
	if a.Down() {
		return
	}
	tenants, err := a.ports.Tenants(ctx)
	if err != nil {
		a.gone(ctx, "tenants cannot be read", err)
		return
	}
	for tenants = after(tenants, a.served); len(tenants) > 0; {
		var more []string // that may have tasks left, for another round
		for _, tenant := range tenants {
			n := min(a.cfg.Runs-a.line.count(), maxClaim)
			if n < 1 || ctx.Err() != nil || a.Down() {
				return
			}
			got, ok := a.claimOf(ctx, tenant, n)
			if !ok {
				return
			}
			if a.served = tenant; got == n {
				more = append(more, tenant)
			}
		}
		tenants = more
	}
}

// after is the tenants from the one behind the last on, then the others: whoever has much
// to do does not keep the others from their turn.
func after(tenants []string, last string) []string {
	at, found := slices.BinarySearch(tenants, last)
	if found {
		at++
	}
	return slices.Concat(tenants[at:], tenants[:at])
}

// claimOf takes up to n tasks of a tenant and says how many it got.
func (a *Adapter) claimOf(ctx context.Context, tenant string, n int) (got int, ok bool) {
	asked := time.Now()
	claimed, err := a.ports.Engine.Claim(ctx, engine.ClaimRequest{
		Tenant: tenant, Worker: a.ports.Worker, Queues: []string{a.ports.Queue}, Max: n,
		Lease: int(a.cfg.Lease / time.Second), Own: true,
	})
	if err != nil {
		a.gone(ctx, "tasks cannot be claimed", err)
		return 0, false
	}
	for i := range claimed.Tasks {
		a.enqueue(ctx, tenant, &claimed.Tasks[i], asked)
	}
	return len(claimed.Tasks), true
}

// gone logs an error of ours, unless it is that we end.
func (a *Adapter) gone(ctx context.Context, message string, err error) {
	if ctx.Err() == nil {
		a.trouble(message, err)
	}
}

// enqueue puts a claimed task in line.
func (a *Adapter) enqueue(ctx context.Context, tenant string, t *engine.Task, asked time.Time) {
	j := &job{tenant: tenant, task: *t, due: asked, renewed: asked}
	check, err := a.ports.Parse(t.Node, t.Input)
	if err != nil {
		a.fail(ctx, j, "AIRFLOW_BAD_TASK", "The task is none that Airflow can be asked to do: "+cut(err.Error()))
		return
	}
	j.check, j.id = check, runID(check.RequestID, check.Strategy)
	j.task.Input, j.task.Outputs = nil, nil // they are the same for all of a batch, and may be large
	a.line.add(j)
}

// watch learns which tasks are not ours any more, and renews the leases of the others.
// It goes on while Airflow is away: an outage takes no task from us.
func (a *Adapter) watch(ctx context.Context) {
	jobs := a.line.held()
	if len(jobs) == 0 {
		return
	}
	if err := a.look(ctx, jobs); err != nil {
		a.gone(ctx, "held tasks cannot be looked after", err)
		return
	}
	due := a.line.stale(jobs, time.Now().Add(-a.cfg.Lease/beats))
	for chunk := range slices.Chunk(due, maxSubmit) {
		a.renew(ctx, chunk)
	}
}

// look asks the engine about jobs and takes its verdicts.
func (a *Adapter) look(ctx context.Context, jobs []*job) error {
	return a.lost(ctx, jobs, func(j *job, l engine.LostTask) {
		verdict := moved // it waits for its next attempt, or is in it
		if !l.Found || l.Status.Terminal() {
			verdict = over
		}
		a.line.judge(j, verdict)
	})
}

// lost calls do for each job whose attempt does not hold its task.
func (a *Adapter) lost(ctx context.Context, jobs []*job, do func(*job, engine.LostTask)) error {
	byTenant := map[string]map[engine.TaskRef]*job{}
	for _, j := range jobs {
		if byTenant[j.tenant] == nil {
			byTenant[j.tenant] = map[engine.TaskRef]*job{}
		}
		byTenant[j.tenant][j.ref()] = j
	}
	for tenant, held := range byTenant {
		lost, err := a.ports.Engine.Lost(ctx, tenant, slices.Collect(maps.Keys(held)))
		if err != nil {
			return err
		}
		for _, l := range lost {
			do(held[l.TaskRef], l)
		}
	}
	return nil
}

// renew gives a sign of life for each job. A refusal means that the task is lost, which
// the next look finds out.
func (a *Adapter) renew(ctx context.Context, jobs []*job) {
	requests := make([]engine.Request, len(jobs))
	for i, j := range jobs {
		requests[i] = a.request(j, flow.Progress{Node: j.task.Node, Attempt: j.task.Attempt, Worker: a.ports.Worker})
	}
	at := time.Now()
	for i, r := range a.ports.Engine.Submit(ctx, requests) {
		switch {
		case r.Err != nil:
			a.gone(ctx, "leases are not renewed", r.Err)
		case r.Answer.Refused == nil:
			a.line.renewed(jobs[i], at)
		}
	}
}

// request is a command about a job.
func (a *Adapter) request(j *job, c flow.Command) engine.Request {
	return engine.Request{
		Tenant: j.tenant, Execution: j.task.Execution, Command: c,
		Actor: flow.Actor{Kind: flow.KindSystem, ID: a.ports.Worker}, CorrelationID: j.check.RequestID,
	}
}
