package httpapi

import (
	"context"
	"net/http"

	"renga.dev/renga/internal/gate"
	"renga.dev/renga/internal/trigger"
)

// WorkflowTemplates keeps templates. Unknown ones are fault.NotFound.
type WorkflowTemplates interface {
	PutTemplate(ctx context.Context, tenant, id string, t trigger.Template) (stored trigger.Stored, created bool, err error)
	Template(ctx context.Context, tenant, id string) (trigger.Stored, error)
	Templates(ctx context.Context, tenant string, offset, limit int) ([]trigger.Stored, int, error)
	DeleteTemplate(ctx context.Context, tenant, id string) error
}

// putTemplate answers PUT /api/workflow-templates/{id}.
func (a *API) putTemplate(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	t, err := trigger.ParseTemplate(c.Body)
	if err != nil {
		return gate.Reply{}, err
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
	if err := newQuery(c).err; err != nil {
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
	q := newQuery(c, pageParams...)
	p := q.paging()
	if q.err != nil {
		return gate.Reply{}, q.err
	}
	rows, total, err := a.workflowTemplates.Templates(ctx, c.Principal.Tenant, p.offset(), p.size)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: newPage(p, rows, total, func(t *trigger.Stored) trigger.Stored { return *t })}, nil
}

// deleteTemplate answers DELETE /api/workflow-templates/{id}.
func (a *API) deleteTemplate(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	if err := a.workflowTemplates.DeleteTemplate(ctx, c.Principal.Tenant, c.Path("id")); err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Status: http.StatusNoContent}, nil
}
