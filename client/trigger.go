package client

import (
	"cmp"
	"context"
	"iter"
	"net/http"
)

// Triggers let events of other systems start executions of graphs.
type Triggers struct{ *transport }

// Put stores a trigger. created says that there was none with this id.
func (c Triggers) Put(
	ctx context.Context, id string, d TriggerDefinition,
) (stored *StoredTrigger, created bool, err error) {
	return put[StoredTrigger](ctx, c.transport, pathOf("/triggers/{id}", id), d)
}

// PutSource stores a trigger that is JSON already.
func (c Triggers) PutSource(
	ctx context.Context, id string, source []byte,
) (stored *StoredTrigger, created bool, err error) {
	return put[StoredTrigger](ctx, c.transport, pathOf("/triggers/{id}", id), source)
}

// Get reads a trigger.
func (c Triggers) Get(ctx context.Context, id string) (*StoredTrigger, error) {
	return get[StoredTrigger](ctx, c.transport, pathOf("/triggers/{id}", id), nil)
}

// List reads a page of the triggers, by id.
func (c Triggers) List(ctx context.Context, at Paging) (*Page[StoredTrigger], error) {
	return list[StoredTrigger](ctx, c.transport, "/triggers", nil, at)
}

// All reads all triggers, by id.
func (c Triggers) All(ctx context.Context) iter.Seq2[StoredTrigger, error] {
	return all[StoredTrigger](ctx, c.transport, "/triggers", 1)
}

// Delete deletes a trigger; its executions go on.
func (c Triggers) Delete(ctx context.Context, id string) error {
	return c.remove(ctx, pathOf("/triggers/{id}", id), "")
}

// TriggerEvent is an event that is posted to a trigger.
type TriggerEvent struct {
	Body any // a JSON object, or one that is JSON already ([]byte)
	// Key makes it safe to send the event again, where the trigger takes no key from the body. Default: a new one, so
	// that a repetition of this client has one effect.
	Key string
	// NoKey sends it without one: of a trigger with once day or month the first event of each starts an execution.
	// Where each event starts one (once key), a repetition of this client after a lost answer starts another.
	NoKey bool
	// Secret is that of the trigger. Without it the event goes by Config.Token, which needs the scope workflow:write.
	Secret string
}

// Send posts an event to a trigger. However often it is sent under one key, one execution starts, and every answer
// names it.
func (c Triggers) Send(ctx context.Context, id string, e TriggerEvent) (TriggerAnswer, error) {
	q := call{method: http.MethodPost, path: pathOf("/triggers/{id}/events", id), key: e.Key, secret: e.Secret}
	if !e.NoKey {
		q.key = cmp.Or(e.Key, newKey())
	}
	if e.Secret != "" {
		q.query = given(map[string]string{"tenant": c.cfg.Tenant})
	}
	a, _, err := exchange[TriggerAnswer](ctx, c.transport, q, e.Body)
	return a, err
}
