package client_test

import (
	"errors"
	"testing"
	"time"

	"renga.dev/renga/client"
)

func TestSearchFromGo(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	if _, err := c.Records.Create(ctx, "Account",
		client.RecordDraft{Fields: map[string]any{"Name": "Acme"}}); err != nil {
		t.Fatal(err)
	}
	q := client.SearchQuery{
		Text: "acme", Objects: []string{"Account", "Lead"}, Field: "Name",
		Since: time.Now().Add(-time.Hour), Limit: 5,
	}
	page, err := c.Search.Find(ctx, q) // nothing hands events out here, so nothing is in the index
	if err != nil || len(page.Items) != 0 || page.Next != "" {
		t.Errorf("got %+v, %v", page, err)
	}
	for hit, err := range c.Search.All(ctx, q) {
		t.Errorf("got %+v, %v", hit, err)
	}
	if _, err := c.Search.Find(ctx, client.SearchQuery{Text: "!"}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("got %v, want that there is nothing to look for", err)
	}
	first, err := c.Search.Rebuild(ctx, "Account", "k1")
	again, problem := c.Search.Rebuild(ctx, "Account", "k1")
	if err != nil || problem != nil || first == "" || again != first {
		t.Errorf("rebuilds: %s %v, %s %v", first, err, again, problem)
	}
	b, err := c.Search.GetRebuild(ctx, first)
	if err != nil || b.Status != "RUNNING" || b.Object != "Account" || b.RecordsTotal != 1 {
		t.Errorf("got %+v, %v", b, err)
	}
	if all, err := c.Search.ListRebuilds(ctx, client.Paging{}); err != nil || all.Total != 1 ||
		all.Items[0].RebuildID != first {
		t.Errorf("got %+v, %v", all, err)
	}
}
