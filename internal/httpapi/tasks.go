package httpapi

import (
	"context"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"renga.dev/renga/internal/engine"
	"renga.dev/renga/internal/flow"
	"renga.dev/renga/internal/gate"
	"renga.dev/renga/internal/wire"
)

// claimBody is the body of POST /tasks/claim.
type claimBody struct {
	WorkerID     string   `json:"workerId"`
	Queues       []string `json:"queues"`
	Max          int      `json:"max"`
	WaitSeconds  int      `json:"waitSeconds"`
	LeaseSeconds int      `json:"leaseSeconds"`
}

func (b *claimBody) check() error {
	switch n := utf8.RuneCountInString(b.WorkerID); {
	case b.WorkerID == "":
		return invalid("workerId", "workerId is required")
	case n > maxWorker:
		return invalid("workerId", "workerId must have %s", count(1, maxWorker, "characters"))
	}
	if len(b.Queues) < 1 || len(b.Queues) > maxQueues {
		return invalid("queues", "queues must have %s", count(1, maxQueues, "names"))
	}
	for i, queue := range b.Queues {
		if !wire.Name(queue) {
			return invalid("queues", "queues must hold names of 1 to %d letters, digits, dots, dashes or underscores", wire.MaxName)
		}
		if slices.Contains(b.Queues[:i], queue) {
			return invalid("queues", "queues holds %s twice", queue)
		}
	}
	for _, n := range []struct {
		field            string
		value, low, high int
	}{{"max", b.Max, 1, maxTasks}, {"waitSeconds", b.WaitSeconds, 0, maxWait}, {"leaseSeconds", b.LeaseSeconds, 1, maxLease}} {
		if n.value < n.low || n.value > n.high {
			return invalid(n.field, "%s must be between %d and %d", n.field, n.low, n.high)
		}
	}
	return nil
}

// claim answers POST /tasks/claim. It waits as long as the worker asks for, the
// worker stays and the process does not drain (both end ctx).
func (a *API) claim(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	once, err := c.Once()
	if err != nil {
		return gate.Reply{}, err
	}
	b := claimBody{Queues: []string{flow.DefaultQueue}, Max: defaultTasks, LeaseSeconds: defaultLease}
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	if err := b.check(); err != nil {
		return gate.Reply{}, err
	}
	claimed, err := a.commands.Claim(ctx, engine.ClaimRequest{
		Tenant: c.Principal.Tenant, Worker: b.WorkerID, Queues: b.Queues, Max: b.Max,
		Wait: time.Duration(b.WaitSeconds) * time.Second, Lease: b.LeaseSeconds,
		Once: once, CorrelationID: c.CorrelationID,
	})
	if err != nil {
		return gate.Reply{}, err
	}
	out := append(c.Scratch(), `{"tasks":[`...)
	for i := range claimed.Tasks {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendTask(out, &claimed.Tasks[i])
	}
	return c.Built(http.StatusOK, append(out, `]}`...)), nil
}
