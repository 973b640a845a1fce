package search

import (
	"context"
	"strings"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/seal"
)

// How many hits a page may be asked for.
const (
	maxHits     = 100
	defaultHits = 20
)

type api struct {
	search *Search
	seals  *seal.Seals
}

// Routes are the routes of search. The seals are those of cursors; nil: some that are good in
// this process alone.
func (s *Search) Routes(seals *seal.Seals) []gate.Route {
	if seals == nil {
		seals = seal.Fixed(nil)
	}
	a := &api{search: s, seals: seals}
	return rest.Routes([]gate.Route{
		{Operation: "search", Heavy: true, Do: a.find},
		{Operation: "rebuildSearch", Heavy: true, Do: a.rebuild},
		{Operation: "listSearchRebuilds", Do: s.runs.ServeList},
		{Operation: "getSearchRebuild", Do: rest.NoQuery(rest.WithID("id", s.runs.ServeGet))},
	})
}

// find answers GET /search.
func (a *api) find(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "q", "object", "field", "campaignId", "since", "limit", "cursor")
	ask := Ask{Limit: q.Int("limit", 1, maxHits, defaultHits), Since: canonical.Stamp(q.Instant("since"))}
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
	sealed, err := a.seals.For(ctx, service, c.Principal.Tenant, c.Principal.Subject, ask.Text,
		strings.Join(ask.Objects, ","), ask.Field, ask.Campaign, ask.Since.String())
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
	page, err := a.search.Find(ctx, kit.CallerOf(c), ask)
	if err != nil {
		return gate.Reply{}, err
	}
	if page.Next != "" {
		page.Next = sealed.Text([]byte(page.Next))
	}
	return gate.Reply{Body: page}, nil
}

// rebuild answers POST /search/rebuild.
func (a *api) rebuild(ctx context.Context, c *gate.Call) (gate.Reply, error) {
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
	return rebuild.Accepted(id, err)
}
