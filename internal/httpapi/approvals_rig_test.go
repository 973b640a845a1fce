package httpapi_test

import (
	"context"

	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/engine"
)

// openApprovals puts approvals over the records and the engine.
func (s *server) openApprovals(models *metadata.Models) {
	s.approval = approval.New(s.db, approval.Config{
		Models: models, Core: s.records, Records: records.Reads{}, Locks: records.Locks{}, Publisher: s.bus, Engine: s.engine, Now: s.clock.Now,
	})
}

// isOpen reports whether an approval is pending, for the locks of core.
func (s *server) isOpen(ctx context.Context, tx *sqldb.Tx, tenant, id string) (bool, error) {
	return s.approval.Open(ctx, tx, tenant, id)
}

// outcome is what an approval writes into its record.
func (s *server) outcome(ctx context.Context, tx *sqldb.Tx, tenant, id string) (model.Outcome, error) {
	return s.approval.Outcome(ctx, tx, tenant, id)
}

// outcomeRefused lets people know that a record did not take the outcome of an approval.
func (s *server) outcomeRefused(ctx context.Context, tx *sqldb.Tx, e *wire.Event, o model.Outcome) error {
	return s.automation.OutcomeRefused(ctx, tx, e, o)
}

// ended notes the end of an execution for whoever has started it.
func (s *server) ended(h *engine.Head) (sqldb.Stmt, bool) {
	if stmt, ok := s.rechecks.Ended(h); ok {
		return stmt, ok
	}
	return s.approval.Ended(h)
}
