package app

import (
	"strings"

	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/seal"
)

// surface are the routes of all parts whose handlers are in httpapi.
func (a *App) surface() []gate.Route {
	o := a.cfg.Override
	var reads httpapi.Reads = a.Engine
	if o.Reads != nil {
		reads = o.Reads(reads)
	}
	seals := o.Seals
	if seals == nil {
		seals = seal.New(a.DB)
	}
	return httpapi.New(httpapi.Config{
		Commands: a.Engine, Reads: reads, Graphs: a.Engine, Bulks: a.Bulks, Log: a.log, Stalled: a.stalled,
		Heartbeat: o.Heartbeat, Watched: o.Watched,
		Events: a.Bus, DeadLetters: a.Bus, Replays: a.Bus, Settings: settings{a.Store}, Audit: audit.New(a.DB),
		WorkflowEvents: a.Inbound, WorkflowTemplates: a.Inbound, EventPass: a.cfg.EventPass,
		Strategies: a.Rechecks.Strategies(), Rechecks: a.Rechecks,
		PublicURL: strings.TrimSuffix(a.cfg.PublicURL, "/"),
		Metadata:  a.Metadata, Records: a.Records, Parts: a.Records, Sharing: a.Sharing, Territories: a.Sharing,
		Search: a.Search, Reports: a.Reports, Approvals: a.Approvals, Automation: a.Automation,
		Reserved: a.ownQueue, Seals: seals,
	}).Routes()
}

// stalled counts a frame of a stream that was held up.
func (a *App) stalled() {
	a.frames.Add(1)
	if a.cfg.Override.Stalled != nil {
		a.cfg.Override.Stalled()
	}
}
