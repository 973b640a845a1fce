package client

import (
	"context"
	"iter"
	"strings"
	"time"
)

// Search finds records by their texts.
type Search struct{ *transport }

// SearchQuery is what is looked for.
type SearchQuery struct {
	Text     string
	Objects  []string  // none: all that the caller may read
	Field    string    // in this field alone; "": in all
	Campaign string    // only leads and contacts in this campaign; "": any
	Since    time.Time // only what was changed since; zero: any
	Limit    int       // hits on a page, 1..100; 0: 20
	Cursor   string    // Next of the page before; "": the first page
}

// Find reads a page of the records that fit.
func (c Search) Find(ctx context.Context, q SearchQuery) (*HitPage, error) {
	query := given(map[string]string{
		"object": strings.Join(q.Objects, ","), "field": q.Field, "campaignId": q.Campaign, "cursor": q.Cursor,
		"limit": number(q.Limit),
	})
	query.Set("q", q.Text)
	if !q.Since.IsZero() {
		query.Set("since", q.Since.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	return get[HitPage](ctx, c.transport, "/search", query)
}

// All reads all records that fit, page by page. An error ends it.
func (c Search) All(ctx context.Context, q SearchQuery) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		for {
			page, err := c.Find(ctx, q)
			if err != nil {
				yield(Hit{}, err)
				return
			}
			for _, hit := range page.Items {
				if !yield(hit, nil) {
					return
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return
			}
		}
	}
}

// Rebuild starts a rebuild of the index of an object, or with "" of all, and gives
// its id. The same key does it once; with "" the client makes one.
func (c Search) Rebuild(ctx context.Context, object, key string) (id string, err error) {
	return rebuild(ctx, c.transport, "/search/rebuild", key, rebuildSearch{object})
}

// ListRebuilds reads a page of the rebuilds of the index, from the newest on.
func (c Search) ListRebuilds(ctx context.Context, at Paging) (*Page[SearchRebuild], error) {
	return list[SearchRebuild](ctx, c.transport, "/search/rebuilds", nil, at)
}

// GetRebuild reads a rebuild of the index.
func (c Search) GetRebuild(ctx context.Context, id string) (*SearchRebuild, error) {
	return get[SearchRebuild](ctx, c.transport, pathOf("/search/rebuilds/{id}", id), nil)
}
