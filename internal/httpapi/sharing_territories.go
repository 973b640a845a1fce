package httpapi

import (
	"context"
	"net/http"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// Territories keeps the territories of tenants, and who and what is assigned to them.
// Unknown things are fault.NotFound.
type Territories interface {
	Territories(ctx context.Context, tenant string, offset, limit int) (page []sharing.Territory, total int, err error)
	Territory(ctx context.Context, tenant, id string) (sharing.Territory, error)
	// PutTerritory and Assign say whether it is new.
	PutTerritory(ctx context.Context, call sharing.Caller, id string, d sharing.Draft) (t sharing.Territory, created bool, err error)
	DeleteTerritory(ctx context.Context, call sharing.Caller, id string) error
	Assigned(ctx context.Context, tenant, territory string, of sharing.Assignment, offset, limit int) (page []string, total int, err error)
	Assign(ctx context.Context, call sharing.Caller, territory string, of sharing.Assignment, id string) (created bool, err error)
	Unassign(ctx context.Context, call sharing.Caller, territory string, of sharing.Assignment, id string) error
}

// territoryRoutes are the routes of territories.
func (a *API) territoryRoutes() []gate.Route {
	const one = "/sharing/territories/{id}"
	routes := []gate.Route{
		{Pattern: "GET /sharing/territories", Scope: scopeSharingRead, Rate: rateSharingRead, Do: a.listTerritories},
		{Pattern: "GET " + one, Scope: scopeSharingRead, Rate: rateSharingRead, Do: rest.NoQuery(rest.WithID("id", a.getTerritory))},
		{Pattern: "PUT " + one, Scope: scopeSharingWrite, Rate: rateSharingWrite, Do: rest.NoQuery(a.putTerritory)},
		{Pattern: "DELETE " + one, Scope: scopeSharingWrite, Rate: rateSharingWrite, Do: rest.NoQuery(rest.WithID("id", a.deleteTerritory))},
	}
	for _, s := range []struct {
		of       sharing.Assignment
		path, id string
	}{{sharing.Users, one + "/users", "userId"}, {sharing.Accounts, one + "/accounts", "accountId"}} {
		routes = append(
			routes,
			gate.Route{Pattern: "GET " + s.path, Scope: scopeSharingRead, Rate: rateSharingRead, Do: rest.WithID("id", a.listAssigned(s.of))},
			gate.Route{Pattern: "PUT " + s.path + "/{" + s.id + "}", Scope: scopeSharingWrite, Rate: rateSharingWrite, Do: rest.NoQuery(rest.WithID("id", rest.WithID(s.id, a.assign(s.of, s.id))))},
			gate.Route{Pattern: "DELETE " + s.path + "/{" + s.id + "}", Scope: scopeSharingWrite, Rate: rateSharingWrite, Do: rest.NoQuery(rest.WithID("id", rest.WithID(s.id, a.unassign(s.of, s.id))))},
		)
	}
	return routes
}

// territoryView is a territory as it is shown.
type territoryView struct {
	ID       string       `json:"id"`
	Name     string       `json:"name"`
	ParentID string       `json:"parentTerritoryId,omitzero"`
	Access   model.Access `json:"access"`
}

func showTerritory(t *sharing.Territory) territoryView {
	return territoryView{t.ID, t.Name, t.ParentID, t.Access}
}

// territoryBody is what a caller says of a territory. An id, if there is one, is that of
// the path.
type territoryBody struct {
	ID       *string       `json:"id"`
	Name     string        `json:"name"`
	ParentID *string       `json:"parentTerritoryId"`
	Access   *model.Access `json:"access"`
}

// draft is what it says, without what it says nothing of.
func (b *territoryBody) draft(id string) (sharing.Draft, error) {
	d := sharing.Draft{Name: b.Name}
	switch {
	case b.ID != nil && *b.ID != id:
		return d, rest.Invalid("id", "id is not the one in the path")
	case b.ParentID != nil && *b.ParentID == "":
		return d, rest.Invalid("parentTerritoryId", "parentTerritoryId must be the id of a territory; without a parent it is left out")
	case b.Access != nil && *b.Access == "":
		return d, rest.Invalid("access", "access must be Read or Edit; left out, it is Read")
	}
	if b.ParentID != nil {
		d.ParentID = *b.ParentID
	}
	if b.Access != nil {
		d.Access = *b.Access
	}
	return d, nil
}

func sharingCaller(c *gate.Call) sharing.Caller {
	return sharing.Caller{Tenant: c.Principal.Tenant, CorrelationID: c.CorrelationID}
}

// listTerritories answers GET /sharing/territories.
func (a *API) listTerritories(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.territories.Territories(ctx, c.Principal.Tenant, p.Offset(), p.Size)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.Show(p, rows, total, showTerritory)}, nil
}

// getTerritory answers GET /sharing/territories/{id}.
func (a *API) getTerritory(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	t, err := a.territories.Territory(ctx, c.Principal.Tenant, c.Path("id"))
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: showTerritory(&t)}, nil
}

// putTerritory answers PUT /sharing/territories/{id}.
func (a *API) putTerritory(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var b territoryBody
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	d, err := b.draft(c.Path("id"))
	if err != nil {
		return gate.Reply{}, err
	}
	t, created, err := a.territories.PutTerritory(ctx, sharingCaller(c), c.Path("id"), d)
	if err != nil {
		return gate.Reply{}, err
	}
	reply := gate.Reply{Status: http.StatusOK, Body: showTerritory(&t)}
	if created {
		reply.Status = http.StatusCreated
	}
	return reply, nil
}

// deleteTerritory answers DELETE /sharing/territories/{id}.
func (a *API) deleteTerritory(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	return gate.Reply{Status: http.StatusNoContent}, a.territories.DeleteTerritory(ctx, sharingCaller(c), c.Path("id"))
}

// listAssigned answers GET of what is assigned to a territory.
func (a *API) listAssigned(of sharing.Assignment) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		q, p := rest.ReadPage(c)
		if q.Err != nil {
			return gate.Reply{}, q.Err
		}
		rows, total, err := a.territories.Assigned(ctx, c.Principal.Tenant, c.Path("id"), of, p.Offset(), p.Size)
		if err != nil {
			return gate.Reply{}, err
		}
		return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
	}
}

// assign answers PUT of an assignment to a territory.
func (a *API) assign(of sharing.Assignment, name string) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		if len(c.Body) > 0 {
			return gate.Reply{}, rest.Invalid("", "an assignment has no body; the path says it all")
		}
		_, err := a.territories.Assign(ctx, sharingCaller(c), c.Path("id"), of, c.Path(name))
		return gate.Reply{Status: http.StatusNoContent}, err
	}
}

// unassign answers DELETE of an assignment to a territory.
func (a *API) unassign(of sharing.Assignment, name string) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		return gate.Reply{Status: http.StatusNoContent}, a.territories.Unassign(ctx, sharingCaller(c), c.Path("id"), of, c.Path(name))
	}
}
