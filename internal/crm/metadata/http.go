package metadata

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// MaxBody is the longest definition, in bytes.
const MaxBody = 256 << 10

// api answers the calls of metadata.
type api struct{ metadata *Metadata }

// Routes are the routes of definitions.
func (s *Metadata) Routes() []gate.Route {
	a := &api{s}
	routes := []gate.Route{
		{Operation: "describeObject", Heavy: true, Do: rest.NoQuery(a.describe)},
	}
	for _, d := range collections {
		if d.all != "" {
			routes = append(routes, gate.Route{Operation: "list" + d.all, Heavy: true, Do: a.list(d)})
		}
		routes = append(
			routes,
			gate.Route{Operation: "get" + d.one, Do: rest.NoQuery(a.get(d))},
			gate.Route{Operation: "put" + d.one, Heavy: true, MaxBody: MaxBody, Do: a.put(d)},
		)
		if !d.standard {
			routes = append(routes, gate.Route{Operation: "delete" + d.one, Heavy: true, Do: a.remove(d)})
		}
	}
	return rest.Routes(routes)
}

// collection is the definitions of a kind.
type collection struct {
	kind     model.Kind
	one, all string // as the operations name them; all is "" where there is no list
	object   bool   // the list can be of one object
	standard bool   // what every tenant has cannot be deleted
}

// collections are all of them.
var collections = []collection{
	{kind: model.KindObject, one: "Object", all: "Objects", standard: true},
	{kind: model.KindField, one: "Field", all: "Fields"},
	{kind: model.KindPermissionSet, one: "PermissionSet", all: "PermissionSets"},
	{kind: model.KindUser, one: "User", all: "Users"},
	{kind: model.KindRole, one: "Role", all: "Roles"},
	{kind: model.KindGroup, one: "Group", all: "Groups"},
	{kind: model.KindOWD, one: "OWD", all: "OWD", standard: true},
	{kind: model.KindSharingRule, one: "SharingRule", all: "SharingRules", object: true},
	{kind: model.KindTeamRoles, one: "TeamRoles", all: "TeamRoles", standard: true},
	{kind: model.KindStages, one: "Stages", standard: true},
	{kind: model.KindValidationRule, one: "ValidationRule", all: "ValidationRules", object: true},
	{kind: model.KindWorkflowRule, one: "WorkflowRule", all: "WorkflowRules", object: true},
	{kind: model.KindScheduledJob, one: "ScheduledJob", all: "ScheduledJobs", object: true},
	{kind: model.KindApprovalProcess, one: "ApprovalProcess", all: "ApprovalProcesses", object: true},
}

// place is the id of the definition that a call names.
func (d *collection) place(c *gate.Call) string {
	switch d.kind {
	case model.KindField:
		return model.FieldKey(c.Path("object"), c.Path("name"))
	case model.KindStages:
		return "Opportunity"
	case model.KindObject, model.KindOWD, model.KindTeamRoles:
		return c.Path("object")
	}
	return c.Path("id")
}

// list answers GET of a list.
func (a *api) list(d collection) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		var may []string
		if d.object {
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
		if d.kind == model.KindField {
			object = c.Path("object")
		}
		rows, total, err := a.metadata.List(ctx, c.Principal.Tenant, d.kind, object, p.Offset(), p.Size)
		if err != nil {
			return gate.Reply{}, err
		}
		return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
	}
}

// get answers GET of one definition.
func (a *api) get(d collection) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		found, err := a.metadata.Get(ctx, c.Principal.Tenant, d.kind, d.place(c))
		if err != nil {
			return gate.Reply{}, err
		}
		return versioned(found), nil
	}
}

// put answers PUT of one definition.
func (a *api) put(d collection) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		change, err := d.change(c)
		if err != nil {
			return gate.Reply{}, err
		}
		stored, created, err := a.metadata.Put(ctx, change, c.Body)
		if err != nil {
			return gate.Reply{}, err
		}
		reply := versioned(stored)
		reply.Status = rest.PutStatus(created)
		return reply, nil
	}
}

// remove answers DELETE of one definition.
func (a *api) remove(d collection) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		change, err := d.change(c)
		if err == nil {
			err = a.metadata.Delete(ctx, change)
		}
		return gate.Reply{Status: http.StatusNoContent}, err
	}
}

// change is what a call wants of a definition.
func (d *collection) change(c *gate.Call) (Change, error) {
	change := Change{
		Tenant: c.Principal.Tenant, Actor: c.Principal.Subject, CorrelationID: c.CorrelationID, Kind: d.kind,
		ID: d.place(c),
	}
	var err error
	change.Match, err = rest.IfMatch(c)
	return change, err
}

// versioned shows a definition with its version.
func versioned(d model.Definition) gate.Reply {
	return gate.Reply{Body: d.Value, Header: rest.Version(Version(d))}
}

// describe answers GET /metadata/describe/{object}.
func (a *api) describe(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	d, err := a.metadata.Describe(ctx, c.Principal.Tenant, c.Principal.Subject, c.Path("object"))
	if err != nil {
		return gate.Reply{}, err
	}
	raw, err := json.Marshal(d, json.Deterministic(true))
	if err != nil {
		return gate.Reply{}, err
	}
	return rest.Cached(c, gate.Reply{Raw: raw}, "private, no-cache"), nil
}
