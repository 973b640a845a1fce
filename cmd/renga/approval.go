package main

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

// approve puts approvals over records and the engine.
func (c *core) approve(models *metadata.Models) {
	c.approval = approval.New(c.db, approval.Config{
		Models: models, Core: c.records, Records: records.Reads{}, Locks: records.Locks{}, Publisher: outbox{c}, Engine: c.engine, KeyRetention: c.keep, Log: c.log,
	})
	c.beside = append(c.beside, c.approval.Run)
}

// isOpen reports whether an approval is pending, for the locks of core.
func (c *core) isOpen(ctx context.Context, tx *sqldb.Tx, tenant, id string) (bool, error) {
	return c.approval.Open(ctx, tx, tenant, id)
}

// outcome is what an approval writes into its record.
func (c *core) outcome(ctx context.Context, tx *sqldb.Tx, tenant, id string) (model.Outcome, error) {
	return c.approval.Outcome(ctx, tx, tenant, id)
}

// outcomeRefused lets people know that a record did not take the outcome of an approval.
func (c *core) outcomeRefused(ctx context.Context, tx *sqldb.Tx, e *wire.Event, o model.Outcome) error {
	return c.automation.OutcomeRefused(ctx, tx, e, o)
}

// deciders are those whom an approval waits for.
func (c *core) deciders(ctx context.Context, tx *sqldb.Tx, tenant, id string) ([]string, error) {
	return c.approval.Deciders(ctx, tx, tenant, id)
}

// executionEnded notes the end of an execution for whoever has started it.
func (c *core) executionEnded(h *engine.Head) (sqldb.Stmt, bool) {
	if stmt, ok := c.rechecks.Ended(h); ok || c.approval == nil {
		return stmt, ok
	}
	return c.approval.Ended(h)
}

// regrouped lets approvals know that a group has other members.
func (c *core) regrouped(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	return c.approval.Regrouped(ctx, tx, e)
}
