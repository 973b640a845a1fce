package app

import (
	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/gate"
)

// Routes are the routes of all parts.
func Routes() []gate.Route {
	a, err := assemble(Config{}, &gate.Telemetry{})
	if err != nil {
		panic(err) // nothing was chosen that could be wrong
	}
	return a.parts.routes()
}

// surface are the routes of executions, tasks, graphs, events and the audit log.
func (a *App) surface() []gate.Route {
	o := a.cfg.Override
	var reads httpapi.Reads = a.Engine
	if o.Reads != nil {
		reads = o.Reads(reads)
	}
	return httpapi.New(httpapi.Config{
		Commands: a.Engine, Reads: reads, Graphs: a.Engine, Bulks: a.Bulks, Log: a.log, Stalled: a.stalled,
		Heartbeat: o.Heartbeat, Watched: o.Watched,
		Events: a.Bus, DeadLetters: a.Bus, Replays: a.Bus, Settings: settings{a.Store, a.now()}, Audit: audit.New(a.DB),
		Reserved: a.ownQueue, Seals: a.seals, People: a.people,
		About: httpapi.About{
			Auth: a.cfg.Auth.Mode, Version: Version, Airflow: a.cfg.Airflow != nil,
			OIDC: a.cfg.OIDC != nil, Now: a.now(), Person: a.person,
		},
	}).Routes()
}

// stalled counts a frame of a stream that was held up.
func (a *App) stalled() {
	a.frames.Add(1)
	if a.cfg.Override.Stalled != nil {
		a.cfg.Override.Stalled()
	}
}
