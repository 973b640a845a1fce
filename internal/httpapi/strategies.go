package httpapi

import (
	"context"
	"net/http"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/recheck"
)

// Strategies keeps the strategies that are checked again.
type Strategies interface {
	// Put stores what a draft says; created says that there was none with this id.
	Put(ctx context.Context, tenant, id string, d recheck.Draft) (stored recheck.Strategy, created bool, err error)
	// List is a page and how many there are on all pages.
	List(ctx context.Context, tenant string, q recheck.Query) (page []recheck.Strategy, total int, err error)
}

// The scopes and rate classes of the re-check surface.
const (
	scopePDCARead   = "pdca:read"
	scopePDCAAdmin  = "pdca:admin"
	scopeRecheck    = "pdca:recheck"
	scopeRecheckAll = "pdca:recheck_all"
	scopeDownload   = "pdca:download"

	ratePDCARead = "pdca.read"
	rateRecheck  = "pdca.recheck"
	ratePDCABulk = "pdca.bulk"
)

// MaxRecheckBody is the longest body on the re-check surface, in bytes.
const MaxRecheckBody = 64 << 10

// strategyRoutes are the routes of strategies. What is under /gui is for tokens of an
// audience of its own.
func (a *API) strategyRoutes() []gate.Route {
	return []gate.Route{
		{
			Pattern: "PUT /pdca/strategies/{id}", Heavy: true, Surface: gate.Recheck, Scope: scopePDCAAdmin, Rate: rateRecheck,
			MaxBody: MaxRecheckBody, Do: rest.NoQuery(a.putStrategy),
		},
		{
			Pattern: "GET /gui/strategies", Heavy: true, Surface: gate.Recheck, Audiences: []string{gate.AudienceGUI}, Scope: scopePDCARead,
			Rate: ratePDCARead, Do: a.listStrategies,
		},
	}
}

// putStrategy answers PUT /pdca/strategies/{id}.
func (a *API) putStrategy(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	draft, err := recheck.ParseDraft(c.Body)
	if err != nil {
		return gate.Reply{}, err
	}
	stored, created, err := a.strategies.Put(ctx, c.Principal.Tenant, c.Path("id"), draft)
	if err != nil {
		return gate.Reply{}, err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return gate.Reply{Status: status, Body: stored}, nil
}

// listStrategies answers GET /gui/strategies.
func (a *API) listStrategies(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "q", "tags_any", "health", "sort")
	want := recheck.Query{
		Text: parsed(q, "q", recheck.ParseText), TagsAny: parsed(q, "tags_any", recheck.ParseTags), Health: parsed(q, "health", recheck.ParseHealths),
		Sort: parsed(q, "sort", recheck.ParseSort), Offset: p.Offset(), Limit: p.Size,
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.strategies.List(ctx, c.Principal.Tenant, want)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}

// parsed is a parameter as parse reads it, the zero value when it is not given.
func parsed[T any](q *rest.Query, name string, parse func(string) (T, error)) (value T) {
	s, given := q.Text(name)
	if !given {
		return value
	}
	value, err := parse(s)
	if err != nil && q.Err == nil {
		q.Err = err
	}
	return value
}
