package client_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"renga.dev/renga/client"
)

func TestDefinitionsAreStoredReadListedAndDeleted(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	const ceo, sales = "0199c1a4-0000-7000-8000-000000000001", "0199c1a4-0000-7000-8000-000000000002"
	first, created, err := c.Metadata.Put(ctx, client.DefineRole, ceo, map[string]string{"name": "CEO"}, "")
	if err != nil || !created || first.Version != "1" {
		t.Fatalf("got %+v, %v", first, err)
	}
	if _, _, err := c.Metadata.Put(ctx, client.DefineRole, sales, json.RawMessage(`{"name":"Sales","parentRoleId":"`+
		ceo+`"}`), ""); err != nil {
		t.Fatal(err)
	}
	next, created, err := c.Metadata.Put(ctx, client.DefineRole, ceo, map[string]string{"name": "Chief"}, first.Version)
	if err != nil || created || next.Version == first.Version {
		t.Errorf("got %+v, created %t, %v", next, created, err)
	}
	if _, _, err := c.Metadata.Put(ctx, client.DefineRole, ceo, map[string]string{"name": "Boss"},
		first.Version); !errors.Is(err, client.ErrVersion) {
		t.Errorf("got %v, want another version", err)
	}
	if err := c.Metadata.Delete(ctx, client.DefineRole, ceo, ""); !errors.Is(err, client.ErrRefused) ||
		!strings.Contains(err.Error(), "role Sales") {
		t.Errorf("got %v, want that it is in use", err)
	}
	if got, err := c.Metadata.Get(ctx, client.DefineRole, ceo); err != nil || got.Version != next.Version ||
		string(got.Body) != string(next.Body) {
		t.Errorf("got %+v, %v", got, err)
	}
	page, err := c.Metadata.List(ctx, client.DefineRole, "", client.Paging{})
	if err != nil || page.Total != 2 || string(page.Items[0]) != string(next.Body) {
		t.Errorf("got %+v, %v", page, err)
	}
	if err := c.Metadata.Delete(ctx, client.DefineRole, sales, ""); err != nil {
		t.Error(err)
	}
	if _, err := c.Metadata.Get(ctx, client.DefineRole, sales); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestEveryKindOfDefinitionHasItsPath(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	for _, kind := range client.DefinitionKinds {
		object, total := "", 0
		switch kind {
		case client.DefineStages:
			if d, err := c.Metadata.Get(ctx, kind, "Opportunity"); err != nil || !strings.Contains(string(d.Body),
				"Closed Won") || d.Version != "0" {
				t.Errorf("%s: got %+v, %v", kind, d, err)
			}
			continue
		case client.DefineField:
			object, total = "Quote", 11
			if d, err := c.Metadata.Get(ctx, kind, "Quote.GrandTotal"); err != nil || !strings.Contains(string(d.Body),
				"currency") {
				t.Errorf("%s: got %+v, %v", kind, d, err)
			}
		case client.DefineObject, client.DefineOWD:
			total = 6
		case client.DefineTeamRoles:
			total = 2
		case client.DefineUser:
			total = 1
		}
		if page, err := c.Metadata.List(ctx, kind, object, client.Paging{}); err != nil || page.Total != total {
			t.Errorf("%s: got %+v, %v, want %d", kind, page, err, total)
		}
	}
	if page, err := c.Metadata.List(ctx, client.DefineValidationRule, "Lead", client.Paging{}); err != nil ||
		page.Total != 0 {
		t.Errorf("got %+v, %v", page, err)
	}
	d, err := c.Metadata.Describe(ctx, "Opportunity")
	if err != nil || !d.Permissions.Delete || len(d.Fields) < 10 || len(d.Stages) != 10 || d.OWD != "Private" {
		t.Errorf("got %+v, %v", d, err)
	}
}
