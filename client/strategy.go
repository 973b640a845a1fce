package client

import (
	"context"
	"strings"
)

// Strategies stores and lists strategies.
type Strategies struct{ *transport }

// Put registers a strategy or changes it; what is left out of health, time and metrics stays as it
// is. created says that there was none with this id. It needs a token of the audience pdca.
func (c Strategies) Put(ctx context.Context, id string, d StrategyDraft) (stored *Strategy, created bool, err error) {
	return put[Strategy](ctx, c.transport, pathOf("/pdca/strategies/{id}", id), d)
}

// PutSource is Put with a draft that is JSON already.
func (c Strategies) PutSource(
	ctx context.Context, id string, source []byte,
) (stored *Strategy, created bool, err error) {
	return put[Strategy](ctx, c.transport, pathOf("/pdca/strategies/{id}", id), source)
}

// StrategyFilter is which strategies Strategies.List reads, and in which order. The zero
// value is all of them, by id.
type StrategyFilter struct {
	Text    string   // part of the id or the name, in whatever case
	TagsAny []string // has one of them
	Health  []Health // is one of them
	Sort    string   // id, name, health or last_checked_at, followed by .asc or .desc
}

// List reads a page of strategies. It needs a token of the audience pdca.gui.
func (c Strategies) List(ctx context.Context, f StrategyFilter, at Paging) (*Page[Strategy], error) {
	return list[Strategy](ctx, c.transport, "/gui/strategies", given(map[string]string{
		"q": f.Text, "tags_any": strings.Join(f.TagsAny, ","), "health": joined(f.Health), "sort": f.Sort,
	}), at)
}
