package httpapi

import (
	"context"
	"net/http"
	"strings"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// single answers the endpoint of one command.
func (a *API) single(cmd *command) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		t := target{key: c.Key, execution: c.Path("executionId"), node: c.Path("nodeId")}
		var b body
		if err := readBody(c.Body, cmd.may, &b); err != nil {
			return gate.Reply{}, err
		}
		req, err := cmd.request(c, t, c.Body, &b)
		if err != nil {
			return gate.Reply{}, err
		}
		if err := a.identify(ctx, c, &req); err != nil {
			return gate.Reply{}, err
		}
		if err := a.original(ctx, &req); err != nil {
			return gate.Reply{}, err
		}
		c.Yield()
		result := a.cfg.Commands.Submit(ctx, []engine.Request{req})[0]
		if result.Err != nil {
			return gate.Reply{}, result.Err
		}
		status, raw := appendAnswer(c.Scratch(), &result.Answer)
		reply := c.Built(status, raw)
		if cmd.works() && !c.NamesChain {
			reply.Header = http.Header{"X-Correlation-Id": {result.Answer.CorrelationID}}
		}
		return reply, nil
	}
}

// identify says who resumes a node, where it may be for somebody.
func (a *API) identify(ctx context.Context, c *gate.Call, reqs ...*engine.Request) error {
	var as *flow.Principal
	for _, req := range reqs {
		resume, ok := req.Command.(flow.Resume)
		if !ok {
			continue
		}
		if as == nil {
			var err error
			if as, err = a.principal(ctx, c); err != nil {
				return err
			}
		}
		resume.As = *as
		req.Command = resume
	}
	return nil
}

// principal is who calls, with the roles and groups of the token and those that the people's list has.
func (a *API) principal(ctx context.Context, c *gate.Call) (*flow.Principal, error) {
	p := &flow.Principal{Roles: c.Principal.Roles, Groups: c.Principal.Groups}
	if c.Principal.Subject == "" {
		return p, nil
	}
	p.Users = []string{c.Principal.Subject}
	if a.cfg.People == nil {
		return p, nil
	}
	return p, a.cfg.People(ctx, c.Principal.Tenant, c.Principal.Subject, p)
}

// original checks that the execution exists which a new one does again. None is ever deleted, so a repetition of the
// request finds it too.
func (a *API) original(ctx context.Context, req *engine.Request) error {
	c, ok := req.Command.(flow.Create)
	if !ok || c.RerunOf.IsZero() {
		return nil
	}
	_, _, err := a.cfg.Reads.Head(ctx, req.Tenant, c.RerunOf)
	return err
}

// target is what a command is about, as the caller wrote it.
type target struct{ key, execution, node string }

// chain is the correlation id of a command: without the header a new one, and for the command of a worker that of the
// execution, which the engine knows.
func chain(c *gate.Call, works bool) string {
	if works && !c.NamesChain {
		return ""
	}
	return c.CorrelationID
}

// request makes the engine's request of a command from src, the body of its own
// endpoint, whose members are in b.
func (cmd *command) request(c *gate.Call, t target, src []byte, b *body) (engine.Request, error) {
	req := engine.Request{
		Tenant: c.Principal.Tenant, CorrelationID: chain(c, cmd.works()),
		Actor: flow.Actor{Kind: flow.KindUser, ID: c.Principal.Subject},
	}
	var err error
	if !cmd.creates() {
		t.execution = strings.ToLower(t.execution) // one spelling, one scope of keys
		if req.Execution, err = executionID(t.execution); err != nil {
			return req, err
		}
	}
	if req.Idempotency, err = canonical.ParseIdempotencyKey(t.key, cmd.endpoint(t.execution, t.node), src); err != nil {
		return req, err
	}
	if cmd.creates() {
		req.GraphID, req.GraphVersion, req.Start = b.graphID(), b.integer(mGraphVersion, 1, maxVersion), b.flag(mStart)
		req.Claim = b.claim()
	}
	if req.Command = cmd.build(b, t.node); b.err == nil && req.Claim != nil {
		return req, checkScope(c, scopeWork)
	}
	return req, b.err
}

// executionID reads the id of an execution. One that is no UUID does not exist.
func executionID(s string) (flow.ID, error) {
	id, err := flow.ParseID(s)
	if err != nil {
		return id, fault.New(fault.NotFound, "EXECUTION_NOT_FOUND", "there is no execution %.64q", s)
	}
	return id, nil
}

// pathID is the id that a path names, in one spelling. One that is no UUID does not exist.
func pathID(c *gate.Call, name, code, what string) (string, error) {
	id, err := flow.ParseID(c.Path(name))
	if err != nil {
		return "", fault.New(fault.NotFound, code, "there is no %s %.64q", what, c.Path(name))
	}
	return id.String(), nil
}

// scopeWork is the scope that a claim needs, also one that goes with a creation.
const scopeWork = "tasks:work"

// checkScope refuses a caller without a scope that its body asks for.
func checkScope(c *gate.Call, scope string) error {
	if c.Principal.Has(scope) {
		return nil
	}
	return fault.New(fault.Forbidden, "", "this needs the scope %s", scope).With(map[string]string{"scope": scope})
}

// graphID is the name of the graph to run.
func (b *body) graphID() string {
	b.require(mGraphID)
	id := b.text(mGraphID, 1, canonical.MaxName)
	if b.err == nil && !canonical.Name(id) {
		b.fail(mGraphID, "must be 1 to %d letters, digits, dots, dashes or underscores", canonical.MaxName)
	}
	return id
}
