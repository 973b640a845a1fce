package reporting

import (
	"context"
	"net/http"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/wire"
)

// rebuildView is a rebuild of what is counted as it is shown.
type rebuildView struct {
	RebuildID        string     `json:"rebuildId"`
	Status           string     `json:"status"`
	ExecutionID      string     `json:"executionId,omitzero"`
	RecordsProcessed int        `json:"recordsProcessed"`
	RecordsTotal     int        `json:"recordsTotal"`
	CreatedAt        wire.Stamp `json:"createdAt"`
	EndedAt          wire.Stamp `json:"endedAt,omitzero"`
}

func showRebuild(b *Rebuild) rebuildView {
	return rebuildView{
		RebuildID: b.ID, Status: b.Status.String(), ExecutionID: b.Execution, RecordsProcessed: b.Processed,
		RecordsTotal: b.Total, CreatedAt: b.CreatedAt, EndedAt: b.EndedAt,
	}
}

// rebuild answers POST /reports/rebuild.
func (a *api) rebuild(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	key, err := rest.OptionalKey(c)
	if err != nil {
		return gate.Reply{}, err
	}
	if err := c.Decode(&struct{}{}); err != nil {
		return gate.Reply{}, err
	}
	id, _, err := a.reports.Rebuild(ctx, c.Principal.Tenant, key)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Status: http.StatusAccepted, Body: struct {
		RebuildID string `json:"rebuildId"`
	}{id}}, nil
}

// listRebuilds answers GET /reports/rebuilds.
func (a *api) listRebuilds(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	all, err := a.reports.ListRebuilds(ctx, c.Principal.Tenant)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.Show(p, rest.Cut(p, all), len(all), func(b **Rebuild) rebuildView {
		return showRebuild(*b)
	})}, nil
}

// getRebuild answers GET /reports/rebuilds/{id}.
func (a *api) getRebuild(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	b, err := a.reports.GetRebuild(ctx, c.Principal.Tenant, c.Path("id"))
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: showRebuild(b)}, nil
}
