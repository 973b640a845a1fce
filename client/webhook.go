package client

import (
	"context"
	"iter"
	"time"
)

// Webhooks posts events to endpoints outside.
type Webhooks struct{ *transport }

// Put stores a webhook. created says that there was none with this id; then, and only then, stored has its secret.
func (c Webhooks) Put(
	ctx context.Context, id string, d WebhookDefinition,
) (stored *StoredWebhook, created bool, err error) {
	return put[StoredWebhook](ctx, c.transport, pathOf("/webhooks/{id}", id), d)
}

// PutSource stores a webhook that is JSON already.
func (c Webhooks) PutSource(
	ctx context.Context, id string, source []byte,
) (stored *StoredWebhook, created bool, err error) {
	return put[StoredWebhook](ctx, c.transport, pathOf("/webhooks/{id}", id), source)
}

// Get reads a webhook.
func (c Webhooks) Get(ctx context.Context, id string) (*StoredWebhook, error) {
	return get[StoredWebhook](ctx, c.transport, pathOf("/webhooks/{id}", id), nil)
}

// List reads a page of the webhooks, by id.
func (c Webhooks) List(ctx context.Context, at Paging) (*Page[StoredWebhook], error) {
	return list[StoredWebhook](ctx, c.transport, "/webhooks", nil, at)
}

// All reads all webhooks, by id.
func (c Webhooks) All(ctx context.Context) iter.Seq2[StoredWebhook, error] {
	return all[StoredWebhook](ctx, c.transport, "/webhooks", 1)
}

// Delete deletes a webhook; nothing is sent any more.
func (c Webhooks) Delete(ctx context.Context, id string) error {
	return c.remove(ctx, pathOf("/webhooks/{id}", id), "")
}

// Pause lets a webhook send nothing until it is resumed.
func (c Webhooks) Pause(ctx context.Context, key, id, reason string) (*StoredWebhook, error) {
	w, _, err := post[*StoredWebhook](ctx, c.transport, pathOf("/webhooks/{id}/pause", id), key,
		pauseWebhook{Reason: reason})
	return w, err
}

// Resume lets a webhook send that is paused, parked or disabled.
func (c Webhooks) Resume(ctx context.Context, key, id string) (*StoredWebhook, error) {
	w, _, err := post[*StoredWebhook](ctx, c.transport, pathOf("/webhooks/{id}/resume", id), key, struct{}{})
	return w, err
}

// Rotate gives a webhook a new secret, which the answer has; the one before signs too for overlap. The answer to a
// repetition under the same key has no secret.
func (c Webhooks) Rotate(ctx context.Context, key, id string, overlap time.Duration) (*StoredWebhook, error) {
	w, _, err := post[*StoredWebhook](ctx, c.transport, pathOf("/webhooks/{id}/rotate", id), key,
		map[string]string{"overlap": overlap.String()})
	return w, err
}

// Recover lets every event since an instant be sent that the webhook asks for and that its endpoint did not take.
func (c Webhooks) Recover(ctx context.Context, key, id string, since time.Time) (*StoredWebhook, error) {
	w, _, err := post[*StoredWebhook](ctx, c.transport, pathOf("/webhooks/{id}/recover", id), key,
		recoverWebhook{Since: since})
	return w, err
}

// Test posts a message to the endpoint at once and says what it answered.
func (c Webhooks) Test(ctx context.Context, key, id string) (*WebhookTest, error) {
	t, _, err := post[*WebhookTest](ctx, c.transport, pathOf("/webhooks/{id}/test", id), key, struct{}{})
	return t, err
}

// WebhookDeliveryFilter is which deliveries are wanted; the zero value is all.
type WebhookDeliveryFilter struct {
	State        WebhookDeliveryState
	EventType    string
	PartitionKey string
	From, To     time.Time // of planning; To is not among them
}

// Deliveries reads a page of the deliveries of a webhook, the newest first.
func (c Webhooks) Deliveries(
	ctx context.Context, id string, f WebhookDeliveryFilter, at Paging,
) (*Page[WebhookDelivery], error) {
	return list[WebhookDelivery](ctx, c.transport, pathOf("/webhooks/{id}/deliveries", id), given(map[string]string{
		"state": string(f.State), "eventType": f.EventType, "partitionKey": f.PartitionKey, "from": instant(f.From),
		"to": instant(f.To),
	}), at)
}

// Delivery reads the delivery of an event with what is sent, and its attempts that did not succeed.
func (c Webhooks) Delivery(ctx context.Context, id, eventID string) (*WebhookDeliveryDetails, error) {
	path := pathOf("/webhooks/{id}/deliveries/{eventId}", id, eventID)
	return get[WebhookDeliveryDetails](ctx, c.transport, path, nil)
}

// Redeliver sends a delivery again, whatever became of it.
func (c Webhooks) Redeliver(ctx context.Context, key, id, eventID string) (*WebhookDelivery, error) {
	d, _, err := post[*WebhookDelivery](ctx, c.transport,
		pathOf("/webhooks/{id}/deliveries/{eventId}/redeliver", id, eventID), key, struct{}{})
	return d, err
}

// Skip gives a delivery up that is open; later ones of its key go on.
func (c Webhooks) Skip(ctx context.Context, key, id, eventID string) (*WebhookDelivery, error) {
	d, _, err := post[*WebhookDelivery](ctx, c.transport,
		pathOf("/webhooks/{id}/deliveries/{eventId}/skip", id, eventID), key, struct{}{})
	return d, err
}
