package cli

import (
	"context"
	"strings"

	"renga.dev/renga/client"
)

type whoamiCmd struct{}

func (whoamiCmd) Help() string {
	return `Who you are to the server, in which tenant, and which scopes you have.

Examples:
  renga whoami
  renga whoami -o json | jq -r '.scopes[]'`
}

func (whoamiCmd) Run(ctx context.Context, r *remote) error {
	return show(r, func(p *printer, me *client.Caller) {
		user := ""
		if me.User != nil {
			user = clean(me.User.Name) + " " + me.User.ID
		}
		p.pairs("tenant", me.TenantID, "subject", me.Subject, "user", user, "auth", me.Auth,
			"scopes", strings.Join(me.Scopes, " "), "server", me.Version, "time", me.Now)
	})(r.Me(ctx))
}
