package inbound

import (
	"context"
	"net/http"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

func (a *api) putTemplate(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	t, err := ParseTemplate(c.Body)
	if err != nil {
		return gate.Reply{}, err
	}
	for i := range t.Steps {
		if queue := t.Steps[i].Action; a.reserved(queue) {
			return gate.Reply{}, rest.Invalid("steps",
				"steps[%d].action: the queue %s is the server's own; choose another name", i, queue)
		}
	}
	stored, created, err := a.deliveries.PutTemplate(ctx, c.Principal.Tenant, c.Path("id"), t)
	return gate.Reply{Status: rest.PutStatus(created), Body: stored}, err
}

func (a *api) template(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	stored, err := a.deliveries.Template(ctx, c.Principal.Tenant, c.Path("id"))
	return gate.Reply{Body: stored}, err
}

func (a *api) deleteTemplate(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	return gate.Reply{Status: http.StatusNoContent}, a.deliveries.DeleteTemplate(ctx, c.Principal.Tenant, c.Path("id"))
}
