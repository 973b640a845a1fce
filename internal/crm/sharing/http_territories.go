package sharing

import (
	"context"
	"net/http"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// territoryRoutes are the routes of territories.
func (a *api) territoryRoutes() []gate.Route {
	routes := []gate.Route{
		{Operation: "listTerritories", Do: a.listTerritories},
		{Operation: "getTerritory", Do: rest.NoQuery(rest.WithID("id", a.getTerritory))},
		{Operation: "putTerritory", Do: a.putTerritory},
		{Operation: "deleteTerritory", Do: rest.WithID("id", a.deleteTerritory)},
	}
	for _, s := range []struct {
		of       Assignment
		name, id string
	}{{Users, "User", "userId"}, {Accounts, "Account", "accountId"}} {
		withIDs := func(do rest.Handler) rest.Handler { return rest.WithID("id", rest.WithID(s.id, do)) }
		routes = append(routes, []gate.Route{
			{Operation: "listTerritory" + s.name + "s", Do: rest.WithID("id", a.listAssigned(s.of))},
			{Operation: "assignTerritory" + s.name, Do: withIDs(a.assign(s.of, s.id))},
			{Operation: "unassignTerritory" + s.name, Do: withIDs(a.unassign(s.of, s.id))},
		}...)
	}
	return routes
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
func (b *territoryBody) draft(id string) (Draft, error) {
	d := Draft{Name: b.Name}
	switch {
	case b.ID != nil && *b.ID != id:
		return d, rest.Invalid("id", "id is not the one in the path")
	case b.ParentID != nil && *b.ParentID == "":
		return d, rest.Invalid("parentTerritoryId",
			"parentTerritoryId must be the id of a territory; without a parent it is left out")
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

// listTerritories answers GET /sharing/territories.
func (a *api) listTerritories(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.sharing.Territories.List(ctx, c.Principal.Tenant, p.Offset(), p.Size)
	return gate.Reply{Body: rest.NewList(p, rows, total)}, err
}

// getTerritory answers GET /sharing/territories/{id}.
func (a *api) getTerritory(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	t, err := a.sharing.Territories.Get(ctx, c.Principal.Tenant, c.Path("id"))
	return gate.Reply{Body: t}, err
}

// putTerritory answers PUT /sharing/territories/{id}.
func (a *api) putTerritory(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var b territoryBody
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	d, err := b.draft(c.Path("id"))
	if err != nil {
		return gate.Reply{}, err
	}
	t, created, err := a.sharing.Territories.Put(ctx, kit.CallerOf(c), c.Path("id"), d)
	return gate.Reply{Status: rest.PutStatus(created), Body: t}, err
}

// deleteTerritory answers DELETE /sharing/territories/{id}.
func (a *api) deleteTerritory(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	return gate.Reply{Status: http.StatusNoContent}, a.sharing.Territories.Delete(ctx, kit.CallerOf(c), c.Path("id"))
}

// listAssigned answers GET of what is assigned to a territory.
func (a *api) listAssigned(of Assignment) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		q, p := rest.ReadPage(c)
		if q.Err != nil {
			return gate.Reply{}, q.Err
		}
		rows, total, err := a.sharing.Territories.Assigned(ctx, c.Principal.Tenant, c.Path("id"), of, p.Offset(),
			p.Size)
		return gate.Reply{Body: rest.NewList(p, rows, total)}, err
	}
}

// assign answers PUT of an assignment to a territory.
func (a *api) assign(of Assignment, name string) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		if len(c.Body) > 0 {
			return gate.Reply{}, rest.Invalid("", "an assignment has no body; the path says it all")
		}
		_, err := a.sharing.Territories.Assign(ctx, kit.CallerOf(c), c.Path("id"), of, c.Path(name))
		return gate.Reply{Status: http.StatusNoContent}, err
	}
}

// unassign answers DELETE of an assignment to a territory.
func (a *api) unassign(of Assignment, name string) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		err := a.sharing.Territories.Unassign(ctx, kit.CallerOf(c), c.Path("id"), of, c.Path(name))
		return gate.Reply{Status: http.StatusNoContent}, err
	}
}
