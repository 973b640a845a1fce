package inbound

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// routes are the routes of triggers. pass says whose the events of senders are who have no token.
func (t *Triggers) routes(pass gate.Pass) []gate.Route {
	routes := rest.Routes([]gate.Route{
		{Operation: "listTriggers", Do: rest.Paged(t, (*Triggers).List, rest.Same)},
		{Operation: "getTrigger", Do: rest.NoQuery(named(t.answerGet))},
		{Operation: "putTrigger", Do: t.answerPut},
		{Operation: "deleteTrigger", Do: named(t.answerDelete)},
	})
	// Senders of events are foreign: their query parameters are not looked at.
	return append(routes, gate.FromContract([]gate.Route{
		{
			Operation: "sendTriggerEvent", Foreign: true, Pass: secretPass{pass},
			Do: t.answerEvent, Refused: t.refuseEvent,
		},
	})...)
}

func named(next rest.Handler) rest.Handler {
	return rest.WithName(canonical.Name, func(id string) error { return noTrigger(id) }, next)
}

// secretPass takes the secret of a trigger out of a request, where the token of workflow events would be. Whether it is
// the right one is known when the trigger is.
type secretPass struct{ gate.Pass }

// Check lets everybody in as far as the handler.
func (secretPass) Check(string) error { return nil }

// Bearer says that a caller may show a token in place of a secret.
func (secretPass) Bearer() gate.Bearer { return gate.BearerToo }

// Tenant is the one that the query parameter tenant names, for those who have no token, else that of workflow events.
// The secret proves it.
func (p secretPass) Tenant(r *http.Request) string {
	if named, err := uuid.Parse(r.URL.Query().Get("tenant")); err == nil {
		return named.String()
	}
	return p.Pass.Tenant(r)
}

func editorOf(c *gate.Call) Editor { return Editor{callerOf(c), c.Principal.Subject} }

func (t *Triggers) answerPut(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	def, secret, err := ParseTrigger(c.Body)
	if err != nil {
		return gate.Reply{}, err
	}
	stored, created, err := t.Put(ctx, editorOf(c), c.Path("id"), def, secret)
	return gate.Reply{Status: rest.PutStatus(created), Body: &stored}, err
}

func (t *Triggers) answerGet(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	stored, err := t.Get(ctx, c.Principal.Tenant, c.Path("id"))
	return gate.Reply{Body: &stored}, err
}

func (t *Triggers) answerDelete(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	return gate.Reply{Status: http.StatusNoContent}, t.Delete(ctx, editorOf(c), c.Path("id"))
}

func (t *Triggers) answerEvent(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	may, local := c.Principal.Has(scopeSend), c.Principal.All
	proof := Proof{
		Secret: c.Shown, Trusted: may && !local, Local: may, Known: c.Principal.Subject != "" && !local,
	}
	fired, err := t.Fire(ctx, callerOf(c), proof, Event{
		Trigger: c.Path("id"), Body: c.Body, Headers: headersOf(c.Request), Key: c.Key,
		Stray: gate.StrayKey(c.Request.Header),
	})
	return gate.Reply{Body: struct {
		Status string `json:"status"`
		Fired
	}{"ok", fired}}, err
}

// scopeSend is the scope of those who may post to triggers without their secrets.
const scopeSend = "workflow:write"

// refuseEvent notes an event that was not let in. Nobody has read it.
func (t *Triggers) refuseEvent(ctx context.Context, c *gate.Call, err error) error {
	return t.Refuse(ctx, callerOf(c), c.Path("id"), err)
}

// headersOf are the headers of a request as expressions see them, without what proves who sent it.
func headersOf(r *http.Request) map[string]string {
	seen := make(map[string]string, len(r.Header))
	for name, values := range r.Header {
		switch name {
		case "Authorization", "Proxy-Authorization", "Cookie", "X-Workflow-Event-Token":
		default:
			seen[strings.ToLower(name)] = values[0]
		}
	}
	return seen
}
