package search

import (
	"context"

	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/flow"
)

// GraphPrefix begins the ids of graphs of search.
const GraphPrefix = "search:"

// rebuilder is search as those know it who run its rebuilds.
type rebuilder struct{ *Search }

// Run rebuilds, and deletes tokens that are not used any more, until ctx ends; what is
// under way goes on at the next start.
func (s *Search) Run(ctx context.Context) { s.runs.Run(ctx) }

// State is how far a rebuild is.
func (b *Rebuild) State() rebuild.State {
	return rebuild.State{
		Num: b.num, Tenant: b.tenant, Execution: b.Execution, Running: b.Status == Running,
		Processed: b.Processed, Total: b.Total,
	}
}

// Summary is what its execution is started with, and what it ends with.
func (b *Rebuild) Summary() (flow.Data, error) { return b.outcome() }

func (s rebuilder) Now(ctx context.Context, tx *sqldb.Tx) (wire.Stamp, error) { return s.now(ctx, tx) }

func (rebuilder) Jobs(ctx context.Context, tx *sqldb.Tx, where string, args ...any) ([]*Rebuild, error) {
	all, err := rebuilds(ctx, tx, where, args...)
	jobs := make([]*Rebuild, len(all))
	for i := range all {
		jobs[i] = &all[i]
	}
	return jobs, err
}

func (s rebuilder) Chunk(ctx context.Context, b *Rebuild) (done bool, err error) {
	return s.chunk(ctx, b)
}

func (s rebuilder) Finish(ctx context.Context, tx *sqldb.Tx, b *Rebuild) error {
	return s.end(ctx, tx, b, Done)
}

func (s rebuilder) GiveUp(ctx context.Context, tx *sqldb.Tx, b *Rebuild) error {
	return s.end(ctx, tx, b, Canceled)
}

func (s rebuilder) Sweep(ctx context.Context) (bool, error) { return s.sweep(ctx) }

// end notes that a rebuild has ended.
func (s *Search) end(ctx context.Context, tx *sqldb.Tx, b *Rebuild, status Status) error {
	at, err := s.now(ctx, tx)
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, "UPDATE search_rebuild SET status = $3, ended_at = $4 WHERE num = $1 AND tenant_id = $2 "+
		"AND status = 1", b.num, b.tenant, int64(status), at)
	if err == nil && n == 0 {
		err = rebuild.ErrGone
	}
	return err
}
