package client

import "context"

// Messages go to the nodes that wait for them.
type Messages struct{ *transport }

// Send sends a message: it resumes the nodes that wait for it, starts the graphs that subscribe to it, or is kept for
// its ttl. It is delivered once for its MessageID.
func (c Messages) Send(ctx context.Context, m SendMessage) (*StoredMessage, error) {
	sent, _, err := post[*StoredMessage](ctx, c.transport, "/messages", m.Key, m)
	return sent, err
}

// Get reads a message with its payload, and what became of it.
func (c Messages) Get(ctx context.Context, id string) (*StoredMessage, error) {
	return get[StoredMessage](ctx, c.transport, pathOf("/messages/{id}", id), nil)
}

// MessageFilter is which messages are wanted; the zero value is all.
type MessageFilter struct {
	Name, Key string
	State     MessageState
}

func (f *MessageFilter) values() map[string]string {
	return map[string]string{"name": f.Name, "key": f.Key, "state": string(f.State)}
}

// List reads a page of the messages without their payloads, the newest first.
func (c Messages) List(ctx context.Context, f MessageFilter, at Paging) (*Page[StoredMessage], error) {
	return list[StoredMessage](ctx, c.transport, "/messages", given(f.values()), at)
}
