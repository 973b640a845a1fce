package httpapi

import (
	"context"
	"net/http"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/search"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/platform/wire"
)

// Search finds records by their texts. What a caller may not see is not found.
type Search interface {
	Find(ctx context.Context, c search.Caller, ask search.Ask) (search.Page, error)
	// Rebuild starts a rebuild of the index of an object, or ("") of all, once for a key, and
	// gives its id; replay says that it was done before.
	Rebuild(ctx context.Context, tenant, object string, key *wire.Once) (id string, replay bool, err error)
	ListRebuilds(ctx context.Context, tenant string) ([]search.Rebuild, error)
	GetRebuild(ctx context.Context, tenant, id string) (search.Rebuild, error)
}

// The scopes and the rate classes of search.
const (
	scopeSearchRead  = "search:read"
	scopeSearchWrite = "search:write"

	rateSearchRead  = "search.read"
	rateSearchWrite = "search.write"
)

// How many hits a page may be asked for.
const (
	maxHits     = 100
	defaultHits = 20
)

// searchRoutes are the routes of search.
func (a *API) searchRoutes() []gate.Route {
	return []gate.Route{
		{Pattern: "GET /search", Heavy: true, Scope: scopeSearchRead, Rate: rateSearchRead, Do: a.find},
		{Pattern: "POST /search/rebuild", Heavy: true, Scope: scopeSearchWrite, Rate: rateSearchWrite, Once: gate.Optional, Do: rest.NoQuery(a.rebuildSearch)},
		{Pattern: "GET /search/rebuilds", Scope: scopeSearchRead, Rate: rateSearchRead, Do: a.listSearchRebuilds},
		{Pattern: "GET /search/rebuilds/{id}", Scope: scopeSearchRead, Rate: rateSearchRead, Do: rest.NoQuery(rest.WithID("id", a.getSearchRebuild))},
	}
}

// hitView is a record that was found, as it is shown.
type hitView struct {
	Object        string          `json:"object"`
	ID            string          `json:"id"`
	Name          string          `json:"name,omitzero"`
	OwnerID       string          `json:"ownerId"`
	RecordVersion wire.Stamp      `json:"recordVersion"`
	UpdatedAt     wire.Stamp      `json:"updatedAt"`
	Relevance     int             `json:"relevance"`
	InApproval    bool            `json:"inApproval"`
	Highlights    []highlightView `json:"highlights"`
}

// highlightView is a piece of a field in which something was found.
type highlightView struct {
	Field string     `json:"field"`
	Parts []partView `json:"parts"`
}

// partView is a piece of text, and whether it was looked for.
type partView struct {
	Text  string `json:"text"`
	Match bool   `json:"match"`
}

// hitPage is some hits.
type hitPage struct {
	Items []hitView `json:"items"`
	Next  string    `json:"next,omitzero"`
}

// find answers GET /search.
func (a *API) find(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "q", "object", "field", "campaignId", "since", "limit", "cursor")
	ask := search.Ask{Limit: q.Int("limit", 1, maxHits, defaultHits), Since: wire.Stamp(q.Instant("since"))}
	text, given := q.Text("q")
	if ask.Text = text; !given {
		q.Fail("q", "q is missing: what to look for")
	}
	for _, p := range []struct {
		name string
		to   *string
	}{{"field", &ask.Field}, {"campaignId", &ask.Campaign}, {"cursor", &ask.Cursor}} {
		if *p.to, given = q.Text(p.name); given && *p.to == "" {
			q.Fail(p.name, "%s must not be empty", p.name)
		}
	}
	if objects, given := q.Text("object"); given {
		ask.Objects = strings.Split(objects, ",")
	}
	if ask.Campaign != "" && !model.ValidID(ask.Campaign) {
		q.Fail("campaignId", "campaignId must be a UUID in lower case")
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	sealed, err := a.searchCursors(ctx, c, &ask)
	if err != nil {
		return gate.Reply{}, err
	}
	if ask.Cursor != "" {
		raw, ok := sealed.OpenText(ask.Cursor)
		if ask.Cursor = string(raw); !ok {
			return gate.Reply{}, rest.Invalid("cursor",
				"cursor must be next of the page before, of the same search and caller: leave it out to begin anew")
		}
	}
	page, err := a.search.Find(ctx, search.Caller{Tenant: c.Principal.Tenant, Subject: c.Principal.Subject}, ask)
	if err != nil {
		return gate.Reply{}, err
	}
	out := hitPage{Items: make([]hitView, len(page.Hits))}
	if page.Next != "" {
		out.Next = sealed.Text([]byte(page.Next))
	}
	for i := range page.Hits {
		out.Items[i] = showHit(&page.Hits[i])
	}
	return gate.Reply{Body: out}, nil
}

// searchCursors seals the cursors of one search of one caller.
func (a *API) searchCursors(ctx context.Context, c *gate.Call, ask *search.Ask) (*seal.Sealer, error) {
	return a.seals.For(ctx, "search", c.Principal.Tenant, c.Principal.Subject, ask.Text,
		strings.Join(ask.Objects, ","), ask.Field, ask.Campaign, ask.Since.String())
}

func showHit(h *search.Hit) hitView {
	v := hitView{
		Object: h.Object, ID: h.ID, Name: h.Name, OwnerID: h.OwnerID, RecordVersion: h.RecordVersion, UpdatedAt: h.UpdatedAt,
		Relevance: int(h.Relevance), InApproval: h.InApproval, Highlights: make([]highlightView, len(h.Highlights)),
	}
	for i, light := range h.Highlights {
		v.Highlights[i] = highlightView{Field: light.Field, Parts: make([]partView, len(light.Parts))}
		for k, part := range light.Parts {
			v.Highlights[i].Parts[k] = partView(part)
		}
	}
	return v
}

// searchRebuildView is a rebuild of the index as it is shown.
type searchRebuildView struct {
	RebuildID        string     `json:"rebuildId"`
	Object           string     `json:"object,omitzero"`
	Cause            string     `json:"cause"`
	Status           string     `json:"status"`
	ExecutionID      string     `json:"executionId,omitzero"`
	RecordsProcessed int        `json:"recordsProcessed"`
	RecordsTotal     int        `json:"recordsTotal"`
	CreatedAt        wire.Stamp `json:"createdAt"`
	EndedAt          wire.Stamp `json:"endedAt,omitzero"`
}

func showSearchRebuild(b *search.Rebuild) searchRebuildView {
	return searchRebuildView{
		RebuildID: b.ID, Object: b.Object, Cause: b.Cause, Status: b.Status.String(), ExecutionID: b.Execution,
		RecordsProcessed: b.Processed, RecordsTotal: b.Total, CreatedAt: b.CreatedAt, EndedAt: b.EndedAt,
	}
}

// rebuildSearch answers POST /search/rebuild.
func (a *API) rebuildSearch(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	key, err := rest.OptionalKey(c)
	if err != nil {
		return gate.Reply{}, err
	}
	var body struct {
		Object *string `json:"object"`
	}
	if err := c.Decode(&body); err != nil {
		return gate.Reply{}, err
	}
	object := ""
	if body.Object != nil {
		if object = *body.Object; object == "" {
			return gate.Reply{}, rest.Invalid("object", "object must be the name of an object; leave it out for all")
		}
	}
	id, _, err := a.search.Rebuild(ctx, c.Principal.Tenant, object, key)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Status: http.StatusAccepted, Body: struct {
		RebuildID string `json:"rebuildId"`
	}{id}}, nil
}

// listSearchRebuilds answers GET /search/rebuilds.
func (a *API) listSearchRebuilds(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	all, err := a.search.ListRebuilds(ctx, c.Principal.Tenant)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.Show(p, rest.Cut(p, all), len(all), showSearchRebuild)}, nil
}

// getSearchRebuild answers GET /search/rebuilds/{id}.
func (a *API) getSearchRebuild(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	b, err := a.search.GetRebuild(ctx, c.Principal.Tenant, c.Path("id"))
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: showSearchRebuild(&b)}, nil
}
