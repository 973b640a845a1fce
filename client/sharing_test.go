package client_test

import (
	"errors"
	"testing"

	"renga.dev/renga/client"
)

func TestTerritoriesAndModelsFromGo(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	const japan, west, anna, nothing = "0199c1a4-0000-7000-8000-000000000071", "0199c1a4-0000-7000-8000-000000000072",
		"0199c1a4-0000-7000-8000-000000000021", "0199c1a4-0000-7000-8000-000000000999"
	if _, _, err := c.Metadata.Put(ctx, client.DefineUser, anna, map[string]any{"name": "Anna", "isActive": true},
		""); err != nil {
		t.Fatal(err)
	}
	for _, one := range []client.Territory{{ID: japan, Name: "Japan"}, {
		ID: west, Name: "West", ParentID: japan,
		Access: "Edit",
	}} {
		if stored, err := c.Territories.Put(ctx, one); err != nil || stored.Name != one.Name {
			t.Fatalf("got %+v, %v", stored, err)
		}
	}
	if err := c.Territories.Delete(ctx, japan); !errors.Is(err, client.ErrRefused) {
		t.Errorf("got %v, want that it is in use", err)
	}
	if err := c.Territories.Assign(ctx, west, client.TerritoryUsers, anna, true); err != nil {
		t.Error(err)
	}
	if page, err := c.Territories.Members(ctx, west, client.TerritoryUsers, client.Paging{}); err != nil ||
		page.Total != 1 || page.Items[0] != anna {
		t.Errorf("got %+v, %v", page, err)
	}
	if err := c.Territories.Assign(ctx, west, client.TerritoryAccounts, nothing, true); !errors.Is(err,
		client.ErrNotFound) {
		t.Errorf("got %v, want no such account", err)
	}
	if err := c.Territories.Assign(ctx, west, client.TerritoryUsers, anna, false); err != nil {
		t.Error(err)
	}
	if page, err := c.Territories.List(ctx, client.Paging{}); err != nil || page.Total != 2 ||
		page.Items[0].Access != "Read" {
		t.Errorf("got %+v, %v", page, err)
	}
	if _, err := c.Sharing.Explain(ctx, "Account", nothing, anna); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("got %v, want no such record", err)
	}
	first, err := c.Sharing.Rebuild(ctx, "Lead", "k1")
	again, problem := c.Sharing.Rebuild(ctx, "Lead", "k1")
	if err != nil || problem != nil || first != 2 || again != first {
		t.Errorf("rebuilds: %d %v, %d %v", first, err, again, problem)
	}
	if page, err := c.Sharing.Models(ctx, "Lead", client.Paging{}); err != nil || page.Total != 2 ||
		page.Items[0].Status != "BUILDING" || page.Items[1].Status != "ACTIVE" {
		t.Errorf("got %+v, %v", page, err)
	}
}
