package httpapi

import (
	"context"
	"time"

	"renga.dev/renga/api"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// About is what a caller may know of the program.
type About struct {
	Auth    gate.Mode
	Version string
	Airflow bool             // it does the checks of strategies
	OIDC    bool             // people sign in at an OpenID provider
	Now     func() time.Time // nil: time.Now
	// Person is the user of a tenant's metadata that a subject is, zero where there is none; nil: there is no metadata.
	Person func(ctx context.Context, tenant, subject string) (Person, error)
}

// Person is a user as people see it.
type Person struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// meView is who calls, and what it may use.
type meView struct {
	Auth     gate.Mode       `json:"auth"`
	TenantID string          `json:"tenantId"`
	Subject  string          `json:"subject,omitzero"`
	User     *Person         `json:"user,omitzero"`
	Scopes   []string        `json:"scopes"`
	Version  string          `json:"version"`
	Now      flow.Time       `json:"now"`
	Limits   map[string]int  `json:"limits"`
	Features map[string]bool `json:"features"`
}

// me answers GET /me.
func (a *API) me(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	about := &a.cfg.About
	view := meView{
		Auth: about.Auth, TenantID: c.Principal.Tenant, Subject: c.Principal.Subject, Scopes: c.Principal.Scopes,
		Version: about.Version, Now: flow.At(about.Now()),
		Limits: map[string]int{
			"body": MaxBody, "batchBody": MaxBatchBody, "graphBody": MaxGraphBody, "commands": MaxCommands,
			"eventPage": MaxEventPage, "buckets": engine.MaxBuckets, "simulatedEvents": MaxSimulatedEvents,
		},
		Features: map[string]bool{"airflow": about.Airflow, "oidc": about.OIDC},
	}
	if c.Principal.All {
		view.Scopes = api.Scopes()
	}
	if view.Scopes == nil {
		view.Scopes = []string{}
	}
	if about.Person != nil && c.Principal.Subject != "" {
		p, err := about.Person(ctx, c.Principal.Tenant, c.Principal.Subject)
		if err != nil {
			return gate.Reply{}, err
		}
		if p.ID != "" {
			view.User = &p
		}
	}
	return gate.Reply{Body: &view}, nil
}
