package client

import "context"

// Me says who the client is to the server, and what it may use there.
func (c *Client) Me(ctx context.Context) (*Caller, error) {
	return get[Caller](ctx, c.transport, "/me", nil)
}
