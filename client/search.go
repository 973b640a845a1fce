package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
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

// Hit is a record that was found, as the caller may see it.
type Hit struct {
	Object        string      `json:"object"`
	ID            string      `json:"id"`
	Name          string      `json:"name,omitempty"` // "": the caller may not read it
	OwnerID       string      `json:"ownerId"`
	RecordVersion string      `json:"recordVersion"`
	UpdatedAt     time.Time   `json:"updatedAt"`
	Relevance     int         `json:"relevance"` // 4: all words are in the name … 1: starts of words, in any fields
	InApproval    bool        `json:"inApproval"`
	Highlights    []Highlight `json:"highlights"`
}

// Highlight is a piece of a field in which something was found.
type Highlight struct {
	Field string          `json:"field"`
	Parts []HighlightPart `json:"parts"`
}

// HighlightPart is a piece of text; Match says that it was looked for.
type HighlightPart struct {
	Text  string `json:"text"`
	Match bool   `json:"match"`
}

// HitPage is some hits, the most relevant first. It can be short, or empty, and have a
// next page all the same.
type HitPage struct {
	Items []Hit  `json:"items"`
	Next  string `json:"next,omitempty"` // "": there is no next page
}

// Find reads a page of the records that fit.
func (c Search) Find(ctx context.Context, q SearchQuery) (*HitPage, error) {
	query := url.Values{"q": {q.Text}}
	for name, value := range map[string]string{
		"object": strings.Join(q.Objects, ","), "field": q.Field,
		"campaignId": q.Campaign, "cursor": q.Cursor,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if !q.Since.IsZero() {
		query.Set("since", q.Since.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	if q.Limit != 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	page := new(HitPage)
	if err := c.read(ctx, "/search", query, page); err != nil {
		return nil, err
	}
	return page, nil
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

// SearchRebuild is the index of an object, or of all, made anew.
type SearchRebuild struct {
	RebuildID        string    `json:"rebuildId"`
	Object           string    `json:"object,omitempty"` // "": all
	Cause            string    `json:"cause"`            // request, definition
	Status           string    `json:"status"`           // RUNNING, DONE, CANCELED
	ExecutionID      string    `json:"executionId,omitempty"`
	RecordsProcessed int       `json:"recordsProcessed"`
	RecordsTotal     int       `json:"recordsTotal"`
	CreatedAt        time.Time `json:"createdAt"`
	EndedAt          time.Time `json:"endedAt,omitzero"`
}

// Rebuild starts a rebuild of the index of an object, or with "" of all, and gives
// its id. The same key does it once; with "" the client makes one.
func (c Search) Rebuild(ctx context.Context, object, key string) (id string, err error) {
	if key == "" {
		key = newKey()
	}
	body, err := json.Marshal(struct {
		Object string `json:"object,omitempty"`
	}{object})
	if err != nil {
		return "", err
	}
	var out struct {
		RebuildID string `json:"rebuildId"`
	}
	err = c.exchange(ctx, call{method: http.MethodPost, path: "/search/rebuild", key: key, body: body}, &out)
	return out.RebuildID, err
}

// ListRebuilds reads a page of the rebuilds of the index, from the newest on.
func (c Search) ListRebuilds(ctx context.Context, at Paging) (*Page[SearchRebuild], error) {
	return list[SearchRebuild](ctx, c.transport, "/search/rebuilds", url.Values{}, at)
}

// GetRebuild reads a rebuild of the index.
func (c Search) GetRebuild(ctx context.Context, id string) (*SearchRebuild, error) {
	b := new(SearchRebuild)
	if err := c.read(ctx, "/search/rebuilds/"+url.PathEscape(id), nil, b); err != nil {
		return nil, err
	}
	return b, nil
}
