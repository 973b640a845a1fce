package app

import (
	"context"
	"fmt"
	"time"

	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/reporting"
	"renga.dev/renga/internal/crm/search"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/sqldb"
)

// newServices makes the business services, each over those that it works with, and gives them in
// the order in which the document lists them.
func (a *App) newServices(models *metadata.Models) []*Part {
	keep, now, reads := a.cfg.KeyRetention, a.now(), records.Reads{}
	a.Sharing = sharing.New(a.DB, sharing.Config{
		Models: models, Records: reads, Bus: a.Bus, Engine: a.Engine, Worker: a.name, KeyRetention: keep,
		Now: now, Log: a.log,
	})
	a.Records = records.New(a.DB, records.Config{
		Models: models, Visible: a.Sharing, Territories: a.Sharing.Territories, Publisher: a.Bus,
		Rules: automation.Rules{}, KeyRetention: keep, Now: now,
	})
	a.Approvals = approval.New(a.DB, approval.Config{
		Models: models, Core: a.Records, Records: reads, Locks: records.Locks{}, Publisher: a.Bus, Engine: a.Engine,
		KeyRetention: keep, Now: now, Log: a.log,
	})
	a.Automation = automation.New(a.DB, automation.Config{
		Models: models, Records: reads, Writer: a.Records, Engine: a.Engine, Approvers: a.Approvals.Deciders,
		Now: now, Log: a.log,
	})
	a.Search = search.New(a.DB, search.Config{
		Models: models, Records: reads, Visible: a.Sharing, Engine: a.Engine, Worker: a.name, KeyRetention: keep,
		Now: now, Log: a.log,
	})
	a.Reports = reporting.New(a.DB, reporting.Config{
		Models: models, Visible: a.Sharing, Records: reads, Approvals: approval.Reads{}, Engine: a.Engine,
		Worker: a.name, KeyRetention: keep, Now: now, Log: a.log,
	})
	a.Metadata = metadata.New(a.DB, metadata.Config{
		Models: models, Bus: a.Bus, Graph: a.hasGraph, InUse: a.Records.InUse,
	})
	approvals := servicePart("approval", approval.Migration, a.Approvals)
	approvals.Committed, approvals.Ended = a.Approvals.Committed, a.Approvals.Ended
	return []*Part{
		{Name: "metadata", Tables: tablesOf(metadata.Migration), Routes: a.Metadata.Routes},
		a.recordsPart(),
		servicePart("sharing", sharing.Migration, a.Sharing),
		servicePart("automation", automation.Migration, a.Automation),
		{
			Name: "search", Tables: tablesOf(search.Migration), Consumers: []bus.Consumer{a.Search.Consumer()},
			Routes: func() []gate.Route { return a.Search.Routes(a.seals) },
			Run:    loops(a.Search.Run), Recount: a.recountSearch,
		},
		servicePart("reporting", reporting.Migration, a.Reports),
		approvals,
	}
}

// servicePart is the part of a service that derives what it has from records.
func servicePart(name string, tables func() sqldb.Migration, s interface {
	Consumer() bus.Consumer
	Routes() []gate.Route
	Run(ctx context.Context)
	Recount(ctx context.Context, tenant string) (differences []string, err error)
},
) *Part {
	return &Part{
		Name: name, Tables: tablesOf(tables), Consumers: []bus.Consumer{s.Consumer()}, Routes: s.Routes,
		Run: loops(s.Run), Recount: s.Recount,
	}
}

// clearEvery is how often it is looked for members of deleted records that were too many for the
// transaction which deleted the record.
const clearEvery = 5 * time.Second

func (a *App) recordsPart() *Part {
	return &Part{
		Name: "records", Tables: tablesOf(records.Migration),
		Consumers: []bus.Consumer{a.Records.Consumer(a.Approvals, a.Automation)},
		Run: loops(func(ctx context.Context) {
			every(ctx, clearEvery, func() {
				if err := a.Records.Clear(ctx); err != nil && ctx.Err() == nil {
					a.log.Warn("members of deleted records could not be removed", "error", err)
				}
			})
		}),
		Routes: func() []gate.Route { return a.Records.Routes(a.log) },
		Compact: func(ctx context.Context) error {
			_, err := a.Records.Compact(ctx)
			return err
		},
		Recount: func(ctx context.Context, tenant string) ([]string, error) {
			return records.Recount(ctx, a.DB, tenant)
		},
	}
}

func (a *App) recountSearch(ctx context.Context, tenant string) ([]string, error) {
	found, err := a.Search.Recount(ctx, tenant)
	if found.More > 0 {
		found.Differences = append(found.Differences, fmt.Sprintf("and %d more", found.More))
	}
	return found.Differences, err
}
