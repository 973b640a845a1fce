package airflow

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/workflow/engine"
)

// maxPages is how many pages of runs one sweep looks at.
const maxPages = 50

// sweep ends runs that nobody waits for any more: their executions were cancelled while the process
// that followed them was gone, or before a slow trigger took effect. A run whose conf names nothing
// that this database knows is left alone.
func (a *Adapter) sweep(ctx context.Context) {
	for page := range maxPages {
		if a.Down() || ctx.Err() != nil {
			return
		}
		runs, total, err := a.client.active(ctx, page*pageSize)
		if err != nil {
			if o := outcomeOf(err); o != notFound && o != abandoned {
				a.gone(ctx, "the runs of Airflow cannot be listed", err)
			}
			return
		}
		a.reap(ctx, runs)
		if len(runs) < pageSize || (page+1)*pageSize >= total {
			return
		}
	}
}

// foreign reads what a run is for, if it was triggered by an adapter and is not
// followed here.
func (a *Adapter) foreign(r *run) (conf, bool) {
	var asks conf
	if !strings.HasPrefix(r.ID, idPrefix) || r.DAG != a.cfg.DAG || a.line.has(r.ID) ||
		json.Unmarshal(r.Conf, &asks) != nil {
		return conf{}, false
	}
	return asks, canonical.Name(asks.Node) && asks.Tenant != "" &&
		runID(asks.RequestID, asks.Strategy) == r.ID
}

// reap ends those of the runs whose tasks have ended without them.
func (a *Adapter) reap(ctx context.Context, runs []run) {
	var jobs []*job
	for i := range runs {
		if asks, ok := a.foreign(&runs[i]); ok {
			jobs = append(jobs, &job{
				tenant: asks.Tenant, task: engine.Task{Execution: asks.Execution, Node: asks.Node}, id: runs[i].ID,
				phase: ending, lost: over, check: asks.Check,
			})
		}
	}
	err := a.lost(ctx, jobs, func(j *job, l engine.LostTask) {
		if l.Found && l.Status.Terminal() {
			a.line.add(j)
		}
	})
	if err != nil {
		a.gone(ctx, "held tasks cannot be looked after", err)
	}
}
