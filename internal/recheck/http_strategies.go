package recheck

import (
	"context"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

func (a *api) putStrategy(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	draft, err := ParseDraft(c.Body)
	if err != nil {
		return gate.Reply{}, err
	}
	stored, created, err := a.rechecks.Strategies().Put(ctx, c.Principal.Tenant, c.Path("id"), draft)
	return gate.Reply{Status: rest.PutStatus(created), Body: stored}, err
}

func (a *api) listStrategies(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "q", "tags_any", "health", "sort")
	want := Query{
		Text: parsed(q, "q", ParseText), TagsAny: parsed(q, "tags_any", ParseTags),
		Sort: parsed(q, "sort", ParseSort), Offset: p.Offset(), Limit: p.Size,
	}
	for _, word := range q.Words("health", "healthy", "degraded", "unknown") {
		want.Health = append(want.Health, Health(word))
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.rechecks.Strategies().List(ctx, c.Principal.Tenant, want)
	return gate.Reply{Body: rest.NewList(p, rows, total)}, err
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
