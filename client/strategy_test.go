package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"renga.dev/renga/client"
)

func TestStrategiesAreRegisteredAndListed(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	stored, created, err := c.Strategies.Put(ctx, "strat.m1", client.StrategyDraft{
		Name: "Mean reversion",
		Tags: []string{"priority", "daily"},
	})
	if err != nil || !created || stored.Health != client.HealthUnknown || stored.LastCheckedAt != nil ||
		fmt.Sprint(stored.Tags) != "[daily priority]" {
		t.Fatalf("got %+v, created %v (%v)", stored, created, err)
	}
	at := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	stored, created, err = c.Strategies.Put(ctx, "strat.m1", client.StrategyDraft{
		Name: "Mean reversion", Tags: []string{"daily"}, Health: client.Healthy, LastCheckedAt: &at,
		Metrics: json.RawMessage(`{"sharpe":1.5}`),
	})
	if err != nil || created || !stored.LastCheckedAt.Equal(at) || string(stored.Metrics) != `{"sharpe":1.5}` {
		t.Errorf("got %+v, created %v (%v)", stored, created, err)
	}
	for i := range 12 {
		if _, _, err := c.Strategies.Put(ctx, fmt.Sprintf("other.%02d", i), client.StrategyDraft{
			Name:   "Other",
			Health: client.Degraded,
		}); err != nil {
			t.Fatal(err)
		}
	}
	page, err := c.Strategies.List(ctx, client.StrategyFilter{Health: []client.Health{
		client.Degraded,
		client.HealthUnknown,
	}, Sort: "id.desc"}, client.Paging{Page: 2, Size: 10})
	if err != nil || page.Total != 12 || len(page.Items) != 2 || page.Items[1].ID != "other.00" {
		t.Errorf("got %+v (%v)", page, err)
	}
	page, err = c.Strategies.List(ctx, client.StrategyFilter{Text: "MEAN", TagsAny: []string{"weekly", "daily"}},
		client.Paging{})
	if err != nil || page.Total != 1 || page.Items[0].ID != "strat.m1" {
		t.Errorf("got %+v (%v)", page, err)
	}
}

func TestARefusalOfTheRecheckAPIIsRead(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	_, _, err := c.Strategies.Put(ctx, "Upper", client.StrategyDraft{Name: "n"})
	failure, ok := errors.AsType[*client.Error](err)
	if !ok || !errors.Is(err, client.ErrInvalid) || failure.Code != "BAD_REQUEST" ||
		failure.Message != "the id of a strategy must be 1 to 128 of a-z 0-9 . _ -" {
		t.Errorf("got %v", err)
	}
}
