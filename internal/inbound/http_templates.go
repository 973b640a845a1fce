package inbound

import (
	"context"
	"net/http"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// putTemplate answers PUT /api/workflow-templates/{id}.
func (a *api) putTemplate(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	t, err := ParseTemplate(c.Body)
	if err != nil {
		return gate.Reply{}, err
	}
	for i := range t.Steps {
		if queue := t.Steps[i].Action; a.reserved(queue) {
			return gate.Reply{}, rest.Invalid("steps",
				"steps[%d].action: the queue %s is the server's own; choose another name",
				i, queue)
		}
	}
	stored, created, err := a.trigger.PutTemplate(ctx, c.Principal.Tenant, c.Path("id"), t)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Status: rest.PutStatus(created), Body: stored}, nil
}

// template answers GET /api/workflow-templates/{id}.
func (a *api) template(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	stored, err := a.trigger.Template(ctx, c.Principal.Tenant, c.Path("id"))
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: stored}, nil
}

// listTemplates answers GET /api/workflow-templates.
func (a *api) listTemplates(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.trigger.Templates(ctx, c.Principal.Tenant, p.Offset(), p.Size)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}

// deleteTemplate answers DELETE /api/workflow-templates/{id}.
func (a *api) deleteTemplate(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	if err := a.trigger.DeleteTemplate(ctx, c.Principal.Tenant, c.Path("id")); err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Status: http.StatusNoContent}, nil
}
