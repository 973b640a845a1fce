package app

import (
	"context"

	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/reporting"
	"renga.dev/renga/internal/crm/search"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/engine"
)

// newServices makes the business services, each over those that it works with.
func (a *App) newServices(models *metadata.Models) {
	keep := a.cfg.KeyRetention
	a.Sharing = sharing.New(a.DB, sharing.Config{
		Models: models, Records: records.Reads{}, Engine: a.Engine, Worker: a.name, KeyRetention: keep, Log: a.log,
	})
	a.Records = records.New(a.DB, records.Config{
		Models: models, Visible: a.Sharing, Publisher: outbox{a}, Rules: automation.Rules{}, KeyRetention: keep,
		Open: a.isOpen, Outcome: a.outcome, Refused: a.outcomeRefused, Regrouped: a.regrouped,
	})
	a.Automation = automation.New(a.DB, automation.Config{
		Models: models, Records: records.Reads{}, Writer: a.Records, Engine: a.Engine, Approvers: a.deciders, Log: a.log,
	})
	a.Search = search.New(a.DB, search.Config{
		Models: models, Records: records.Reads{}, Visible: a.Sharing, Engine: a.Engine, Worker: a.name,
		KeyRetention: keep, Log: a.log,
	})
	a.Reports = reporting.New(a.DB, reporting.Config{
		Models: models, Visible: a.Sharing, Records: records.Reads{}, Approvals: approval.Reads{}, Engine: a.Engine,
		Worker: a.name, KeyRetention: keep, Log: a.log,
	})
	a.Approvals = approval.New(a.DB, approval.Config{
		Models: models, Core: a.Records, Records: records.Reads{}, Locks: records.Locks{}, Publisher: outbox{a},
		Engine: a.Engine, KeyRetention: keep, Log: a.log,
	})
	a.beside = append(a.beside, a.Automation.Run, a.Search.Run, a.Approvals.Run, a.Sharing.Run, a.Reports.Run)
}

// outbox publishes over the bus, which has its consumers before it is there.
type outbox struct{ *App }

// Publish announces events in the transaction of the change that they tell of.
func (o outbox) Publish(ctx context.Context, tx *sqldb.Tx, events ...wire.Event) error {
	return o.Bus.Publish(ctx, tx, events...)
}

// isOpen reports whether an approval is pending, for the locks of records.
func (a *App) isOpen(ctx context.Context, tx *sqldb.Tx, tenant, id string) (bool, error) {
	return a.Approvals.Open(ctx, tx, tenant, id)
}

// outcome is what an approval writes into its record.
func (a *App) outcome(ctx context.Context, tx *sqldb.Tx, tenant, id string) (model.Outcome, error) {
	return a.Approvals.Outcome(ctx, tx, tenant, id)
}

// outcomeRefused lets people know that a record did not take the outcome of an approval.
func (a *App) outcomeRefused(ctx context.Context, tx *sqldb.Tx, e *wire.Event, o model.Outcome) error {
	return a.Automation.OutcomeRefused(ctx, tx, e, o)
}

// deciders are those whom an approval waits for.
func (a *App) deciders(ctx context.Context, tx *sqldb.Tx, tenant, id string) ([]string, error) {
	return a.Approvals.Deciders(ctx, tx, tenant, id)
}

// executionEnded notes the end of an execution for whoever has started it.
func (a *App) executionEnded(h *engine.Head) (sqldb.Stmt, bool) {
	if stmt, ok := a.Rechecks.Ended(h); ok {
		return stmt, ok
	}
	return a.Approvals.Ended(h)
}

// regrouped lets approvals know that a group has other members.
func (a *App) regrouped(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	return a.Approvals.Regrouped(ctx, tx, e)
}
