package httpapi

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/bulk/dlq"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/execbulk"
	"renga.dev/renga/internal/workflow/flow"
)

// Bulks is where bulks are kept. What it answers is durable; unknown ones are
// fault.NotFound.
type Bulks interface {
	Create(ctx context.Context, r bulk.Request) (bulk.Answer, error)
	Start(ctx context.Context, o bulk.Order) (bulk.Answer, error)
	Stop(ctx context.Context, o bulk.Order) (bulk.Answer, error)
	Bulk(ctx context.Context, tenant, id string) (bulk.Bulk, error)
	List(ctx context.Context, tenant string, kinds []string, offset, limit int) ([]bulk.Bulk, int, error)
	Items(ctx context.Context, tenant, id string, only *bulk.Outcome, offset, limit int) ([]bulk.Item, int, error)
}

// bulkAPI answers the calls of bulks, those about executions and those about dead letters.
type bulkAPI struct{ bulks Bulks }

// family is the bulks of one surface: those of others do not exist there.
type family struct {
	path  string // of its routes
	kinds []string
	spec  func(*bulk.Bulk) (asked, error)
	item  func(*bulk.Item) any
}

// asked is what the creator of a bulk asked for.
type asked struct {
	filter any
	named  bool // its executions were named
	reason string
}

// ofExecutions are the bulks about executions, ofDeadLetters those about dead letters.
var (
	ofExecutions = &family{
		path: "/bulks", kinds: execbulk.Names(), item: showBulkItem,
		spec: func(b *bulk.Bulk) (asked, error) {
			spec, err := execbulk.Parse(b)
			return asked{spec.Filter, spec.IDs != nil, spec.Reason}, err
		},
	}
	ofDeadLetters = &family{
		path: "/events/bulks", kinds: dlq.Names(), item: showDeadItem,
		spec: func(b *bulk.Bulk) (asked, error) {
			spec, err := dlq.Parse(b)
			return asked{filter: spec.Filter, reason: spec.Reason}, err
		},
	}
)

// routes are the routes of bulks.
func (a *bulkAPI) routes() []gate.Route {
	e, d := ofExecutions, ofDeadLetters
	return []gate.Route{
		{Operation: "createBulk", Heavy: true, Do: createBulk(a, executionSpec)},
		{Operation: "listBulks", Do: a.listBulks(e)},
		{Operation: "getBulk", Do: rest.NoQuery(a.bulk(e))},
		{Operation: "listBulkItems", Heavy: true, Do: a.bulkItems(e)},
		{Operation: "startBulk", Do: a.orderBulk(e, "start", "StartBulk", Bulks.Start)},
		{Operation: "stopBulk", Do: a.orderBulk(e, "stop", "StopBulk", Bulks.Stop)},
		{Operation: "createDeadLetterBulk", Heavy: true, Do: createBulk(a, deadSpec)},
		{Operation: "listDeadLetterBulks", Do: a.listBulks(d)},
		{Operation: "getDeadLetterBulk", Do: rest.NoQuery(a.bulk(d))},
		{Operation: "listDeadLetterBulkItems", Heavy: true, Do: a.bulkItems(d)},
		{Operation: "startDeadLetterBulk", Do: a.orderBulk(d, "start", "StartBulk", Bulks.Start)},
		{Operation: "stopDeadLetterBulk", Do: a.orderBulk(d, "stop", "StopBulk", Bulks.Stop)},
	}
}

// find is the bulk that a call names.
func (f *family) find(ctx context.Context, c *gate.Call, bulks Bulks) (bulk.Bulk, error) {
	id, err := pathID(c, "bulkId", "BULK_NOT_FOUND", "bulk")
	if err != nil {
		return bulk.Bulk{}, err
	}
	b, err := bulks.Bulk(ctx, c.Principal.Tenant, id)
	if err == nil && !slices.Contains(f.kinds, b.Kind) {
		err = fault.New(fault.NotFound, "BULK_NOT_FOUND", "there is no bulk %.64q", id)
	}
	return b, err
}

// bulkBody asks for a bulk of executions.
type bulkBody struct {
	Command string      `json:"command"`
	Filter  *bulkFilter `json:"filter"`
	IDs     []string    `json:"ids"`
	Reason  string      `json:"reason"`
}

// executionSpec is what the body of POST /bulks asks for.
func executionSpec(b *bulkBody) (command string, spec execbulk.Spec, err error) {
	switch {
	case !slices.Contains(execbulk.Names(), b.Command):
		err = rest.Invalid("command", "command must be %s", strings.Join(execbulk.Names(), " or "))
	case b.Filter == nil && b.IDs == nil:
		err = rest.Invalid("filter", "filter is required where there are no ids; {} selects everything that has not "+
			"ended, or to archive, everything that has")
	case b.Filter != nil && b.IDs != nil:
		err = rest.Invalid("ids", "ids and filter do not go together")
	case utf8.RuneCountInString(b.Reason) > maxReason:
		err = rest.Invalid("reason", "reason must have %s", count(0, maxReason, "characters"))
	case b.IDs != nil:
		spec.IDs, err = executionIDs("ids", b.IDs)
	default:
		spec.Filter, err = b.Filter.check(b.Command)
	}
	spec.Reason = b.Reason
	return b.Command, spec, err
}

// executionIDs are the executions that a bulk names.
func executionIDs(field string, texts []string) ([]flow.ID, error) {
	if len(texts) < 1 || len(texts) > execbulk.MaxIDs {
		return nil, rest.Invalid(field, "%s must have %s", field, count(1, execbulk.MaxIDs, "members"))
	}
	ids, seen := make([]flow.ID, len(texts)), make(map[flow.ID]bool, len(texts))
	for i, text := range texts {
		var err error
		if ids[i], err = flow.ParseID(text); err != nil {
			return nil, rest.Invalid(field, "%s[%d] must be the UUID of an execution", field, i)
		}
		if seen[ids[i]] {
			return nil, rest.Invalid(field, "%s holds %s twice", field, ids[i])
		}
		seen[ids[i]] = true
	}
	return ids, nil
}

// createBulk answers POST /bulks and POST /events/bulks.
func createBulk[B, S any](a *bulkAPI, spec func(*B) (command string, asked S, err error)) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		key, err := c.IdempotencyKey()
		if err != nil {
			return gate.Reply{}, err
		}
		var b B
		if err := c.Decode(&b); err != nil {
			return gate.Reply{}, err
		}
		command, wanted, err := spec(&b)
		if err != nil {
			return gate.Reply{}, err
		}
		raw, err := json.Marshal(&wanted)
		if err != nil {
			return gate.Reply{}, fault.Wrap("httpapi.bulk", err)
		}
		ans, err := a.bulks.Create(ctx, bulk.Request{
			Kind: command, Spec: raw, Idempotency: key,
			Tenant: c.Principal.Tenant, Actor: c.Principal.Subject, CorrelationID: c.CorrelationID,
		})
		if err != nil {
			return gate.Reply{}, err
		}
		return bulkReply("CreateBulk", &ans)
	}
}

// orderBulk answers POST …/{bulkId}/start and /stop.
func (a *bulkAPI) orderBulk(
	f *family, action, command string, do func(Bulks, context.Context, bulk.Order) (bulk.Answer, error),
) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		if err := c.Decode(&struct{}{}); err != nil {
			return gate.Reply{}, err
		}
		b, err := f.find(ctx, c, a.bulks)
		if err != nil {
			return gate.Reply{}, err
		}
		key, err := canonical.ParseIdempotencyKey(c.Key, "POST "+f.path+"/"+b.ID+"/"+action, c.Body)
		if err != nil {
			return gate.Reply{}, err
		}
		ans, err := do(a.bulks, ctx, bulk.Order{
			Tenant: c.Principal.Tenant, ID: b.ID, Actor: c.Principal.Subject,
			CorrelationID: c.CorrelationID, Idempotency: key,
		})
		if err != nil {
			return gate.Reply{}, err
		}
		return bulkReply(command, &ans)
	}
}

// bulkAnswer is the body of an accepted command on a bulk.
type bulkAnswer struct {
	BulkID         string `json:"bulkId"`
	Accepted       bool   `json:"accepted"`
	Status         string `json:"status"`
	Total          int    `json:"total"`
	CorrelationID  string `json:"correlationId"`
	IdempotencyKey string `json:"idempotencyKey"`
}

// bulkReply shows an answer. It depends on nothing else, so a replay is equal.
func bulkReply(command string, ans *bulk.Answer) (gate.Reply, error) {
	if ans.Refused != "" {
		return gate.Reply{}, bulkRefusal(command, ans)
	}
	return gate.Reply{Status: acceptedStatus(ans.Replay), Body: bulkAnswer{
		BulkID: ans.BulkID, Accepted: true, Status: ans.Status.String(), Total: ans.Total,
		CorrelationID: ans.CorrelationID, IdempotencyKey: ans.Key,
	}}, nil
}

// bulkRefusal says why a bulk refused a command. A set is frozen some time; what
// has ended has ended.
func bulkRefusal(command string, ans *bulk.Answer) error {
	details := map[string]any{
		"guard": ans.Refused, "state": map[string]string{"bulk": ans.Status.String()}, "retryAdvice": fault.DoNotRetry,
	}
	if ans.Refused == bulk.GuardFrozen {
		details["retryAdvice"], details["newKey"] = fault.RetryWithBackoff, true
	}
	return fault.New(fault.Conflict, "COMMAND_REJECTED", "%s rejected because the bulk is %s", command, ans.Status).
		With(details)
}

func (a *bulkAPI) bulk(f *family) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		b, err := f.find(ctx, c, a.bulks)
		return gate.Reply{Body: f.show(&b)}, err
	}
}

// listBulks answers GET on the bulks of a family.
func (a *bulkAPI) listBulks(f *family) rest.Handler {
	list := func(b Bulks, ctx context.Context, tenant string, offset, limit int) ([]bulk.Bulk, int, error) {
		return b.List(ctx, tenant, f.kinds, offset, limit)
	}
	return rest.Paged(a.bulks, list, f.show)
}

func (a *bulkAPI) bulkItems(f *family) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		q, p := rest.ReadPage(c, "status")
		var only *bulk.Outcome
		if name, given := q.Text("status"); given {
			outcome, ok := bulk.ParseOutcome(name)
			if !ok {
				q.Fail("status", "status must be one of %s", strings.Join(bulk.Outcomes(), ", "))
			}
			only = &outcome
		}
		if q.Err != nil {
			return gate.Reply{}, q.Err
		}
		b, err := f.find(ctx, c, a.bulks)
		if err != nil {
			return gate.Reply{}, err
		}
		items, total, err := a.bulks.Items(ctx, c.Principal.Tenant, b.ID, only, p.Offset(), p.Size)
		return gate.Reply{Body: rest.Show(p, items, total, f.item)}, err
	}
}
