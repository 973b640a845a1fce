package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"renga.dev/renga/client"
)

// TestStrategiesAreCheckedAgainByAWorker goes the whole way: strategies, a request, a
// worker, its results and what it left.
func TestStrategiesAreCheckedAgainByAWorker(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	for _, id := range []string{"a", "b", "c"} {
		if _, _, err := c.Strategies.Put(ctx, id, client.StrategyDraft{Name: id, Tags: []string{"daily"}}); err != nil {
			t.Fatal(err)
		}
	}
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	worker := &client.Worker{Client: c, Queues: []string{client.RecheckQueue}, Handle: client.RecheckHandler(
		func(_ context.Context, r client.RecheckTask) (*client.RecheckResult, error) {
			if r.Strategy == "b" {
				return &client.RecheckResult{Error: &client.RecheckFailure{
					Code:    "NO_PRICES",
					Message: "there are none",
				}}, nil
			}
			if r.Reason != "daily" || r.Window.LookbackDays != 7 || string(r.Params) != `{"x":1}` ||
				r.TraceID != "desk" {
				return nil, errors.New("it was told something else")
			}
			return &client.RecheckResult{
				Health: client.Healthy, Metrics: map[string]any{"sharpe": 1.5},
				Artifacts: []client.RecheckArtifact{{
					Name: "report.txt", MediaType: "text/plain",
					Content: []byte("of " + r.Strategy),
				}},
			}, nil
		})}
	go func() { ended <- worker.Run(working) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	got, err := c.Rechecks.RequestAll(ctx, client.RecheckFilter{TagsAny: []string{"daily"}}, client.RecheckOrder{
		Window: client.RecheckWindow{LookbackDays: 7}, Reason: "daily", Params: json.RawMessage(`{"x":1}`),
		TraceID: "desk", BatchSize: 2,
	})
	if err != nil || got.Total != 3 || got.Status != client.RecheckQueued {
		t.Fatalf("got %+v (%v)", got, err)
	}
	var p *client.RecheckProgress
	for p == nil || !p.Status.Ended() {
		if p, err = c.Rechecks.Get(ctx, got.RequestID, client.Paging{}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("it does not end: %+v", p)
		}
	}
	if p.Status != client.RecheckPartial || p.Counts.Succeeded != 2 || p.Items[1].Error == nil ||
		p.Items[1].Error.Code != "NO_PRICES" {
		t.Fatalf("got %+v", p)
	}
	failed, err := c.Rechecks.Get(ctx, got.RequestID, client.Paging{}, "failed", "canceled")
	if err != nil || failed.Matching != 1 || failed.Items[0].Strategy != "b" {
		t.Errorf("got %+v (%v)", failed, err)
	}
	var result struct {
		Artifacts []struct {
			ID string `json:"artifact_id"`
		} `json:"artifacts"`
	}
	if err := json.Unmarshal(p.Items[2].Result, &result); err != nil || len(result.Artifacts) != 1 {
		t.Fatalf("got %s (%v)", p.Items[2].Result, err)
	}
	link, err := c.Rechecks.ArtifactURL(ctx, result.Artifacts[0].ID)
	if err != nil || link.Name != "report.txt" || link.Size != 4 {
		t.Fatalf("got %+v (%v)", link, err)
	}
	resp, err := http.Get(link.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "of c" {
		t.Errorf("got %d %s (%v)", resp.StatusCode, body, err)
	}
}

func TestARequestIsCancelledAndItsKeyIsKnown(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	if _, _, err := c.Strategies.Put(ctx, "a", client.StrategyDraft{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	order := client.RecheckOrder{
		Key: "01J8TPZ7YJ1E1X4C5N9ZP3M3QJ", Window: client.RecheckWindow{LookbackDays: 7},
		Reason: "x",
	}
	first, err := c.Rechecks.Request(ctx, []string{"a"}, order)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.Rechecks.Request(ctx, []string{"a"}, order); err != nil || *again != *first {
		t.Errorf("got %+v (%v), want %+v", again, err, first)
	}
	order.Reason = "y"
	if _, err := c.Rechecks.Request(ctx, []string{"a"}, order); !errors.Is(err, client.ErrKeyConflict) {
		t.Errorf("got %v", err)
	}
	if got, err := c.Rechecks.Cancel(ctx, first.RequestID, "mistake", ""); err != nil ||
		got.Status != client.RecheckCanceled {
		t.Errorf("got %+v (%v)", got, err)
	}
	if _, err := c.Rechecks.Get(ctx, "01J8TPZ7YJ1E1X4C5N9ZP3M3QJ", client.Paging{}); !errors.Is(err,
		client.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
