package httpapi_test

import (
	"renga.dev/renga/internal/engine"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/svc/approval"
	"renga.dev/renga/internal/svc/metadata"
	"renga.dev/renga/internal/svc/records"
)

// openApprovals puts approvals over the records and the engine.
func (s *server) openApprovals(models *metadata.Models) {
	s.approval = approval.New(s.db, approval.Config{
		Models: models, Core: s.records, Records: records.Reads{}, Locks: records.Locks{}, Publisher: s.bus, Engine: s.engine, Now: s.clock.Now,
	})
}

// ended notes the end of an execution for whoever has started it.
func (s *server) ended(h *engine.Head) (sqldb.Stmt, bool) {
	if stmt, ok := s.rechecks.Ended(h); ok {
		return stmt, ok
	}
	return s.approval.Ended(h)
}
