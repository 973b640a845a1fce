package app

import (
	"strings"

	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/seal"
)

// routes are the routes of all surfaces.
func (a *App) routes() []gate.Route {
	return httpapi.New(httpapi.Config{
		Commands: a.Engine, Reads: a.Engine, Graphs: a.Engine, Bulks: a.Bulks, Log: a.log,
		Stalled: func() { a.frames.Add(1) },
		Events:  a.Bus, DeadLetters: a.Bus, Replays: a.Bus, Settings: settings{a.Store}, Audit: audit.New(a.DB),
		WorkflowEvents: a.Inbound, WorkflowTemplates: a.Inbound, EventPass: a.cfg.EventPass,
		Strategies: a.Rechecks.Strategies(), Rechecks: a.Rechecks,
		PublicURL: strings.TrimSuffix(a.cfg.PublicURL, "/"),
		Metadata:  a.Metadata, Records: a.Records, Parts: a.Records, Sharing: a.Sharing, Territories: a.Sharing,
		Search: a.Search, Reports: a.Reports, Approvals: a.Approvals, Automation: a.Automation,
		Reserved: a.ownQueue, Seals: seal.New(a.DB),
	}).Routes()
}
