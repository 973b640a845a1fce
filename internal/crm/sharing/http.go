package sharing

import (
	"context"
	"net/http"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// api answers the calls of sharing.
type api struct{ sharing *Sharing }

// Routes are the routes of access, of its models and of territories.
func (s *Sharing) Routes() []gate.Route {
	a := &api{s}
	return rest.Routes(append([]gate.Route{
		{Operation: "listSharingModels", Do: a.listModels},
		{Operation: "explainAccess", Heavy: true, Do: rest.WithID("id", a.explain)},
		{Operation: "rebuildSharing", Heavy: true, Do: a.rebuild},
	}, a.territoryRoutes()...))
}

// explanation is the access to a record.
type explanation struct {
	Object string   `json:"object"`
	ID     string   `json:"id"`
	Access []Access `json:"access"`
}

// explain answers GET /sharing/{object}/{id}.
func (a *api) explain(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "userId")
	user := q.ID("userId")
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	object, id := c.Path("object"), c.Path("id")
	all, err := a.sharing.Explain(ctx, Ask{
		Tenant: c.Principal.Tenant, Subject: c.Principal.Subject, Object: object, ID: id, User: user,
	})
	return gate.Reply{Body: explanation{object, id, all}}, err
}

// listModels answers GET /sharing/models.
func (a *api) listModels(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "object")
	object, given := q.Text("object")
	if given && object == "" {
		q.Fail("object", "object must be the name of an object")
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	all, err := a.sharing.ListModels(ctx, c.Principal.Tenant, object)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rest.Cut(p, all), len(all))}, nil
}

// rebuild answers POST /sharing/{object}/rebuild.
func (a *api) rebuild(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	key, err := rest.OptionalKey(c)
	if err != nil {
		return gate.Reply{}, err
	}
	version, _, err := a.sharing.Rebuild(ctx, c.Principal.Tenant, c.Path("object"), key)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Status: http.StatusAccepted, Body: rebuildView{c.Path("object"), version}}, nil
}

// rebuildView names a model that is being built; GET /sharing/models says how far it is.
type rebuildView struct {
	Object  string `json:"object"`
	Version int64  `json:"version"`
}
