package httpapi

import (
	"context"
	"slices"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/seal"
)

// Events is where the event backbone is looked at.
type Events interface {
	Consumers(ctx context.Context, tenant string) ([]bus.ConsumerState, error)
	Outbox(ctx context.Context) (bus.OutboxState, error)
	Recent(ctx context.Context, f bus.EventFilter, after int64, limit int) ([]bus.OutboxRow, error)
	Tail(ctx context.Context, f bus.EventFilter, from bus.TailFrom) (*bus.Tail, error)
}

// eventRoutes are the routes of events.
func (a *API) eventRoutes() []gate.Route {
	return []gate.Route{
		{Operation: "listEventSchemas", Do: rest.NoQuery(a.listSchemas)},
		{Operation: "getEventSchema", Do: rest.NoQuery(a.schema)},
		{Operation: "getEventSettings", Do: rest.NoQuery(a.eventSettings)},
		{Operation: "putEventSettings", Do: a.putEventSettings},
		{Operation: "listConsumers", Heavy: true, Do: rest.NoQuery(a.listConsumers)},
		{Operation: "getOutbox", Heavy: true, Do: a.outbox},
		{Operation: "followEvents", Open: gate.OpenStreams, Stream: true, Do: a.tail},
		{Operation: "listDeadLetters", Heavy: true, Do: a.listDead},
		{Operation: "getDeadLetter", Do: rest.NoQuery(a.deadLetter)},
		{Operation: "redriveDeadLetter", Do: a.redrive},
		{Operation: "skipDeadLetter", Do: a.skip},
		{Operation: "startReplay", Heavy: true, Do: a.startReplay},
		{Operation: "listReplays", Do: rest.Paged(a.cfg.Replays, Replays.Replays, showReplay)},
		{Operation: "getReplay", Do: rest.NoQuery(a.replay)},
		{Operation: "stopReplay", Do: a.stopReplay},
	}
}

// few is a list that is never long: all of it.
type few[T any] struct {
	Items []T `json:"items"`
}

func newFew[R, T any](rows []R, show func(*R) T) few[T] {
	out := few[T]{Items: make([]T, len(rows))}
	for i := range rows {
		out.Items[i] = show(&rows[i])
	}
	return out
}

// schemaView names the schema of an event type.
type schemaView struct {
	EventType     string `json:"eventType"`
	SchemaVersion int    `json:"schemaVersion"`
	Href          string `json:"href"`
}

// allTypes are the event types that have a schema: the business events, and the
// engine's own.
func allTypes() []string { return append(events.EventTypes(), events.ExecutionChanged) }

func (a *API) listSchemas(_ context.Context, c *gate.Call) (gate.Reply, error) {
	return gate.Reply{Body: newFew(allTypes(), func(typ *string) schemaView {
		return schemaView{*typ, events.SchemaVersion, "/events/schemas/" + *typ}
	})}, nil
}

// schema answers GET /events/schemas/{eventType}. It changes with the program alone, so
// whoever has it asks whether it is still the same.
func (a *API) schema(_ context.Context, c *gate.Call) (gate.Reply, error) {
	typ := c.Path("eventType")
	if !slices.Contains(allTypes(), typ) {
		return gate.Reply{}, fault.New(fault.NotFound, events.CodeEventType, "there is no event type %.64q", typ)
	}
	text, _ := events.EventSchema(typ)
	return rest.Cached(c, gate.Reply{Raw: text, Type: "application/schema+json"}, "no-cache"), nil
}

func (a *API) listConsumers(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	all, err := a.cfg.Events.Consumers(ctx, c.Principal.Tenant)
	return gate.Reply{Body: newFew(all, showConsumer)}, err
}

func (a *API) outbox(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := query{rest.ReadQuery(c, "eventType", "key", "after", "page_size")}
	f := q.eventFilter(c.Principal.Tenant)
	after := int64(q.Int("after", 0, seal.MaxPosition, 0))
	size := q.PageSize()
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	sealed, err := a.positions(ctx, c)
	if err != nil {
		return gate.Reply{}, err
	}
	if after > 0 {
		after, _ = sealed.Place(after)
	}
	state, err := a.cfg.Events.Outbox(ctx)
	if err != nil {
		return gate.Reply{}, err
	}
	rows, err := a.cfg.Events.Recent(ctx, f, after, size)
	return gate.Reply{Body: showOutbox(&state, rows, sealed)}, err
}

// positions seals places of the outbox, which count what all tenants announced: to a
// tenant each is a number that tells it nothing but where to go on.
func (a *API) positions(ctx context.Context, c *gate.Call) (*seal.Sealer, error) {
	return a.cfg.Seals.For(ctx, "outbox", c.Principal.Tenant)
}

// maxPartitionKey is how many characters the key of an event may have in a filter.
const maxPartitionKey = 512

// eventFilter selects events of a tenant.
func (q query) eventFilter(tenant string) bus.EventFilter {
	return bus.EventFilter{Tenant: tenant, EventType: q.name("eventType"), Key: q.line("key", maxPartitionKey)}
}

// line is a text on one line, "" when it is not given.
func (q query) line(name string, limit int) string {
	s, given := q.Text(name)
	if given && !canonical.OneLine(s, 1, limit) {
		q.Fail(name, "%s must be %s on one line", name, count(1, limit, "characters"))
	}
	return s
}
