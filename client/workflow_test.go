package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/client"
)

// closing is a template that an event starts.
var closing = client.Template{Name: "Closing", Year: 2026, Month: 1, Steps: []client.TemplateStep{
	{Action: "mf_reconcile", TriggerKind: "external_event", Timeout: "30m", Retry: &client.Retry{MaxAttempts: 3}},
	{Action: "month_close", TriggerKind: "manual"},
}}

// sender is a client that shows the event token, on a server that has a template.
func sender(t *testing.T, url string) *client.Client {
	t.Helper()
	c := client.New(client.Config{URL: url, EventToken: eventToken, Token: func(context.Context) (string, error) {
		return "a JWT", nil
	}})
	t.Cleanup(c.Close)
	return c
}

func TestTemplatesAreKept(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	stored, created, err := c.Templates.Put(ctx, "closing", closing)
	if err != nil || !created || stored.ID != "closing" || stored.GraphVersion != 1 ||
		stored.Steps[0].Timeout != "30m0s" || stored.Steps[0].Retry.MaxAttempts != 3 {
		t.Fatalf("got %+v %v %v", stored, created, err)
	}
	if _, created, err := c.Templates.Put(ctx, "closing", closing); err != nil || created {
		t.Errorf("the same again: %v %v", created, err)
	}
	for i := range 120 {
		if _, _, err := c.Templates.Put(ctx, fmt.Sprintf("t-%03d", i), closing); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for tpl, err := range c.Templates.All(ctx) {
		if err != nil || n > 0 && tpl.ID != fmt.Sprintf("t-%03d", n-1) {
			t.Fatalf("number %d is %s (%v)", n, tpl.ID, err)
		}
		n++
	}
	if n != 121 {
		t.Errorf("got %d templates, want 121", n)
	}
	if err := c.Templates.Delete(ctx, "closing"); err != nil {
		t.Error(err)
	}
	if _, err := c.Templates.Get(ctx, "closing"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, _, err := c.Templates.PutSource(ctx, "x", []byte(`{"name":"X"}`)); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestAWorkflowEventIsSentOnceAndItsRefusalSaysWhatToDo(t *testing.T) {
	s := newServer(t)
	c, ctx := sender(t, s.url), soon(t)
	if _, _, err := c.Templates.Put(ctx, "closing", closing); err != nil {
		t.Fatal(err)
	}
	event := client.WorkflowEvent{
		TemplateID: "closing", Source: "bank", Key: "bank-1", Month: 2, Notes: "n",
		MFCloudURL: "u", EventName: "e", Year: 2027,
	}
	first, err := c.WorkflowEvents.Send(ctx, event)
	if err != nil || !first.Triggered || first.Key != "bank-1" || first.TemplateName != "Closing" ||
		first.ActionKey != "mf_reconcile" {
		t.Fatalf("got %+v (%v)", first, err)
	}
	again, err := c.WorkflowEvents.Send(ctx, event)
	if err != nil || !again.Duplicate || again.RunID != first.RunID {
		t.Errorf("got %+v (%v)", again, err)
	}
	var failure *client.Error
	event.Key = "bank-2"
	_, err = c.WorkflowEvents.Send(ctx, event)
	if !errors.As(err, &failure) || !errors.Is(err, client.ErrRefused) || failure.RetryAdvice != "retry_with_backoff" ||
		failure.ReasonClass != "run_conflict" ||
		failure.ReasonCode != "http_409" ||
		failure.Message != "A run is already active for this template and month." ||
		failure.CorrelationID == "" {
		t.Errorf("got %+v", err)
	}
	for _, key := range []string{"not a key", "鍵"} {
		_, err := c.WorkflowEvents.Send(ctx, client.WorkflowEvent{Key: key})
		if !errors.As(err, &failure) || failure.Status != 0 {
			t.Errorf("%s: got %v", key, err)
		}
		raw, _ := json.Marshal(map[string]string{"event_id": key})
		if _, err := c.WorkflowEvents.Send(ctx, client.WorkflowEvent{Key: "good", Raw: raw}); !errors.As(
			err,
			&failure,
		) ||
			failure.Status != 0 {
			t.Errorf("%s: got %v", raw, err)
		}
	}
	raw, err := c.WorkflowEvents.Send(ctx, client.WorkflowEvent{
		Key: "unused",
		Raw: json.RawMessage(`{"idempotencyKey":"","eventId":"bank-1"}`),
	})
	if err != nil || !raw.Duplicate || raw.Key != "bank-1" {
		t.Errorf("got %+v (%v)", raw, err)
	}
	sum, err := c.WorkflowEvents.Summary(ctx, time.Now().UTC().Format("2006-01"), 1)
	if err != nil || sum.Total != 4 || sum.ByStatus["success"] != 1 || sum.ByRetryAdvice["do_not_retry"] != 2 ||
		sum.Duplicate["true"] != 2 || len(sum.Recent) != 1 ||
		sum.Recent[0].Key != "bank-1" || !sum.Recent[0].Duplicate || sum.Retention.MaxReceipts != 1000 {
		t.Errorf("got %+v (%v)", sum, err)
	}
	if _, err := c.WorkflowEvents.Summary(ctx, "2026", 0); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	stranger := dial(t, s.url)
	if _, err := stranger.WorkflowEvents.Send(ctx, event); !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("got %v", err)
	}
}

// An event that is cut off in any way is repeated under its key and starts one run.
func TestAWorkflowEventThatIsCutOffStartsOneRun(t *testing.T) {
	for _, harm := range []string{cutBefore, cutAfter, cutInside, "503 Retry-After "} {
		t.Run(harm, func(t *testing.T) {
			s, ctx := newServer(t), soon(t)
			if _, _, err := sender(t, s.url).Templates.Put(ctx, "closing", closing); err != nil {
				t.Fatal(err)
			}
			var hits atomic.Int64
			p := newProxy(t, s, func(int, seen) string {
				if hits.Add(1) < 3 {
					return harm
				}
				return ""
			})
			answer, err := sender(t, p.url).WorkflowEvents.Send(ctx, client.WorkflowEvent{TemplateID: "closing"})
			requests := p.requests("/api/workflow-events")
			if err != nil || len(requests) != 3 || answer.Key == "" || answer.Key != requests[0].key ||
				answer.Key != requests[2].key {
				t.Errorf("got %+v (%v) for %v", answer, err, requests)
			}
			page := must[*client.Page[client.ExecutionSummary]](t)(dial(t, s.url).Executions.List(ctx,
				client.ExecutionFilter{}, client.Paging{}))
			if page.Total != 1 || page.Items[0].ExecutionID != answer.RunID {
				t.Errorf("there are %d executions, want %s", page.Total, answer.RunID)
			}
		})
	}
}
