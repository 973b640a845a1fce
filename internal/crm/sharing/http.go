package sharing

import (
	"context"
	"net/http"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/wire"
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

// grantee is who access is given to.
type grantee struct {
	Type string `json:"type"`
	ID   string `json:"id,omitzero"`
}

// grantView is one reason of access.
type grantView struct {
	Cause  string  `json:"cause"`
	ID     string  `json:"id,omitzero"`
	Access string  `json:"access"`
	Via    grantee `json:"via"`
}

// accessView is what somebody may, and why.
type accessView struct {
	Grantee grantee     `json:"grantee"`
	Access  string      `json:"access"`
	Why     []grantView `json:"why"`
}

// explanation is the access to a record.
type explanation struct {
	Object string       `json:"object"`
	ID     string       `json:"id"`
	Access []accessView `json:"access"`
}

// explain answers GET /sharing/{object}/{id}.
func (a *api) explain(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "userId")
	user := q.ID("userId")
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	out := explanation{Object: c.Path("object"), ID: c.Path("id"), Access: []accessView{}}
	all, err := a.sharing.Explain(ctx, Ask{
		Tenant: c.Principal.Tenant, Subject: c.Principal.Subject, Object: out.Object, ID: out.ID, User: user,
	})
	if err != nil {
		return gate.Reply{}, err
	}
	for _, one := range all {
		v := accessView{Grantee: grantee{one.Kind, one.ID}, Access: one.Level.String(), Why: []grantView{}}
		for _, g := range one.Why {
			v.Why = append(v.Why, grantView{
				Cause: g.Cause, ID: g.CauseID, Access: g.Level.String(),
				Via: grantee{g.Kind, g.ID},
			})
		}
		out.Access = append(out.Access, v)
	}
	return gate.Reply{Body: out}, nil
}

// modelView is a sharing model as it is shown.
type modelView struct {
	Object           string     `json:"object"`
	Version          int64      `json:"version"`
	Status           string     `json:"status"`
	OWD              model.OWD  `json:"owd"`
	Rules            []Rule     `json:"rules"`
	ExecutionID      string     `json:"executionId,omitzero"`
	RecordsProcessed int        `json:"recordsProcessed"`
	RecordsTotal     int        `json:"recordsTotal"`
	CreatedAt        wire.Stamp `json:"createdAt"`
	ActiveAt         wire.Stamp `json:"activeAt,omitzero"`
	EndedAt          wire.Stamp `json:"endedAt,omitzero"`
}

func showModel(m *Model) modelView {
	return modelView{
		Object: m.Object, Version: m.Version, Status: m.Status.String(), OWD: m.Setup.OWD, Rules: m.Setup.Rules,
		ExecutionID:      m.Execution,
		RecordsProcessed: m.Processed, RecordsTotal: m.Total, CreatedAt: m.CreatedAt, ActiveAt: m.ActiveAt,
		EndedAt: m.EndedAt,
	}
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
	return gate.Reply{Body: rest.Show(p, rest.Cut(p, all), len(all), showModel)}, nil
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
