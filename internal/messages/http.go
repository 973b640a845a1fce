package messages

import (
	"context"
	"net/http"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/flow"
)

// api answers the calls of messages.
type api struct{ messages *Messages }

// maxBody is the longest body: a payload may have escapes and white space that are not stored.
const maxBody = 2*MaxPayload + 4<<10

// Routes are the routes of messages.
func (m *Messages) Routes() []gate.Route {
	a := &api{m}
	return rest.Routes([]gate.Route{
		{Operation: "sendMessage", MaxBody: maxBody, Do: a.send},
		{Operation: "listMessages", Heavy: true, Do: a.list},
		{Operation: "getMessage", Do: rest.NoQuery(rest.WithName(validID, unknown, a.get))},
	})
}

// send answers POST /messages.
func (a *api) send(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	d, err := ParseDraft(c.Body)
	if err != nil {
		return gate.Reply{}, err
	}
	key, err := rest.Key(c, canonical.Options{})
	if err != nil {
		return gate.Reply{}, err
	}
	who := Caller{Tenant: c.Principal.Tenant, Subject: c.Principal.Subject, CorrelationID: c.CorrelationID}
	sent, replay, err := a.messages.Send(ctx, who, d, &key)
	status := http.StatusAccepted
	if replay || sent.Duplicate {
		status = http.StatusOK
	}
	return gate.Reply{Status: status, Body: &sent}, err
}

// get answers GET /messages/{id}.
func (a *api) get(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	found, err := a.messages.Get(ctx, c.Principal.Tenant, c.Path("id"))
	return gate.Reply{Body: &found}, err
}

// list answers GET /messages.
func (a *api) list(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "name", "key", "state")
	want := Query{Offset: p.Offset(), Limit: p.Size}
	var given bool
	if want.Name, given = q.Text("name"); given && !canonical.Name(want.Name) {
		q.Fail("name", "name must be 1 to %d of A-Z a-z 0-9 . _ -", canonical.MaxName)
	}
	if want.Key, given = q.Text("key"); given && (want.Key == "" || !flow.ValidMessageKey(want.Key)) {
		q.Fail("key", "key must be 1 to %d bytes, without control characters", flow.MaxMessageKey)
	}
	if word, given := q.Text("state"); given {
		var ok bool
		if want.State, ok = ParseState(word); !ok {
			q.Fail("state", "state must be KEPT, RESUMED, STARTED, REJECTED or EXPIRED")
		}
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.messages.List(ctx, c.Principal.Tenant, want)
	return gate.Reply{Body: rest.NewList(p, rows, total)}, err
}
