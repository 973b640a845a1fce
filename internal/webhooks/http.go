package webhooks

import (
	"context"
	"net/http"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/flow"
)

// api answers the calls of webhooks.
type api struct{ webhooks *Webhooks }

// testTimeout is how long a test may take: a request to the endpoint, and a moment.
const testTimeout = DefaultTimeout + 5*time.Second

// Routes are the routes of webhooks.
func (w *Webhooks) Routes() []gate.Route {
	a := &api{w}
	return rest.Routes([]gate.Route{
		{Operation: "listWebhooks", Heavy: true, Do: rest.Paged(w, (*Webhooks).List, rest.Same)},
		{Operation: "putWebhook", Do: a.put},
		{Operation: "getWebhook", Do: rest.NoQuery(named(a.get))},
		{Operation: "deleteWebhook", Do: named(a.delete)},
		{Operation: "pauseWebhook", Do: named(a.pause)},
		{Operation: "resumeWebhook", Do: named(a.resume)},
		{Operation: "rotateWebhookSecret", Do: named(a.rotate)},
		{Operation: "recoverWebhook", Do: named(a.recover)},
		{Operation: "testWebhook", Heavy: true, Timeout: testTimeout, Do: named(a.test)},
		{Operation: "listWebhookDeliveries", Heavy: true, Do: named(a.deliveries)},
		{Operation: "getWebhookDelivery", Do: rest.NoQuery(named(a.delivery))},
		{Operation: "redeliverWebhook", Do: named(a.decide(w.Redeliver))},
		{Operation: "skipWebhookDelivery", Do: named(a.decide(w.Skip))},
	})
}

func named(next rest.Handler) rest.Handler { return rest.WithName(ValidID, unknown, next) }

func callerOf(c *gate.Call) Caller {
	return Caller{Tenant: c.Principal.Tenant, Subject: c.Principal.Subject, CorrelationID: c.CorrelationID}
}

// answer is a webhook that a call changed.
func answer(w Webhook, err error) (gate.Reply, error) { return gate.Reply{Body: &w}, err }

// put answers PUT /webhooks/{id}.
func (a *api) put(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	d, h, err := a.webhooks.ParseDefinition(c.Body)
	if err != nil {
		return gate.Reply{}, err
	}
	stored, created, err := a.webhooks.Put(ctx, callerOf(c), c.Path("id"), d, h)
	return gate.Reply{Status: rest.PutStatus(created), Body: &stored}, err
}

// get answers GET /webhooks/{id}.
func (a *api) get(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	return answer(a.webhooks.Get(ctx, c.Principal.Tenant, c.Path("id")))
}

// delete answers DELETE /webhooks/{id}.
func (a *api) delete(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	return gate.Reply{Status: http.StatusNoContent}, a.webhooks.Delete(ctx, callerOf(c), c.Path("id"))
}

// pause answers POST /webhooks/{id}/pause.
func (a *api) pause(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var body struct {
		Reason string `json:"reason"`
	}
	key, err := read(c, &body)
	if err != nil {
		return gate.Reply{}, err
	}
	if !canonical.OneLine(body.Reason, 0, MaxReason) {
		return gate.Reply{}, rest.Invalid("reason", "reason must be at most %d characters on one line", MaxReason)
	}
	return answer(a.webhooks.Pause(ctx, callerOf(c), c.Path("id"), body.Reason, key))
}

// resume answers POST /webhooks/{id}/resume.
func (a *api) resume(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	key, err := read(c, &struct{}{})
	if err != nil {
		return gate.Reply{}, err
	}
	return answer(a.webhooks.Resume(ctx, callerOf(c), c.Path("id"), key))
}

// rotate answers POST /webhooks/{id}/rotate.
func (a *api) rotate(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	body := struct {
		Overlap flow.Duration `json:"overlap"`
	}{flow.Duration(DefaultOverlap)}
	key, err := read(c, &body)
	if err != nil {
		return gate.Reply{}, err
	}
	return answer(a.webhooks.Rotate(ctx, callerOf(c), c.Path("id"), time.Duration(body.Overlap), key))
}

// recover answers POST /webhooks/{id}/recover.
func (a *api) recover(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var body struct {
		Since string `json:"since"`
	}
	key, err := read(c, &body)
	if err != nil {
		return gate.Reply{}, err
	}
	since, err := canonical.ParseStamp(body.Since)
	if err != nil || since <= 0 {
		return gate.Reply{}, rest.Invalid("since", "since must be an RFC 3339 time, such as 2026-01-05T09:00:00Z")
	}
	return answer(a.webhooks.Recover(ctx, callerOf(c), c.Path("id"), since, key))
}

// test answers POST /webhooks/{id}/test.
func (a *api) test(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	key, err := read(c, &struct{}{})
	if err != nil {
		return gate.Reply{}, err
	}
	came, err := a.webhooks.Test(ctx, callerOf(c), c.Path("id"), key)
	return gate.Reply{Body: &came}, err
}

// deliveries answers GET /webhooks/{id}/deliveries.
func (a *api) deliveries(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "state", "eventType", "partitionKey", "from", "to")
	want := DeliveryQuery{
		From: canonical.Stamp(q.Instant("from")), To: canonical.Stamp(q.Instant("to")), Offset: p.Offset(),
		Limit: p.Size,
	}
	if word, given := q.Text("state"); given {
		var ok bool
		if want.State, ok = ParseDeliveryState(word); !ok {
			q.Fail("state", "state must be WAITING, RETRYING, DELIVERED, FAILED or SKIPPED")
		}
	}
	want.EventType = text(q, "eventType", maxEventID)
	want.Key = text(q, "partitionKey", maxKey)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.webhooks.Deliveries(ctx, c.Principal.Tenant, c.Path("id"), want)
	return gate.Reply{Body: rest.NewList(p, rows, total)}, err
}

// The longest texts that lists are filtered by.
const (
	maxEventID = 128
	maxKey     = 255
)

// text is a parameter that filters, "" when it is not given.
func text(q *rest.Query, name string, most int) string {
	value, given := q.Text(name)
	if given && !canonical.OneLine(value, 1, most) {
		q.Fail(name, "%s must be 1 to %d characters on one line", name, most)
	}
	return value
}

// delivery answers GET /webhooks/{id}/deliveries/{eventId}.
func (a *api) delivery(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	id := c.Path("eventId")
	if !canonical.Printable(id, maxEventID) {
		return gate.Reply{}, noDelivery(c.Path("id"), id)
	}
	found, err := a.webhooks.Delivery(ctx, c.Principal.Tenant, c.Path("id"), id)
	return gate.Reply{Body: &found}, err
}

// decide answers POST /webhooks/{id}/deliveries/{eventId}/redeliver and …/skip.
func (a *api) decide(
	do func(ctx context.Context, c Caller, id, eventID string, key *canonical.IdempotencyKey) (Delivery, error),
) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		key, err := read(c, &struct{}{})
		if err != nil {
			return gate.Reply{}, err
		}
		id := c.Path("eventId")
		if !canonical.Printable(id, maxEventID) {
			return gate.Reply{}, noDelivery(c.Path("id"), id)
		}
		decided, err := do(ctx, callerOf(c), c.Path("id"), id, key)
		return gate.Reply{Body: &decided}, err
	}
}

// read reads the body of a command and its idempotency key.
func read(c *gate.Call, body any) (*canonical.IdempotencyKey, error) {
	if err := c.Decode(body); err != nil {
		return nil, err
	}
	key, err := rest.Key(c, canonical.Options{})
	return &key, err
}
