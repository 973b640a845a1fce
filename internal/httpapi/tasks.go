package httpapi

import (
	"context"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fair"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// taskAPI answers the calls of workers.
type taskAPI struct {
	commands Commands
	reads    Reads
	watched  *fair.Shares // executions that task watches look at
	reserved func(queue string) bool
}

// routes are the routes of workers.
func (a *taskAPI) routes() []gate.Route {
	return []gate.Route{
		{Operation: "claimTasks", Open: gate.OpenClaims, Timeout: gate.NoTimeout, Do: a.claim},
		{Operation: "watchTasks", Open: gate.OpenWatches, Timeout: gate.NoTimeout, Do: a.watchTasks},
		{Operation: "listQueues", Heavy: true, Do: a.queues},
	}
}

// claimBody is the body of POST /tasks/claim.
type claimBody struct {
	eagerBody
	WaitSeconds int `json:"waitSeconds"`
}

// eagerBody is a claim that goes with a creation: it has nothing to wait for.
type eagerBody struct {
	WorkerID     string   `json:"workerId"`
	Queues       []string `json:"queues"`
	Max          int      `json:"max"`
	LeaseSeconds int      `json:"leaseSeconds"`
}

func newEagerBody() eagerBody {
	return eagerBody{Queues: []string{flow.DefaultQueue}, Max: defaultTasks, LeaseSeconds: defaultLease}
}

func (b *claimBody) check() error {
	if err := b.eagerBody.check(""); err != nil {
		return err
	}
	return within("waitSeconds", b.WaitSeconds, 0, maxWait)
}

// within checks a number.
func within(field string, value, low, high int) error {
	if value < low || value > high {
		return rest.Invalid(field, "%s must be between %d and %d", field, low, high)
	}
	return nil
}

// check checks the members; their names are those under a path.
func (b *eagerBody) check(path string) error {
	worker, queues := path+"workerId", path+"queues"
	switch n := utf8.RuneCountInString(b.WorkerID); {
	case b.WorkerID == "":
		return rest.Invalid(worker, "%s is required", worker)
	case n > maxWorker:
		return rest.Invalid(worker, "%s must have %s", worker, count(1, maxWorker, "characters"))
	}
	if len(b.Queues) < 1 || len(b.Queues) > maxQueues {
		return rest.Invalid(queues, "%s must have %s", queues, count(1, maxQueues, "names"))
	}
	for i, queue := range b.Queues {
		if !canonical.Name(queue) {
			return rest.Invalid(queues, "%s must hold names of 1 to %d letters, digits, dots, dashes or underscores",
				queues, canonical.MaxName)
		}
		if slices.Contains(b.Queues[:i], queue) {
			return rest.Invalid(queues, "%s holds %s twice", queues, queue)
		}
	}
	if err := within(path+"max", b.Max, 1, maxTasks); err != nil {
		return err
	}
	return within(path+"leaseSeconds", b.LeaseSeconds, 1, maxLease)
}

// claim is the claim of a creation, nil when the member is not there.
func (b *body) claim() *engine.Eager {
	raw := b.object(mClaim)
	if raw == nil || b.err != nil {
		return nil
	}
	in := struct { // so that messages name the member with its path
		Claim eagerBody `json:"claim"`
	}{newEagerBody()}
	c := &in.Claim
	if err := canonical.Decode(slices.Concat([]byte(`{"claim":`), raw, []byte(`}`)), &in); err != nil {
		b.err = err
	} else if err := c.check("claim."); err != nil {
		b.err = err
	} else if !b.flag(mStart) {
		b.fail(mClaim, "needs start to be true: an execution that is not started has no tasks")
	}
	return &engine.Eager{Worker: c.WorkerID, Queues: c.Queues, Max: c.Max, Lease: c.LeaseSeconds}
}

// claim answers POST /tasks/claim. It waits as long as the worker asks for, the
// worker stays and the process does not drain (both end ctx).
func (a *taskAPI) claim(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	key, err := c.IdempotencyKey()
	if err != nil {
		return gate.Reply{}, err
	}
	b := claimBody{eagerBody: newEagerBody()}
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	if err := b.check(); err != nil {
		return gate.Reply{}, err
	}
	c.Yield()
	wait := time.Duration(b.WaitSeconds) * time.Second
	ctx, stop := c.Wait(ctx, wait)
	defer stop()
	claimed, err := a.commands.Claim(ctx, engine.ClaimRequest{
		Tenant: c.Principal.Tenant, Worker: b.WorkerID, Queues: b.Queues, Max: b.Max,
		Wait: wait, Lease: b.LeaseSeconds,
		Idempotency: key, CorrelationID: chain(c, true),
	})
	if err != nil {
		return gate.Reply{}, err
	}
	out := appendTasks(append(c.Scratch(), '{'), claimed.Tasks)
	return c.Built(http.StatusOK, append(out, '}')), nil
}
