package httpapi

import (
	"context"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/engine"
)

// EventSettings are the publish policies of tenants. SetPublishPolicy writes the entry of the audit log in the
// transaction of the change.
type EventSettings interface {
	PublishPolicy(ctx context.Context, tenant string) (engine.PublishPolicy, error)
	SetPublishPolicy(ctx context.Context, tenant string, p engine.PublishPolicy, entry audit.Entry) error
}

// publishPolicies are the names of the policies.
var publishPolicies = map[string]engine.PublishPolicy{
	"default": engine.PublishMain, "all": engine.PublishAll,
	"none": engine.PublishNone,
}

// eventSettingsView is the publish policy of a tenant.
type eventSettingsView struct {
	Executions string `json:"executions"`
}

func showEventSettings(p engine.PublishPolicy) (v eventSettingsView) {
	for name, of := range publishPolicies {
		if of == p {
			v.Executions = name
		}
	}
	return v
}

func (a *API) eventSettings(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	p, err := a.cfg.Settings.PublishPolicy(ctx, c.Principal.Tenant)
	return gate.Reply{Body: showEventSettings(p)}, err
}

func (a *API) putEventSettings(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var b eventSettingsView
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	p, ok := publishPolicies[b.Executions]
	if !ok {
		return gate.Reply{}, rest.Invalid("executions", "executions must be default, all or none")
	}
	err := a.cfg.Settings.SetPublishPolicy(ctx, c.Principal.Tenant, p, audit.Entry{
		Tenant: c.Principal.Tenant, Actor: c.Principal.Subject, Action: "events.settings", Subject: "executions",
		CorrelationID: c.CorrelationID, Outcome: audit.Accepted,
		Detail: []byte(`{"executions":"` + b.Executions + `"}`),
	})
	if err != nil {
		return gate.Reply{}, fault.Wrap("httpapi.settings", err)
	}
	return gate.Reply{Body: showEventSettings(p)}, nil
}
