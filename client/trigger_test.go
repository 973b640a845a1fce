package client_test

import (
	"errors"
	"testing"

	"renga.dev/renga/client"
)

func TestAnEventIsPostedToATriggerOnce(t *testing.T) {
	c, ctx := rig(t), soon(t)
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "order", line("default", "a")))
	const secret = "a-secret-of-the-shop"
	stored, created, err := c.Triggers.Put(ctx, "orders", client.TriggerDefinition{
		Graph: "order", Input: map[string]string{"id": "body.id"}, Secret: secret,
	})
	if err != nil || !created || !stored.HasSecret || stored.Once != "key" {
		t.Fatalf("got %+v %v %v", stored, created, err)
	}
	body := map[string]any{"id": 17}
	first, err := c.Triggers.Send(ctx, "orders", client.TriggerEvent{Body: body, Key: "k", Secret: secret})
	if err != nil || !first.Triggered || first.Key != "k" || first.ExecutionID == "" {
		t.Fatalf("got %+v %v", first, err)
	}
	again, err := c.Triggers.Send(ctx, "orders", client.TriggerEvent{Body: body, Key: "k", Secret: secret})
	if err != nil || !again.Duplicate || again.ExecutionID != first.ExecutionID {
		t.Errorf("got %+v %v", again, err)
	}
	other, err := c.Triggers.Send(ctx, "orders", client.TriggerEvent{Body: []byte(`{"id":18}`), Secret: secret})
	if err != nil || !other.Triggered || other.Key == "" {
		t.Errorf("got %+v %v", other, err)
	}
	_, err = c.Triggers.Send(ctx, "orders", client.TriggerEvent{Body: body, Secret: "another secret, wrong"})
	if !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("got %v", err)
	}
	for one, err := range c.Triggers.All(ctx) {
		if err != nil || one.ID != "orders" {
			t.Errorf("got %+v %v", one, err)
		}
	}
	if err := c.Triggers.Delete(ctx, "orders"); err != nil {
		t.Error(err)
	}
	if _, err := c.Triggers.Get(ctx, "orders"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
