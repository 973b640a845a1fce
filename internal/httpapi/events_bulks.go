package httpapi

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/bulk/dlq"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/flow"
)

// deadBulkRoutes are the routes of bulks about dead letters.
func (a *bulkAPI) deadBulkRoutes() []gate.Route {
	f := &ofDeadLetters
	return []gate.Route{
		{Operation: "createDeadLetterBulk", Heavy: true, Do: a.createDeadBulk},
		{Operation: "listDeadLetterBulks", Do: a.listBulks(f)},
		{Operation: "getDeadLetterBulk", Do: a.bulk(f)},
		{Operation: "listDeadLetterBulkItems", Heavy: true, Do: a.bulkItems(f)},
		{Operation: "startDeadLetterBulk", Do: a.startBulk(f)},
		{Operation: "stopDeadLetterBulk", Do: a.stopBulk(f)},
	}
}

// ofDeadLetters are the bulks about dead letters.
var ofDeadLetters = family{
	path: "/events/bulks", kinds: dlq.Names(),
	show: func(b *bulk.Bulk) any { return showDeadBulk(b) }, item: func(it *bulk.Item) any { return showDeadItem(it) },
}

// deadBulkBody is the body of POST /events/bulks.
type deadBulkBody struct {
	Command string          `json:"command"`
	Filter  *deadBulkFilter `json:"filter"`
	Reason  string          `json:"reason"`
}

type deadBulkFilter struct {
	Consumer    *string    `json:"consumer"`
	EventType   *string    `json:"eventType"`
	Key         *string    `json:"key"`
	ReasonClass *string    `json:"reasonClass"`
	DeadFrom    *flow.Time `json:"deadFrom"`
	DeadTo      *flow.Time `json:"deadTo"`
}

// createDeadBulk answers POST /events/bulks.
func (a *bulkAPI) createDeadBulk(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	once, err := c.Once()
	if err != nil {
		return gate.Reply{}, err
	}
	var b deadBulkBody
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	spec, err := b.spec()
	if err != nil {
		return gate.Reply{}, err
	}
	raw, err := json.Marshal(&spec)
	if err != nil {
		return gate.Reply{}, fault.Wrap("httpapi.bulk", err)
	}
	return a.freeze(ctx, c, bulk.Request{Kind: b.Command, Spec: raw, Once: once})
}

// spec is what a body asks for.
func (b *deadBulkBody) spec() (dlq.Spec, error) {
	switch {
	case !slices.Contains(dlq.Names(), b.Command):
		return dlq.Spec{}, rest.Invalid("command", "command must be %s", strings.Join(dlq.Names(), " or "))
	case b.Filter == nil:
		return dlq.Spec{}, rest.Invalid("filter", "filter is required; {} selects all dead letters that are open")
	case !oneLine(b.Reason, 0, maxDecisionReason):
		return dlq.Spec{}, rest.Invalid("reason", "reason must be %s on one line", count(0, maxDecisionReason,
			"characters"))
	}
	if b.Command == dlq.Skip {
		if err := skipReason(b.Reason); err != nil {
			return dlq.Spec{}, err
		}
	}
	filter, err := b.Filter.check()
	return dlq.Spec{Filter: filter, Reason: b.Reason}, err
}

func (f *deadBulkFilter) check() (out dlq.Filter, err error) {
	for _, name := range []struct {
		field string
		given *string
		into  *string
	}{{"filter.consumer", f.Consumer, &out.Consumer}, {"filter.eventType", f.EventType, &out.EventType}} {
		if name.given == nil {
			continue
		}
		if !wire.Name(*name.given) {
			return out, rest.Invalid(name.field, "%s must be 1 to %d letters, digits, dots, dashes or underscores",
				name.field, wire.MaxName)
		}
		*name.into = *name.given
	}
	if f.Key != nil {
		if !oneLine(*f.Key, 1, maxPartitionKey) {
			return out, rest.Invalid("filter.key", "filter.key must be %s on one line", count(1, maxPartitionKey,
				"characters"))
		}
		out.Key = *f.Key
	}
	if f.ReasonClass != nil {
		if !slices.Contains(reasonClasses, *f.ReasonClass) {
			return out, rest.Invalid("filter.reasonClass", "filter.reasonClass must be one of %s",
				strings.Join(reasonClasses, ", "))
		}
		out.ReasonClass = fault.ReasonClass(*f.ReasonClass)
	}
	from, err := someInstant("filter.deadFrom", f.DeadFrom)
	if err != nil {
		return out, err
	}
	to, err := someInstant("filter.deadTo", f.DeadTo)
	out.DeadFrom, out.DeadTo = wire.Stamp(from), wire.Stamp(to)
	return out, err
}

// showDeadBulk shows a bulk that decides about dead letters.
func showDeadBulk(b *bulk.Bulk) bulkView {
	v := viewBulk(b)
	if spec, err := dlq.Parse(b); err == nil { // it is as createDeadBulk wrote it
		v.Filter, v.Reason = spec.Filter, spec.Reason
	}
	return v
}

// deadItemView is an item of a bulk about dead letters as readers see it.
type deadItemView struct {
	DeadLetterID string         `json:"deadLetterId"`
	Status       string         `json:"status"`
	Foreseen     jsontext.Value `json:"foreseen,omitzero"`
	Result       jsontext.Value `json:"result,omitzero"`
}

func showDeadItem(it *bulk.Item) deadItemView {
	return deadItemView{DeadLetterID: it.Name, Status: it.Outcome.String(), Foreseen: it.Foreseen, Result: it.Detail}
}
