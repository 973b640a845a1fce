package webhooks

import (
	"context"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/expr"
	"renga.dev/renga/internal/workflow/flow"
)

// The maxima of planning.
const (
	// MaxOpen is how many deliveries of a webhook may be open. Those beyond are not planned; the webhook says since
	// when, and Recover plans them.
	MaxOpen = 100_000
	// MaxFilterSteps is how many steps the filter of a webhook may take for an event.
	MaxFilterSteps = 5_000
)

// event is an event as it is sent.
type event struct {
	id, typ, key string
	at           canonical.Stamp // when it happened
	body         []byte

	values map[string]any // of filters; nil: nobody asked yet
}

// Consumer plans deliveries of the business events.
func (w *Webhooks) Consumer() bus.Consumer {
	return bus.Consumer{
		Name: service, Stream: events.Events, HandleAll: w.plan,
		Handle: func(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
			return w.plan(ctx, tx, []*events.Event{e})
		},
	}
}

// plan writes the deliveries of some events. Webhooks are locked in one order.
func (w *Webhooks) plan(ctx context.Context, tx *sqldb.Tx, batch []*events.Event) error {
	of := map[string][]*events.Event{}
	for _, e := range batch {
		of[e.Tenant] = append(of[e.Tenant], e)
	}
	for _, tenant := range slices.Sorted(maps.Keys(of)) {
		if err := w.planTenant(ctx, tx, tenant, of[tenant]); err != nil {
			return err
		}
	}
	return nil
}

// asking is a webhook that may ask for events.
type asking struct {
	id     string
	def    Definition
	wanted []wanted
}

// wanted is an event that a webhook asks for; failed says why its filter could not tell.
type wanted struct {
	*event
	failed string
}

const selectAsking = "SELECT id, body FROM webhooks_webhook WHERE tenant_id = $1 AND state <> 4 ORDER BY id"

func scanAsking(from *sqldb.Row) (*asking, error) {
	a, body := &asking{}, ""
	if err := from.Scan(&a.id, &body); err != nil {
		return nil, err
	}
	return a, json.Unmarshal([]byte(body), &a.def)
}

func (w *Webhooks) planTenant(ctx context.Context, tx *sqldb.Tx, tenant string, batch []*events.Event) error {
	all, err := sqldb.Collect(ctx, tx, scanAsking, selectAsking, tenant)
	if err != nil || len(all) == 0 {
		return err
	}
	shown, err := w.shown(ctx, tx, tenant, batch)
	if err != nil {
		return err
	}
	now, err := w.now(ctx, tx)
	if err != nil {
		return err
	}
	for _, a := range all {
		if a.choose(shown); len(a.wanted) == 0 {
			continue
		}
		r, err := lock(ctx, tx, tenant, a.id)
		if isUnknown(err) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		if r.state == Disabled {
			continue
		}
		if _, err := w.planFor(ctx, tx, &r, a.wanted, now); err != nil {
			return err
		}
	}
	return nil
}

// shown are events as they are sent: without hidden fields.
func (w *Webhooks) shown(ctx context.Context, tx *sqldb.Tx, tenant string, batch []*events.Event) ([]*event, error) {
	var hidden func(object, field string) bool
	all := make([]*event, len(batch))
	for i, e := range batch {
		shown := *e
		if w.cfg.Hidden != nil && e.HasFields() {
			if hidden == nil {
				var err error
				if hidden, err = w.cfg.Hidden(ctx, tx, tenant); err != nil {
					return nil, err
				}
			}
			shown.Hide(hidden)
		}
		all[i] = &event{id: e.ID, typ: e.Type, key: e.Key, at: e.OccurredAt, body: shown.AppendJSON(nil)}
	}
	return all, nil
}

// choose finds the events that a webhook asks for.
func (a *asking) choose(all []*event) {
	a.wanted = nil
	var filter *expr.Program
	if a.def.Filter != "" {
		var err error
		if filter, err = expr.EventFilter(a.def.Filter); err != nil { // it was compiled when it was stored
			filter = nil
		}
	}
	for _, e := range all {
		if !a.def.wants(e.typ) {
			continue
		}
		if a.def.Filter == "" {
			a.wanted = append(a.wanted, wanted{event: e})
			continue
		}
		if filter == nil {
			a.wanted = append(a.wanted, wanted{e, "the filter does not compile any more; store the webhook again"})
			continue
		}
		if e.values == nil {
			e.values = map[string]any{"event": flow.Values(e.body)}
		}
		budget := expr.NewBudget(MaxFilterSteps)
		switch holds, err := budget.Eval(filter, e.values); {
		case err != nil:
			a.wanted = append(a.wanted, wanted{e, clip("the filter failed: "+err.Error(), maxError)})
		case holds:
			a.wanted = append(a.wanted, wanted{event: e})
		}
	}
}

var (
	insertEvents = sqldb.NewInsert("webhooks_event (tenant_id, event_id, body, planned_at)",
		"ON CONFLICT (tenant_id, event_id) DO NOTHING", "text", "text", "bytea", "bigint")
	insertDeliveries = sqldb.NewInsert("webhooks_delivery ("+deliveryColumns+")",
		"ON CONFLICT (tenant_id, event_id, hook) DO NOTHING", "text", "text", "bigint", "text", "text", "text",
		"bigint", "bigint", "bigint", "bigint", "bigint", "bigint", "bigint", "bigint", "bigint", "text", "text")
)

const planned = `UPDATE webhooks_webhook SET last_seq = $3, open_count = $4, missed_at = $5, look_at = $6
	WHERE tenant_id = $1 AND id = $2`

// planFor writes the deliveries of events for a locked webhook that have none, and gives how many wait now.
func (w *Webhooks) planFor(
	ctx context.Context, tx *sqldb.Tx, r *row, all []wanted, now canonical.Stamp,
) (int64, error) {
	var bodies, waiting, skipped []any
	room := MaxOpen - r.open
	for _, one := range all {
		if one.failed == "" && room <= 0 {
			if r.missed == 0 || one.at < r.missed {
				r.missed = one.at
			}
			continue
		}
		r.lastSeq++
		d := Delivery{
			Seq: r.lastSeq, EventID: one.id, EventType: one.typ, Key: one.key, Size: int64(len(one.body)),
			PlannedAt: now, State: Waiting, Error: one.failed,
		}
		bodies = append(bodies, r.tenant, one.id, one.body, now)
		if one.failed != "" {
			d.State = Skipped
			skipped = append(skipped, d.values(r.tenant, r.hook)...)
			continue
		}
		room--
		waiting = append(waiting, d.values(r.tenant, r.hook)...)
	}
	stmts := insertEvents.Stmts(tx, bodies)
	stmts = append(stmts, insertDeliveries.Stmts(tx, skipped)...)
	from := len(stmts)
	stmts = append(stmts, insertDeliveries.Stmts(tx, waiting)...)
	changed := make([]int64, len(stmts))
	for i := range stmts {
		stmts[i].Changed = &changed[i]
	}
	if err := tx.Batch(ctx, stmts...); err != nil {
		return 0, err
	}
	var n int64
	for _, c := range changed[from:] {
		n += c
	}
	r.open += n
	if n > 0 && r.sends() {
		r.wake(now)
		tx.OnCommit(w.wake)
	}
	_, err := tx.Exec(ctx, planned, r.tenant, r.id, r.lastSeq, r.open, r.missed, r.look)
	return n, err
}
