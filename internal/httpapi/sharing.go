package httpapi

import (
	"context"
	"net/http"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/wire"
)

// Sharing says who may see which record. What a caller may not see is fault.NotFound.
type Sharing interface {
	// Explain says who has access to a record, or one user, and why.
	Explain(ctx context.Context, ask sharing.Ask) ([]sharing.Access, error)
	// Rebuild starts a rebuild, once for a key, and gives the version of its model;
	// replay says that it was done before.
	Rebuild(ctx context.Context, tenant, object string, key *wire.Once) (version int64, replay bool, err error)
	// ListModels are the models of an object, or ("") of all.
	ListModels(ctx context.Context, tenant, object string) ([]sharing.Model, error)
}

// The scopes and the rate classes of sharing.
const (
	scopeSharingRead  = "sharing:read"
	scopeSharingWrite = "sharing:write"

	rateSharingRead  = "sharing.read"
	rateSharingWrite = "sharing.write"
)

// sharingRoutes are the routes of access and of its models.
func (a *API) sharingRoutes() []gate.Route {
	return []gate.Route{
		{Pattern: "GET /sharing/models", Scope: scopeSharingRead, Rate: rateSharingRead, Do: a.listSharingModels},
		{Pattern: "GET /sharing/{object}/{id}", Heavy: true, Scope: scopeSharingRead, Rate: rateSharingRead, Do: rest.WithID("id", a.explainAccess)},
		{
			Pattern: "POST /sharing/{object}/rebuild", Heavy: true, Scope: scopeSharingWrite, Rate: rateSharingWrite, Once: gate.Optional,
			Do: rest.NoQuery(a.rebuildSharing),
		},
	}
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

// explainAccess answers GET /sharing/{object}/{id}.
func (a *API) explainAccess(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "userId")
	user, given := q.Text("userId")
	if given && !model.ValidID(user) {
		q.Fail("userId", "userId must be a UUID in lower case")
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	out := explanation{Object: c.Path("object"), ID: c.Path("id"), Access: []accessView{}}
	all, err := a.sharing.Explain(ctx, sharing.Ask{
		Tenant: c.Principal.Tenant, Subject: c.Principal.Subject, Object: out.Object, ID: out.ID, User: user,
	})
	if err != nil {
		return gate.Reply{}, err
	}
	for _, one := range all {
		v := accessView{Grantee: grantee{one.Kind, one.ID}, Access: one.Level.String(), Why: []grantView{}}
		for _, g := range one.Why {
			v.Why = append(v.Why, grantView{Cause: g.Cause, ID: g.CauseID, Access: g.Level.String(), Via: grantee{g.Kind, g.ID}})
		}
		out.Access = append(out.Access, v)
	}
	return gate.Reply{Body: out}, nil
}

// modelView is a sharing model as it is shown.
type modelView struct {
	Object           string         `json:"object"`
	Version          int64          `json:"version"`
	Status           string         `json:"status"`
	OWD              model.OWD      `json:"owd"`
	Rules            []sharing.Rule `json:"rules"`
	ExecutionID      string         `json:"executionId,omitzero"`
	RecordsProcessed int            `json:"recordsProcessed"`
	RecordsTotal     int            `json:"recordsTotal"`
	CreatedAt        wire.Stamp     `json:"createdAt"`
	ActiveAt         wire.Stamp     `json:"activeAt,omitzero"`
	EndedAt          wire.Stamp     `json:"endedAt,omitzero"`
}

func showModel(m *sharing.Model) modelView {
	return modelView{
		Object: m.Object, Version: m.Version, Status: m.Status.String(), OWD: m.Setup.OWD, Rules: m.Setup.Rules, ExecutionID: m.Execution,
		RecordsProcessed: m.Processed, RecordsTotal: m.Total, CreatedAt: m.CreatedAt, ActiveAt: m.ActiveAt, EndedAt: m.EndedAt,
	}
}

// listSharingModels answers GET /sharing/models.
func (a *API) listSharingModels(ctx context.Context, c *gate.Call) (gate.Reply, error) {
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

// rebuildSharing answers POST /sharing/{object}/rebuild.
func (a *API) rebuildSharing(ctx context.Context, c *gate.Call) (gate.Reply, error) {
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
