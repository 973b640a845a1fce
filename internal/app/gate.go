package app

import (
	"context"
	"errors"

	"renga.dev/renga/api"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/sqldb"
)

// openGate puts the route table together, behind who calls, may they, and how often.
func (a *App) openGate() (*gate.Gate, error) {
	cfg := a.cfg.Auth
	cfg.PublicURL, cfg.Log = a.cfg.PublicURL, a.log
	auth, err := gate.OpenAuth(cfg)
	if err != nil {
		return nil, err
	}
	meter := a.telemetry.Meter
	if err := errors.Join(observe(meter, a), observeBus(meter, a), observeBacklog(meter, a)); err != nil {
		return nil, err
	}
	pages := gate.Pages{Checks: a.checks(), Metrics: a.telemetry.Metrics, OpenAPI: api.OpenAPI}
	var quota *gate.Quota // one process needs none
	if a.DB.Dialect() != sqldb.SQLite {
		quota = gate.NewQuota(a.DB, a.name, a.log)
		a.beside = append(a.beside, quota.Run)
	}
	refusals, err := gate.NewRefusals(a.DB, meter)
	if err != nil {
		return nil, err
	}
	a.beside = append(a.beside, refusals.Run)
	return gate.New(gate.Config{
		Auth: auth, Telemetry: a.telemetry, Log: a.log, Rates: a.cfg.Rates, Quota: quota, Refusals: refusals,
		Heavy: a.cfg.Heavy, Open: a.cfg.Open,
	}, append(pages.Routes(), a.routes()...))
}

// checks are what /readyz asks.
func (a *App) checks() []gate.Check {
	all := []gate.Check{{Name: "database", Probe: a.probe}}
	if a.nats != nil {
		all = append(all, gate.Check{Name: "nats", Probe: a.nats.Check, Optional: !a.cfg.ReadyNeedsNATS})
	}
	return all
}

// probe reports whether the database answers and takes what is written; one that others
// share is asked for that at once.
func (a *App) probe(ctx context.Context) error {
	if err := a.health.Check(); err != nil {
		return err
	}
	if a.DB.Dialect() != sqldb.SQLite {
		return a.Store.Check(ctx)
	}
	return a.DB.Read(ctx, func(context.Context, *sqldb.Tx) error { return nil })
}
