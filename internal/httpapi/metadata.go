package httpapi

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// Metadata keeps what tenants define. Unknown things are fault.NotFound; what the
// definitions refuse is fault.Invalid or fault.Conflict.
type Metadata interface {
	// Put defines something anew; created says that there was nothing with its id.
	Put(ctx context.Context, c metadata.Change, body []byte) (stored model.Definition, created bool, err error)
	Delete(ctx context.Context, c metadata.Change) error
	Get(ctx context.Context, tenant string, kind model.Kind, id string) (model.Definition, error)
	// List is a page, of one object or ("") of all, and how many there are on all pages.
	List(ctx context.Context, tenant string, kind model.Kind, object string, offset, limit int) (page []any, total int, err error)
	// Describe is an object as the caller with this subject may see it.
	Describe(ctx context.Context, tenant, subject, object string) (metadata.Description, error)
}

// The scopes and the rate classes of definitions.
const (
	scopeMetadataRead  = "metadata:read"
	scopeMetadataWrite = "metadata:write"

	rateMetadataRead  = "metadata.read"
	rateMetadataWrite = "metadata.write"
)

// MaxMetadataBody is the longest definition, in bytes.
const MaxMetadataBody = 256 << 10

// shelf is where the definitions of a kind are: in a list under a path, by an id.
type shelf struct {
	kind     model.Kind
	path     string // of the list; "": there is none
	id       string // what follows the path of the list for one of them
	object   bool   // the list can be of one object
	standard bool   // what every tenant has cannot be deleted
}

// shelves are all of them.
var shelves = []shelf{
	{kind: model.KindObject, path: "/metadata/objects", id: "/{object}", standard: true},
	{kind: model.KindField, path: "/metadata/objects/{object}/fields", id: "/{name}"},
	{kind: model.KindPermissionSet, path: "/metadata/permission-sets", id: "/{id}"},
	{kind: model.KindUser, path: "/metadata/users", id: "/{id}"},
	{kind: model.KindRole, path: "/metadata/roles", id: "/{id}"},
	{kind: model.KindGroup, path: "/metadata/groups", id: "/{id}"},
	{kind: model.KindOWD, path: "/metadata/owd", id: "/{object}", standard: true},
	{kind: model.KindSharingRule, path: "/metadata/sharing-rules", id: "/{id}", object: true},
	{kind: model.KindTeamRoles, path: "/metadata/team-roles", id: "/{object}", standard: true},
	{kind: model.KindStages, id: "/metadata/stages", standard: true},
	{kind: model.KindValidationRule, path: "/metadata/validation-rules", id: "/{id}", object: true},
	{kind: model.KindWorkflowRule, path: "/metadata/workflow-rules", id: "/{id}", object: true},
	{kind: model.KindScheduledJob, path: "/metadata/scheduled-jobs", id: "/{id}", object: true},
	{kind: model.KindApprovalProcess, path: "/metadata/approval-processes", id: "/{id}", object: true},
}

// metadataRoutes are the routes of definitions.
func (a *API) metadataRoutes() []gate.Route {
	routes := []gate.Route{{Pattern: "GET /metadata/describe/{object}", Heavy: true, Scope: scopeMetadataRead, Rate: rateMetadataRead, Do: a.describe}}
	for _, s := range shelves {
		one := s.path + s.id
		if s.path != "" {
			routes = append(routes, gate.Route{Pattern: "GET " + s.path, Heavy: true, Scope: scopeMetadataRead, Rate: rateMetadataRead, Do: a.listDefinitions(s)})
		}
		routes = append(
			routes,
			gate.Route{Pattern: "GET " + one, Scope: scopeMetadataRead, Rate: rateMetadataRead, Do: a.definition(s)},
			gate.Route{Pattern: "PUT " + one, Heavy: true, Scope: scopeMetadataWrite, Rate: rateMetadataWrite, MaxBody: MaxMetadataBody, Do: a.putDefinition(s)},
		)
		if !s.standard {
			routes = append(routes, gate.Route{Pattern: "DELETE " + one, Heavy: true, Scope: scopeMetadataWrite, Rate: rateMetadataWrite, Do: a.deleteDefinition(s)})
		}
	}
	return routes
}

// place is the id of the definition that a call names.
func (s *shelf) place(c *gate.Call) string {
	switch s.kind {
	case model.KindField:
		return model.FieldKey(c.Path("object"), c.Path("name"))
	case model.KindStages:
		return "Opportunity"
	case model.KindObject, model.KindOWD, model.KindTeamRoles:
		return c.Path("object")
	}
	return c.Path("id")
}

// listDefinitions answers GET of a list.
func (a *API) listDefinitions(s shelf) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		var may []string
		if s.object {
			may = []string{"object"}
		}
		q, p := rest.ReadPage(c, may...)
		object, given := q.Text("object")
		if given && object == "" {
			q.Fail("object", "object must be the name of an object")
		}
		if q.Err != nil {
			return gate.Reply{}, q.Err
		}
		if s.kind == model.KindField {
			object = c.Path("object")
		}
		rows, total, err := a.metadata.List(ctx, c.Principal.Tenant, s.kind, object, p.Offset(), p.Size)
		if err != nil {
			return gate.Reply{}, err
		}
		return written(rest.NewList(p, rows, total))
	}
}

// definition answers GET of one definition.
func (a *API) definition(s shelf) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		if err := rest.ReadQuery(c).Err; err != nil {
			return gate.Reply{}, err
		}
		d, err := a.metadata.Get(ctx, c.Principal.Tenant, s.kind, s.place(c))
		if err != nil {
			return gate.Reply{}, err
		}
		return versioned(d)
	}
}

// putDefinition answers PUT of one definition.
func (a *API) putDefinition(s shelf) rest.Handler {
	return rest.NoQuery(func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		change, err := s.change(c)
		if err != nil {
			return gate.Reply{}, err
		}
		stored, created, err := a.metadata.Put(ctx, change, c.Body)
		if err != nil {
			return gate.Reply{}, err
		}
		reply, err := versioned(stored)
		if created {
			reply.Status = http.StatusCreated
		}
		return reply, err
	})
}

// deleteDefinition answers DELETE of one definition.
func (a *API) deleteDefinition(s shelf) rest.Handler {
	return rest.NoQuery(func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		change, err := s.change(c)
		if err == nil {
			err = a.metadata.Delete(ctx, change)
		}
		return gate.Reply{Status: http.StatusNoContent}, err
	})
}

// change is what a call wants of a definition.
func (s *shelf) change(c *gate.Call) (metadata.Change, error) {
	change := metadata.Change{
		Tenant: c.Principal.Tenant, Actor: c.Principal.Subject, CorrelationID: c.CorrelationID, Kind: s.kind, ID: s.place(c),
	}
	var err error
	change.Match, err = rest.IfMatch(c)
	return change, err
}

// versioned shows a definition with its version.
func versioned(d model.Definition) (gate.Reply, error) {
	reply, err := written(d.Value)
	reply.Header = rest.Version(metadata.Version(d))
	return reply, err
}

// written is a body whose members are always in the same order.
func written(body any) (gate.Reply, error) {
	raw, err := json.Marshal(body, json.Deterministic(true))
	return gate.Reply{Raw: raw}, err
}

// describe answers GET /metadata/describe/{object}.
func (a *API) describe(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	if err := rest.ReadQuery(c).Err; err != nil {
		return gate.Reply{}, err
	}
	d, err := a.metadata.Describe(ctx, c.Principal.Tenant, c.Principal.Subject, c.Path("object"))
	if err != nil {
		return gate.Reply{}, err
	}
	reply, err := written(d)
	if err != nil {
		return gate.Reply{}, err
	}
	return rest.Cached(c, reply, "private, no-cache"), nil
}
