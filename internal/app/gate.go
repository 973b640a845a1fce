package app

import (
	"context"
	"errors"

	"renga.dev/renga/api"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/platform/sqldb"
)

// newDoor is what the gate keeps in the database, and the metrics that are read from there. The
// gate itself is opened last (openGate), when all routes are known.
func (a *App) newDoor() *Part {
	a.door = &Part{
		Name: "gate", Tables: []sqldb.Migration{gate.Migration(), seal.Migration()},
		Run: []func(context.Context){a.seals.Prepare},
	}
	return a.door
}

// openGate puts the routes of all parts into one table, and decides who is let in.
func (a *App) openGate() error {
	cfg := a.cfg.Auth
	cfg.PublicURL, cfg.Sessions, cfg.Log = a.cfg.PublicURL, a.Sessions, a.log
	auth, err := gate.OpenAuth(cfg)
	if err != nil {
		return err
	}
	a.Sessions.Trust(auth)
	meter := a.telemetry.Meter
	if err := errors.Join(observe(meter, a), observeBus(meter, a), observeBacklog(meter, a),
		observeWebhooks(meter, a)); err != nil {
		return err
	}
	pages := gate.Pages{Checks: a.checks(), Metrics: a.telemetry.Metrics, OpenAPI: api.OpenAPI}
	var quota *gate.Quota // one process needs none
	if a.DB.Dialect() != sqldb.SQLite {
		quota = gate.NewQuota(a.DB, a.name, a.log)
		a.door.Run = append(a.door.Run, quota.Run)
	}
	refusals, err := gate.NewRefusals(a.DB, meter)
	if err != nil {
		return err
	}
	a.door.Run = append(a.door.Run, refusals.Run)
	a.Gate, err = gate.New(gate.Config{
		Auth: auth, Telemetry: a.telemetry, Log: a.log, Rates: a.cfg.Rates, Quota: quota, Refusals: refusals,
		Heavy: a.cfg.Heavy, Open: a.cfg.Open,
	}, append(pages.Routes(), a.parts.routes()...))
	return err
}

// checks are what /readyz asks.
func (a *App) checks() []gate.Check {
	nats := func(context.Context) error { return nil } // what is put in its place needs no check
	if a.nats != nil {
		nats = a.nats.Check
	}
	return []gate.Check{
		{Name: "database", Probe: a.probe}, {Name: "nats", Probe: nats, Optional: !a.cfg.ReadyNeedsNATS},
	}
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
