package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Publicity is which events of executions others are told of.
type Publicity string

// What others can be told.
const (
	PublicityDefault Publicity = "default" // of an execution as a whole, and NODE_WAITING
	PublicityAll     Publicity = "all"
	PublicityNone    Publicity = "none"
)

// EventSettings is what a tenant wants others to be told.
type EventSettings struct {
	Executions Publicity `json:"executions"`
}

// Settings reads what others are told of the tenant's executions.
func (c Events) Settings(ctx context.Context) (EventSettings, error) {
	var s EventSettings
	err := c.read(ctx, "/events/settings", nil, &s)
	return s, err
}

// PutSettings decides what others are told of the tenant's executions from now on,
// and answers with what is stored then.
func (c Events) PutSettings(ctx context.Context, s EventSettings) (EventSettings, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return s, fmt.Errorf("client: PUT /events/settings: %w", err)
	}
	var stored EventSettings
	err = c.exchange(ctx, call{method: http.MethodPut, path: "/events/settings", body: body}, &stored)
	return stored, err
}
