package cli

import (
	"context"

	"renga.dev/renga/client"
)

// eventsSettingsCmd is `renga events settings`.
type eventsSettingsCmd struct {
	Show eventsSettingsShowCmd `cmd:"" default:"1" help:"Show the publish policy (the default)."`
	Set  eventsSettingsSetCmd  `cmd:"" help:"Set the publish policy."`
}

// eventsSettingsShowCmd is `renga events settings show`.
type eventsSettingsShowCmd struct{}

// Help shows examples.
func (eventsSettingsShowCmd) Help() string {
	return `Which events of the tenant's executions are published: default (those of an execution as a whole, and NODE_WAITING), all or none.

Examples:
  renga events settings
  renga events settings show -o json | jq -r .executions`
}

// Run shows the settings.
func (c *eventsSettingsShowCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printEventSettings)(r.Events.Settings(ctx))
}

func printEventSettings(p *printer, s client.EventSettings) { p.pairs("executions", s.Executions) }

// eventsSettingsSetCmd is `renga events settings set`.
type eventsSettingsSetCmd struct {
	Executions    string `required:"" enum:"default,all,none" placeholder:"WHICH" help:"Which events of executions are published: default, all or none."`
	CorrelationID string `placeholder:"ID" help:"Name for a chain of work, in the audit log; default: the server makes one."`
}

// Help says what it means.
func (eventsSettingsSetCmd) Help() string {
	return `It counts for what is decided from now on: what was not published while less was asked for is not published later. The change is in the
audit log.

Examples:
  renga events settings set --executions all
  renga events settings set --executions default --correlation-id ticket-17`
}

// Run changes the settings and shows them.
func (c *eventsSettingsSetCmd) Run(ctx context.Context, r *remote) error {
	ctx = (&sending{CorrelationID: c.CorrelationID}).context(ctx)
	return show(r, printEventSettings)(r.Events.PutSettings(ctx, client.EventSettings{
		Executions: client.Publicity(c.Executions),
	}))
}
