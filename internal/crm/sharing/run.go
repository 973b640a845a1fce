package sharing

import (
	"context"

	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/flow"
)

// GraphPrefix begins the ids of graphs of sharing.
const GraphPrefix = "sharing:"

// rebuilder is sharing as those know it who run its rebuilds.
type rebuilder struct{ *Sharing }

// Run rebuilds, and deletes the rows of models that are not used any more, until ctx
// ends; what is under way goes on at the next start.
func (s *Sharing) Run(ctx context.Context) { s.runs.Run(ctx) }

// State is how far the rebuild of a model is.
func (m *Model) State() rebuild.State {
	return rebuild.State{
		Num: m.num, Tenant: m.tenant, Execution: m.Execution, Running: m.Status == Building,
		Processed: m.Processed, Total: m.Total,
	}
}

// Summary is what the execution of a rebuild is started with, and what it ends with.
func (m *Model) Summary() (flow.Data, error) { return m.input() }

func (s rebuilder) Now(ctx context.Context, tx *sqldb.Tx) (wire.Stamp, error) { return s.now(ctx, tx) }

func (rebuilder) Jobs(ctx context.Context, tx *sqldb.Tx, where string, args ...any) ([]*Model, error) {
	all, err := models(ctx, tx, "SELECT "+modelColumns+" FROM sharing_model WHERE "+where, args...)
	jobs := make([]*Model, len(all))
	for i := range all {
		jobs[i] = &all[i]
	}
	return jobs, err
}

func (s rebuilder) Chunk(ctx context.Context, m *Model) (done bool, err error) {
	return s.chunk(ctx, m)
}

// Finish switches to a model.
func (s rebuilder) Finish(ctx context.Context, tx *sqldb.Tx, m *Model) error {
	return s.switchTo(ctx, tx, m)
}

// GiveUp keeps the model that is in force.
func (s rebuilder) GiveUp(ctx context.Context, tx *sqldb.Tx, m *Model) error {
	if _, _, err := holdTenant(ctx, tx, m.tenant); err != nil {
		return err
	}
	return s.endModel(ctx, tx, m, Canceled)
}

func (s rebuilder) Sweep(ctx context.Context) (bool, error) { return s.sweep(ctx) }
