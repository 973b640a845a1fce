package cli

import (
	"context"

	"renga.dev/renga/client"
)

type eventsSettingsCmd struct {
	Show eventsSettingsShowCmd `cmd:"" default:"1" help:"Show the publish policy (the default)."`
	Set  eventsSettingsSetCmd  `cmd:"" help:"Set the publish policy."`
}

type eventsSettingsShowCmd struct{}

func (eventsSettingsShowCmd) Help() string {
	return `Which events of the tenant's executions are published: default (those of an execution as a whole, and
NODE_WAITING), all or none.

Examples:
  renga events settings
  renga events settings show -o json | jq -r .executions`
}

func (c *eventsSettingsShowCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printEventSettings)(r.Events.Settings(ctx))
}

func printEventSettings(p *printer, s client.EventSettings) { p.pairs("executions", s.Executions) }

type eventsSettingsSetCmd struct {
	Executions    string `required:"" enum:"default,all,none" placeholder:"WHICH"`
	CorrelationID string `placeholder:"ID"`
}

func (eventsSettingsSetCmd) Help() string {
	return `It counts for what is decided from now on: what was not published while less was asked for is not
published later. The change is in the audit log.

Examples:
  renga events settings set --executions all
  renga events settings set --executions default --correlation-id ticket-17`
}

func (c *eventsSettingsSetCmd) Run(ctx context.Context, r *remote) error {
	ctx = (&sending{CorrelationID: c.CorrelationID}).context(ctx)
	return show(r, printEventSettings)(r.Events.PutSettings(ctx, client.EventSettings{
		Executions: client.PublishPolicy(c.Executions),
	}))
}
