package kit

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Handler handles events of one type.
type Handler struct {
	Type   string
	Handle bus.Handler
}

// On handles events of one type with a function that is given their payload. An event whose payload
// is not a P becomes a dead letter at once.
func On[P any](eventType string, handle func(ctx context.Context, tx *sqldb.Tx, e *events.Event, p P) error) Handler {
	return Handler{eventType, func(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
		p, err := events.DecodePayload[P](e)
		if err != nil {
			return bus.Permanent(err)
		}
		return handle(ctx, tx, e, p)
	}}
}

// Ignore accepts events of one type without effect: what they announce is read by every request in
// its own transaction.
func Ignore(eventType string) Handler {
	return Handler{eventType, func(context.Context, *sqldb.Tx, *events.Event) error { return nil }}
}

// Consumer is a consumer of business events that gives each to the handler of its type.
func Consumer(service string, handlers ...Handler) bus.Consumer {
	types := make([]string, len(handlers))
	of := make(map[string]bus.Handler, len(handlers))
	for i, h := range handlers {
		types[i], of[h.Type] = h.Type, h.Handle
	}
	return bus.Consumer{
		Name: service, Stream: events.Events, Types: types,
		Handle: func(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
			handle := of[e.Type]
			if handle == nil {
				return bus.Permanent(fmt.Errorf("%s handles no events of type %s", service, e.Type))
			}
			return fault.Wrap(service+".on", handle(ctx, tx, e))
		},
	}
}

// Record is what the payloads of events about one record have in common.
type Record struct {
	ObjectName string `json:"objectName"`
	RecordID   string `json:"recordId"`
}

// Group is what some events name of one object of a tenant, in the order of the events.
type Group[M any] struct {
	Tenant, Object string
	Named          []M
}

// GroupRecords groups events that are handled together by what named finds in them, so that each
// group takes one pass. The groups are in the order of tenant and object, so that two
// transactions lock in the same order. others are the events in which named finds nothing (ok is
// false).
func GroupRecords[M any](
	batch []*events.Event, named func(e *events.Event) (object string, m M, ok bool, err error),
) (groups []Group[M], others []*events.Event, err error) {
	at := map[[2]string]int{}
	for _, e := range batch {
		object, m, ok, err := named(e)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			others = append(others, e)
			continue
		}
		key := [2]string{e.Tenant, object}
		i, known := at[key]
		if !known {
			i, at[key] = len(groups), len(groups)
			groups = append(groups, Group[M]{Tenant: e.Tenant, Object: object})
		}
		groups[i].Named = append(groups[i].Named, m)
	}
	slices.SortFunc(groups, func(a, b Group[M]) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Object, b.Object))
	})
	return groups, others, nil
}

// HandleGroups is the HandleAll of a consumer that handles the records which events name in groups, after the other
// events, which one handles.
func HandleGroups[M any](
	one bus.Handler, named func(e *events.Event) (object string, m M, ok bool, err error),
	handle func(ctx context.Context, tx *sqldb.Tx, g *Group[M]) error,
) func(context.Context, *sqldb.Tx, []*events.Event) error {
	return func(ctx context.Context, tx *sqldb.Tx, batch []*events.Event) error {
		groups, others, err := GroupRecords(batch, named)
		if err != nil {
			return err
		}
		for _, e := range others {
			if err := one(ctx, tx, e); err != nil {
				return err
			}
		}
		for i := range groups {
			if err := handle(ctx, tx, &groups[i]); err != nil {
				return err
			}
		}
		return nil
	}
}
