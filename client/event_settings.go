package client

import (
	"context"
	"net/http"
)

// Settings reads which events of the tenant's executions are published.
func (c Events) Settings(ctx context.Context) (EventSettings, error) {
	s, _, err := exchange[EventSettings](ctx, c.transport, call{method: http.MethodGet, path: "/events/settings"}, nil)
	return s, err
}

// PutSettings decides which events of the tenant's executions are published from now on,
// and answers with what is stored then.
func (c Events) PutSettings(ctx context.Context, s EventSettings) (EventSettings, error) {
	s, _, err := exchange[EventSettings](ctx, c.transport, call{method: http.MethodPut, path: "/events/settings"}, s)
	return s, err
}
