package app

import (
	"strconv"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// noteCancels writes the entries of the audit log about cancels, in the
// transaction of their rows in the engine's log.
func noteCancels(all []engine.Canceled) ([]sqldb.Stmt, error) {
	stmts := make([]sqldb.Stmt, len(all))
	for i := range all {
		c := &all[i]
		e := audit.Entry{
			At: canonical.Stamp(c.At), Tenant: c.Tenant, Actor: c.Actor.ID, Action: "execution.cancel",
			Subject:       c.Execution.String(),
			CorrelationID: c.CorrelationID, Outcome: audit.Accepted, Reason: c.Reason,
			Detail: strconv.AppendUint([]byte(`{"cancelSeq":`), c.Seq, 10),
		}
		e.Detail = append(e.Detail, '}')
		if c.Actor.Kind != flow.KindUser {
			e.Actor = bus.Automatic
		}
		var err error
		if stmts[i], err = audit.Stmt(e); err != nil {
			return nil, err
		}
	}
	return stmts, nil
}
