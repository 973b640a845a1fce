package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Strategies stores and lists strategies.
type Strategies struct{ *transport }

// Health is how well a strategy did when it was last checked.
type Health string

// The healths.
const (
	Healthy       Health = "healthy"
	Degraded      Health = "degraded"
	HealthUnknown Health = "unknown"
)

// Strategy is something that is checked again and again.
type Strategy struct {
	ID            string          `json:"id"`
	Name          string          `json:"name"`
	Tags          []string        `json:"tags"` // each once, in the order of code points
	Health        Health          `json:"health"`
	LastCheckedAt *time.Time      `json:"last_checked_at"` // nil: never
	Metrics       json.RawMessage `json:"metrics"`         // an object
}

// StrategyDraft is what Strategies.Put says of a strategy. What checks find out (the last
// three) stays as it is where it is left out.
type StrategyDraft struct {
	Name          string          `json:"name"`
	Tags          []string        `json:"tags,omitempty"`
	Health        Health          `json:"health,omitempty"`
	LastCheckedAt *time.Time      `json:"last_checked_at,omitempty"`
	Metrics       json.RawMessage `json:"metrics,omitempty"`
}

// Put registers a strategy or changes it. created says that there was none with
// this id. It needs a token of the audience pdca.
func (c Strategies) Put(ctx context.Context, id string, d StrategyDraft) (stored *Strategy, created bool, err error) {
	body, err := json.Marshal(d)
	if err != nil {
		return nil, false, err
	}
	return c.PutSource(ctx, id, body)
}

// PutSource is Put with a draft that is JSON already.
func (c Strategies) PutSource(
	ctx context.Context, id string, source []byte) (stored *Strategy, created bool, err error,
) {
	r, err := c.do(ctx, call{method: http.MethodPut, path: "/pdca/strategies/" + url.PathEscape(id), body: source})
	if err != nil {
		return nil, false, err
	}
	stored = new(Strategy)
	if err := json.Unmarshal(r.body, stored); err != nil {
		return nil, false, err
	}
	return stored, r.status == http.StatusCreated, nil
}

// StrategyFilter is which strategies Strategies.List reads, and in which order. The zero
// value is all of them, by id.
type StrategyFilter struct {
	Text    string   // part of the id or the name, in whatever case
	TagsAny []string // has one of them
	Health  []Health // is one of them
	Sort    string   // id, name, health or last_checked_at, with .asc or .desc behind it
}

// List reads a page of strategies. It needs a token of the audience pdca.gui.
func (c Strategies) List(ctx context.Context, f StrategyFilter, at Paging) (*Page[Strategy], error) {
	query := url.Values{}
	healths := make([]string, len(f.Health))
	for i, h := range f.Health {
		healths[i] = string(h)
	}
	for name, value := range map[string]string{
		"q": f.Text, "tags_any": strings.Join(f.TagsAny, ","), "health": strings.Join(healths, ","), "sort": f.Sort,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return list[Strategy](ctx, c.transport, "/gui/strategies", query, at)
}
