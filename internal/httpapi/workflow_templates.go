package httpapi

import (
	"context"
	"net/http"

	"renga.dev/renga/internal/inbound"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// WorkflowTemplates keeps templates. Unknown ones are fault.NotFound.
type WorkflowTemplates interface {
	PutTemplate(ctx context.Context, tenant, id string, t inbound.Template) (stored inbound.Stored, created bool, err error)
	Template(ctx context.Context, tenant, id string) (inbound.Stored, error)
	Templates(ctx context.Context, tenant string, offset, limit int) ([]inbound.Stored, int, error)
	DeleteTemplate(ctx context.Context, tenant, id string) error
}

// putTemplate answers PUT /api/workflow-templates/{id}.
func (a *API) putTemplate(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	t, err := inbound.ParseTemplate(c.Body)
	if err != nil {
		return gate.Reply{}, err
	}
	for i := range t.Steps {
		if queue := t.Steps[i].Action; a.reserved(queue) {
			return gate.Reply{}, rest.Invalid("steps", "steps[%d].action: the queue %s is the server's own; choose another name",
				i, queue)
		}
	}
	stored, created, err := a.workflowTemplates.PutTemplate(ctx, c.Principal.Tenant, c.Path("id"), t)
	if err != nil {
		return gate.Reply{}, err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return gate.Reply{Status: status, Body: stored}, nil
}

// template answers GET /api/workflow-templates/{id}.
func (a *API) template(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	if err := rest.ReadQuery(c).Err; err != nil {
		return gate.Reply{}, err
	}
	stored, err := a.workflowTemplates.Template(ctx, c.Principal.Tenant, c.Path("id"))
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: stored}, nil
}

// listTemplates answers GET /api/workflow-templates.
func (a *API) listTemplates(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.workflowTemplates.Templates(ctx, c.Principal.Tenant, p.Offset(), p.Size)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}

// deleteTemplate answers DELETE /api/workflow-templates/{id}.
func (a *API) deleteTemplate(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	if err := a.workflowTemplates.DeleteTemplate(ctx, c.Principal.Tenant, c.Path("id")); err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Status: http.StatusNoContent}, nil
}
