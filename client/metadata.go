package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Metadata reads and changes what a tenant defines.
type Metadata struct{ *transport }

// DefinitionKind is a kind of definition.
type DefinitionKind string

// The kinds of definitions, in an order in which each needs only those before it.
const (
	DefineObject          DefinitionKind = "object" // by its name
	DefineField           DefinitionKind = "field"  // by object and name: Account.Tier__c
	DefineStages          DefinitionKind = "stages" // by Opportunity
	DefinePermissionSet   DefinitionKind = "permission-set"
	DefineRole            DefinitionKind = "role"
	DefineUser            DefinitionKind = "user"
	DefineGroup           DefinitionKind = "group"
	DefineOWD             DefinitionKind = "owd" // by object
	DefineSharingRule     DefinitionKind = "sharing-rule"
	DefineTeamRoles       DefinitionKind = "team-roles" // by object
	DefineValidationRule  DefinitionKind = "validation-rule"
	DefineWorkflowRule    DefinitionKind = "workflow-rule"
	DefineScheduledJob    DefinitionKind = "scheduled-job"
	DefineApprovalProcess DefinitionKind = "approval-process"
)

// DefinitionKinds are all of them, in their order.
var DefinitionKinds = []DefinitionKind{
	DefineObject, DefineField, DefineStages, DefinePermissionSet, DefineRole, DefineUser, DefineGroup, DefineOWD,
	DefineSharingRule, DefineTeamRoles, DefineValidationRule, DefineWorkflowRule, DefineScheduledJob,
	DefineApprovalProcess,
}

// list is the path of the definitions of a kind; of fields, those of an object.
func (k DefinitionKind) list(object string) string {
	switch k {
	case DefineField:
		return "/metadata/objects/" + url.PathEscape(object) + "/fields"
	case DefineOWD, DefineTeamRoles, DefineStages:
		return "/metadata/" + string(k)
	case DefineApprovalProcess:
		return "/metadata/approval-processes"
	}
	return "/metadata/" + url.PathEscape(string(k)) + "s"
}

// one is the path of a definition.
func (k DefinitionKind) one(id string) string {
	switch k {
	case DefineStages:
		return "/metadata/stages"
	case DefineField:
		object, name, _ := strings.Cut(id, ".")
		return k.list(object) + "/" + url.PathEscape(name)
	}
	return k.list("") + "/" + url.PathEscape(id)
}

// Definition is something that a tenant defined, as the server has it.
type Definition struct {
	Body    json.RawMessage // an object; it can be put back as it is
	Version string          // of its last change; "0": nobody changed it
}

// Put defines something, or defines it anew: what the body, a JSON object, does not
// say is as it is at first. With a version, the definition must have it (ErrVersion).
// created says that there was none with this id.
func (c Metadata) Put(
	ctx context.Context, kind DefinitionKind, id string, body any, version string) (stored *Definition, created bool,
	err error,
) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, false, err
	}
	r, err := c.do(ctx, call{method: http.MethodPut, path: kind.one(id), body: raw, match: version})
	if err != nil {
		return nil, false, err
	}
	return r.definition(), r.status == http.StatusCreated, nil
}

// Get reads a definition.
func (c Metadata) Get(ctx context.Context, kind DefinitionKind, id string) (*Definition, error) {
	r, err := c.do(ctx, call{method: http.MethodGet, path: kind.one(id)})
	if err != nil {
		return nil, err
	}
	return r.definition(), nil
}

func (r *reply) definition() *Definition {
	return &Definition{Body: r.body, Version: strings.Trim(r.etag, `"`)}
}

// List reads a page of the definitions of a kind. Fields are those of an
// object; of rules, jobs and processes an object ("": all) chooses some. Stages are one
// definition and have no list.
func (c Metadata) List(
	ctx context.Context, kind DefinitionKind, object string, at Paging) (*Page[json.RawMessage], error,
) {
	if kind == DefineStages || kind == DefineField && object == "" {
		return nil, &Error{Message: fmt.Sprintf("there is no list of all definitions of the kind %s", kind)}
	}
	query := given(map[string]string{"object": when(kind != DefineField, object)})
	return list[json.RawMessage](ctx, c.transport, kind.list(object), query, at)
}

// Delete deletes a definition. What others need is ErrRefused; with a version,
// the definition must have it (ErrVersion).
func (c Metadata) Delete(ctx context.Context, kind DefinitionKind, id, version string) error {
	return c.remove(ctx, kind.one(id), version)
}

// Describe reads an object with the fields that the caller may see.
func (c Metadata) Describe(ctx context.Context, object string) (*ObjectDescription, error) {
	return get[ObjectDescription](ctx, c.transport, pathOf("/metadata/describe/{object}", object), nil)
}
